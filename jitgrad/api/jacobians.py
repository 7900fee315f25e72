"""Whole derivatives of functions of many results: jacobian, hessian, and products with the Hessian."""

from __future__ import annotations

from typing import Any

from jitgrad.api.arguments import chunk_of, outs_of, wrt_of
from jitgrad.api.python_only import python_only
from jitgrad.api.requests import AutoJacobian, Jacobian
from jitgrad.api.transforms import grad, jvp
from jitgrad.backend.dispatcher import Derivative, derivative
from jitgrad.errors import ArgumentError

MODES = ("auto", "forward", "reverse")


@python_only
def jacobian(
    fun: Any,
    argnums: Any = 0,
    *,
    outs: Any = None,
    mode: str = "auto",
    chunk: int | None = None,
    parallel: bool = False,
    sparsity: Any = None,
) -> Any:
    """The matrix of all partial derivatives of a function.

    Parameters
    ----------
    fun : njit function or function
        Returns a float, an array, or a tuple or named tuple of these.
    argnums : int or tuple of int
        The arguments to differentiate with respect to, counted through ``*args``.
    outs : int or tuple of int, optional
        The arguments that `fun` writes its result into.
    mode : {"auto", "forward", "reverse", "both"}
        By columns, some elements of the arguments to a sweep ("forward"), or by rows, one element of the result to a
        sweep ("reverse"). "auto" compares their numbers: while compiling where the types tell, else at each call,
        which compiles both. `chosen_mode` says which it is for given arguments. "both" is for sparse Jacobians.
    chunk : int, optional
        How many columns a forward sweep computes. By default 8, fewer for a function of fewer numbers, and one where
        complex numbers, lists, structured arrays or recursion take part. A sweep of 8 costs about as much as two or
        three calls of `fun`, and needs 8 times the memory for tangents. The result depends on it by rounding only.
    parallel : bool
        Run the sweeps in parallel threads (``NUMBA_NUM_THREADS``); the result is the same, bit for bit. Lists and
        complex numbers are left to one thread.
    sparsity : matrix or "detect", optional
        Which entries may be other than zero: a matrix of scipy.sparse, a dense one, or ``"detect"``. Then the result is
        a matrix of scipy.sparse, and few sweeps compute it; see `jitgrad.sparse.SparseJacobian`, which is returned.

    Returns
    -------
    Derivative, or SparseJacobian
        A Numba dispatcher with the signature of `fun`. Its result has the structure of the result of `fun`;
        at each float there, the structure of the arguments (a tuple for a tuple `argnums`); at each float
        there, an array of shape ``out.shape + in.shape``, or a float between two scalars. Integers give None.
        A complex number counts as two real ones and adds an axis of length two.

    Examples
    --------
    >>> jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> jacobian(lambda x: x * x, sparsity="detect")(np.array([1.0, 2.0])).nnz
    2
    """
    modes = MODES if sparsity is None else (*MODES, "both")
    if mode not in modes:
        raise ArgumentError(f"mode must be one of {', '.join(map(repr, modes))}, not {mode!r}")
    chunk, parallel = chunk_of(chunk), bool(parallel)
    wrt, single = wrt_of(fun, argnums)
    positions = outs_of(fun, outs)
    if sparsity is not None:
        return _sparse(fun, wrt, positions, mode, sparsity, chunk, parallel)
    if mode == "auto":
        return derivative(fun, AutoJacobian(wrt, positions, single, chunk, parallel))
    return derivative(fun, Jacobian(wrt, positions, mode, single, chunk, parallel))


def _sparse(fun: Any, wrt: Any, outs: Any, mode: str, sparsity: Any, chunk: int | None, parallel: bool) -> Any:
    from jitgrad.sparse.jacobian import SparseJacobian  # it brings scipy.sparse with it

    if parallel:
        raise ArgumentError("a sparse Jacobian has few sweeps, which run in one thread; leave out parallel or sparsity")
    return SparseJacobian(fun, wrt, outs, mode, sparsity, chunk)


