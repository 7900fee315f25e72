"""Whole derivatives of functions of many results: jacobian, hessian, and products with the Hessian."""

from __future__ import annotations

from typing import Any

from jitgrad.api.arguments import outs_of, wrt_of
from jitgrad.api.requests import AutoJacobian, Jacobian
from jitgrad.api.transforms import grad, jvp
from jitgrad.backend.dispatcher import Derivative, derivative
from jitgrad.errors import ArgumentError

MODES = ("auto", "forward", "reverse")


def jacobian(
    fun: Any, argnums: Any = 0, *, outs: Any = None, mode: str = "auto", chunk: int | None = None, sparsity: Any = None
) -> Derivative:
    """The matrix of all partial derivatives of a function.

    Parameters
    ----------
    fun : njit function or function
        Returns a float, an array, or a tuple or named tuple of these.
    argnums : int or tuple of int
        The arguments to differentiate with respect to, counted through ``*args``.
    outs : int or tuple of int, optional
        The arguments that `fun` writes its result into.
    mode : {"auto", "forward", "reverse"}
        One sweep for each element of the arguments ("forward") or of the result ("reverse"). "auto" compares
        their numbers: while compiling where the types tell, else at each call, which compiles both.
    chunk, sparsity
        Reserved.

    Returns
    -------
    Derivative
        A Numba dispatcher with the signature of `fun`. Its result has the structure of the result of `fun`;
        at each float there, the structure of the arguments (a tuple for a tuple `argnums`); at each float
        there, an array of shape ``out.shape + in.shape``, or a float between two scalars. Integers give None.
        A complex number counts as two real ones and adds an axis of length two.

    Examples
    --------
    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in MODES:
        raise ArgumentError(f"mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
    if chunk is not None or sparsity is not None:
        raise ArgumentError("chunk and sparsity are not supported yet; leave them out")
    wrt, single = wrt_of(fun, argnums)
    positions = outs_of(fun, outs)
    if mode == "auto":
        return derivative(fun, AutoJacobian(wrt, positions, single))
    return derivative(fun, Jacobian(wrt, positions, mode, single))


def jacfwd(fun: Any, argnums: Any = 0, *, outs: Any = None, chunk: int | None = None) -> Derivative:
    """As `jacobian` with ``mode="forward"``: one sweep for each element of the arguments.

    Examples
    --------
    >>> jacfwd(lambda t: np.array([t, t * t]))(3.0)
    array([1., 6.])
    """
    return jacobian(fun, argnums, outs=outs, mode="forward", chunk=chunk)


def jacrev(fun: Any, argnums: Any = 0, *, outs: Any = None, chunk: int | None = None) -> Derivative:
    """As `jacobian` with ``mode="reverse"``: one sweep for each element of the result.

    Examples
    --------
    >>> jacrev(lambda x: x.sum() * x[0])(np.array([1.0, 2.0]))
    array([4., 1.])
    """
    return jacobian(fun, argnums, outs=outs, mode="reverse", chunk=chunk)


def hessian(fun: Any, argnums: Any = 0, *, outs: Any = None) -> Derivative:
    """The matrix of second derivatives of a function with a scalar result, forward over reverse.

    Returns
    -------
    Derivative
        A Numba dispatcher with the signature of `fun`. It returns an array of shape ``in.shape + in.shape``
        for an int `argnums`, a tuple of tuples of such blocks for a tuple; a float between two scalars.

    Examples
    --------
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    return jacfwd(grad(fun, argnums, outs=outs), argnums)


def hvp(fun: Any, primals: Any, tangents: Any, *, argnums: Any = 0, kwargs: dict[str, Any] | None = None) -> Any:
    """The product of the Hessian with a vector, without the Hessian.

    Parameters
    ----------
    fun : njit function or function
        With a scalar result.
    primals : tuple
        The positional arguments of the call.
    tangents : tuple
        The vector: one part for each argument in `argnums`.
    argnums : int or tuple of int

    Returns
    -------
    structure of the arguments
        For an int `argnums` one, for a tuple a tuple.

    Examples
    --------
    >>> hvp(lambda x: (x ** 3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    return jvp(grad(fun, argnums), primals, tangents, argnums=argnums, kwargs=kwargs)[1]