@python_only
def chosen_mode(jacobian: Any, *args: Any, **kwargs: Any) -> str:
    """The mode that a Jacobian has for given arguments.

    Parameters
    ----------
    jacobian : Derivative
        What `jacobian` returns.
    *args, **kwargs
        Arguments of the function. It is run where the sizes of its result decide.

    Returns
    -------
    {"forward", "reverse"}

    Examples
    --------
    >>> chosen_mode(jacobian(lambda x: x.sum()), np.ones(3))
    'reverse'
    """
    transform = getattr(jacobian, "transform", None)
    if isinstance(transform, AutoJacobian):
        return derivative(jacobian.primal, transform.telling())(*args, **kwargs)
    if isinstance(transform, Jacobian):
        return transform.mode
    way = "; the attribute mode of a sparse Jacobian says it" if hasattr(type(jacobian), "sweeps") else ""
    raise ArgumentError(f"chosen_mode needs what jacobian returns, not {jacobian!r}{way}")


@python_only
def jacfwd(
    fun: Any, argnums: Any = 0, *, outs: Any = None, chunk: int | None = None, parallel: bool = False
) -> Derivative:
    """As `jacobian` with ``mode="forward"``: a sweep for each `chunk` of elements of the arguments.

    Examples
    --------
    >>> jacfwd(lambda t: np.array([t, t * t]))(3.0)
    array([1., 6.])
    """
    return jacobian(fun, argnums, outs=outs, mode="forward", chunk=chunk, parallel=parallel)


@python_only
def jacrev(fun: Any, argnums: Any = 0, *, outs: Any = None, parallel: bool = False) -> Derivative:
    """As `jacobian` with ``mode="reverse"``: one sweep for each element of the result.

    Examples
    --------
    >>> jacrev(lambda x: x.sum() * x[0])(np.array([1.0, 2.0]))
    array([4., 1.])
    """
    return jacobian(fun, argnums, outs=outs, mode="reverse", parallel=parallel)


@python_only
def hessian(
    fun: Any,
    argnums: Any = 0,
    *,
    outs: Any = None,
    chunk: int | None = None,
    parallel: bool = False,
    sparsity: Any = None,
) -> Any:
    """The matrix of second derivatives of a function with a scalar result, forward over reverse.

    Parameters
    ----------
    fun, argnums, outs
        As in `grad`.
    chunk, parallel
        As in `jacobian`: how many columns a sweep computes, and whether the sweeps run in parallel threads.
    sparsity : matrix or "detect", optional
        Which entries may be other than zero, as in `jacobian`; one triangle is enough.

    Returns
    -------
    Derivative, or SparseJacobian
        A Numba dispatcher with the signature of `fun`. It returns an array of shape ``in.shape + in.shape``
        for an int `argnums`, a tuple of tuples of such blocks for a tuple; a float between two scalars.

    Examples
    --------
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    if sparsity is not None:
        wrt, _ = wrt_of(fun, argnums)
        gradient = grad(fun, argnums, outs=outs)
        return _sparse(gradient, wrt, None, "symmetric", sparsity, chunk_of(chunk), bool(parallel))
    return jacfwd(grad(fun, argnums, outs=outs), argnums, chunk=chunk, parallel=parallel)


def hvp(
    fun: Any,
    primals: Any,
    tangents: Any,
    *,
    argnums: Any = 0,
    kwargs: dict[str, Any] | None = None,
    several: bool = False,
    chunk: int | None = None,
) -> Any:
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
    kwargs : dict, optional
        Keyword arguments of the call.
    several, chunk
        As in `jvp`: products with several vectors at once.

    Returns
    -------
    structure of the arguments
        For an int `argnums` one, for a tuple a tuple.

    Examples
    --------
    >>> hvp(lambda x: (x ** 3).sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    return jvp(grad(fun, argnums), primals, tangents, argnums=argnums, kwargs=kwargs, several=several, chunk=chunk)[1]
