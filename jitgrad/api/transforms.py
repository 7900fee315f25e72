"""Gradients, and products of the Jacobian with vectors: grad, value_and_grad, jvp, vjp, linearize."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import typeof

from jitgrad.api import again, values
from jitgrad.api.arguments import chunk_of, label, outs_of, wrt_of
from jitgrad.api.python_only import python_only
from jitgrad.api.requests import Directions
from jitgrad.backend import checks
from jitgrad.backend.dispatcher import Derivative, derivative, dispatcher_of
from jitgrad.backend.engine import Forward, Reverse
from jitgrad.errors import ArgumentError, ShapeError
from jitgrad.transforms.request import JvpRequest, VjpRequest


@python_only
def grad(fun: Any, argnums: Any = 0, *, outs: Any = None, has_aux: bool = False) -> Derivative:
    """The gradient of a function with a scalar result.

    Parameters
    ----------
    fun : njit function or function
        Returns a float; or ``(float, auxiliary data)`` with `has_aux`. A plain Python function is jitted.
    argnums : int or tuple of int
        The arguments to differentiate with respect to, counted through ``*args``.
    outs : int or tuple of int, optional
        The argument that `fun` writes its scalar result into, for a function that returns nothing.
    has_aux : bool
        The gradient's result is ``(gradient, auxiliary data)``.

    Returns
    -------
    Derivative
        A Numba dispatcher with the signature of `fun`. It returns one gradient with the structure of the
        argument for an int, a tuple of them for a tuple. Nopython functions can call it, and it can be
        differentiated again. Arrays that `fun` writes into are left as `fun` leaves them.

    Notes
    -----
    The gradient with respect to a complex argument ``z = x + iy`` is ``df/dx - i df/dy``, as in JAX: its
    conjugate is the direction of steepest ascent. `vjp` and `jacobian` treat complex numbers as pairs of real
    ones instead.

    Examples
    --------
    >>> from numba import njit
    >>> @njit
    ... def f(x):
    ...     p = 1.0
    ...     for v in x:
    ...         p *= v
    ...     return p
    >>> grad(f)(np.array([2.0, 3.0, 4.0]))
    array([12.,  8.,  6.])
    """
    return _gradient(fun, argnums, outs, has_aux, value=False)


@python_only
def value_and_grad(fun: Any, argnums: Any = 0, *, outs: Any = None, has_aux: bool = False) -> Derivative:
    """As `grad`, for a function that returns ``(value, gradient)``.

    With `has_aux` the result is ``((value, auxiliary data), gradient)``.

    Examples
    --------
    >>> value_and_grad(lambda x, y: x * y, argnums=(0, 1))(2.0, 5.0)
    (10.0, (5.0, 2.0))
    """
    return _gradient(fun, argnums, outs, has_aux, value=True)


def _gradient(fun: Any, argnums: Any, outs: Any, has_aux: bool, value: bool) -> Derivative:
    wrt, single = wrt_of(fun, argnums)
    request = VjpRequest(wrt, outs_of(fun, outs), seed="one", value=value, has_aux=bool(has_aux), single=single)
    return derivative(fun, Reverse(request))


def jvp(
    fun: Any,
    primals: Any,
    tangents: Any,
    *,
    argnums: Any = None,
    outs: Any = None,
    kwargs: dict[str, Any] | None = None,
    several: bool = False,
    chunk: int | None = None,
) -> tuple[Any, Any]:
    """The result of a function, and its derivative along a direction, or along several.

    Parameters
    ----------
    fun : njit function or function
    primals : tuple
        The positional arguments of the call.
    tangents : tuple
        The direction: one tangent for each argument in `argnums`, with its structure.
    argnums : int or tuple of int, optional
        Default: every argument that holds a float. `tangents` may then name all arguments instead, with None
        for those that have none. With an int, `tangents` is the one tangent.
    outs : int or tuple of int, optional
        The arguments that `fun` writes its result into; the result is a tuple of these arrays.
    kwargs : dict, optional
        Keyword arguments of the call.
    several : bool
        Every tangent has one axis more, the last: that of the directions. So has every tangent of the result.
    chunk : int, optional
        With `several`: how many directions a sweep computes, as in `jacobian`.

    Returns
    -------
    out, out_tangent
        Integers in the result have the tangent None.

    Notes
    -----
    With `several` this is the product of the Jacobian with a matrix: ``J @ S`` for the tangents ``(S,)`` of a function
    of one array with one axis. It takes a sweep for each `chunk` of the columns.

    Examples
    --------
    >>> jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.1))
    (10.0, 5.2)
    >>> jvp(lambda x, y: x * y, (2.0, 5.0), (np.array([1.0, 0.0]), np.array([0.0, 1.0])), several=True)
    (10.0, array([5., 2.]))
    """
    primals, chunk = _as_primals(primals), chunk_of(chunk)
    wrt, tangents = _match_tangents(fun, primals, tangents, argnums, bool(several))
    if several:
        pushed = derivative(fun, Directions(wrt, outs_of(fun, outs), chunk))
        out, dot = pushed(tangents, *primals, **(kwargs or {}))
        return out, values.none_where_no_float(dot, out)
    if chunk is not None:
        raise ArgumentError("chunk is for several directions at once: pass several=True with it, or leave it out")
    compiled = derivative(fun, Forward(JvpRequest(wrt, outs_of(fun, outs))))
    out, dot = compiled(tangents, *primals, **(kwargs or {}))
    return out, values.none_where_no_float(dot, out)


def _as_primals(primals: Any) -> tuple:
    if not isinstance(primals, (tuple, list)):
        raise ArgumentError(f"primals must be a tuple of the positional arguments, not {type(primals).__name__}")
    return tuple(primals)


def _float_positions(fun: Any, primals: tuple) -> tuple[int, ...]:
    wrt = tuple(k for k, p in enumerate(primals) if values.has_float(p))
    if not wrt:
        raise ArgumentError(
            f"no argument of {dispatcher_of(fun).__name__} holds a float, so there is nothing to differentiate"
        )
    return wrt


def _match_tangents(
    fun: Any, primals: tuple, tangents: Any, argnums: Any, several: bool = False
) -> tuple[tuple[int, ...], tuple]:
    """Positions, and the tangents for them as the compiled code takes them."""
    if argnums is None:
        wrt, single = _float_positions(fun, primals), False
    else:
        wrt, single = wrt_of(fun, argnums)
    if single and not (isinstance(tangents, tuple) and len(tangents) == 1 and not isinstance(primals[wrt[0]], tuple)):
        tangents = (tangents,)
    if not isinstance(tangents, (tuple, list)):
        raise ArgumentError(
            f"tangents must be a tuple, one for each argument in argnums, not {type(tangents).__name__}"
        )
    if argnums is None and len(tangents) == len(primals):
        tangents = [tangents[k] for k in wrt]
    if len(tangents) != len(wrt):
        names = ", ".join(label(fun, k) for k in wrt)
        raise ArgumentError(f"{len(tangents)} tangents for {len(wrt)} arguments: {names}")
    for k in wrt:
        _check_position(fun, primals, k)
    taken = tuple(
        values.conform(t, primals[k], f"the tangent of {label(fun, k)}", label(fun, k), several=several)
        for t, k in zip(tangents, wrt, strict=True)
    )
    if several:
        _same_directions(fun, wrt, taken)
    return wrt, taken


def _same_directions(fun: Any, wrt: tuple[int, ...], tangents: tuple) -> None:
    """Refuse tangents of different numbers of directions."""
    counts = [(a.shape[-1], k) for k, t in zip(wrt, tangents, strict=True) for a in values.arrays_in(t)]
    for count, k in counts[1:]:
        if count != counts[0][0]:
            raise ShapeError(
                f"the tangent of {label(fun, counts[0][1])} has {counts[0][0]} directions, a tangent of "
                f"{label(fun, k)} {count}; pass as many for every argument"
            )


def _check_position(fun: Any, primals: tuple, k: int) -> None:
    if k >= len(primals):
        raise ArgumentError(
            f"argnums names argument {k} of {dispatcher_of(fun).__name__}, but {len(primals)} positional arguments "
            "were passed"
        )
    if not values.has_float(primals[k]):
        raise ArgumentError(checks.not_differentiable(dispatcher_of(fun).__name__, label(fun, k), typeof(primals[k])))


@python_only
def vjp(
    fun: Any,
    *primals: Any,
    argnums: Any = None,
    outs: Any = None,
    kwargs: dict[str, Any] | None = None,
    has_aux: bool = False,
) -> tuple:
    """The result of a function, and the pullback that maps its cotangents to those of the arguments.

    Parameters
    ----------
    fun : njit function or function
    *primals
        The positional arguments of the call.
    argnums : int or tuple of int, optional
        Default: every argument that holds a float.
    outs : int or tuple of int, optional
        The arguments that `fun` writes its result into; the result is a tuple of these arrays.
    kwargs : dict, optional
        Keyword arguments of the call.
    has_aux : bool
        `fun` returns ``(result, auxiliary data)``; the auxiliary data have no cotangent.

    Returns
    -------
    out
        The result of the call.
    pullback : callable
        ``pullback(cotangent)``, to be called any number of times. The cotangent has the structure of the
        result. Returns one cotangent for an int `argnums`, a tuple for a tuple; by default a tuple with one
        entry for each argument, None for those without a float.
    aux
        With `has_aux` only.

    Notes
    -----
    Complex numbers are pairs of real ones: the cotangent of ``z = x + iy`` is ``x_bar + i y_bar``.

    Examples
    --------
    >>> out, pullback = vjp(lambda x, n: x ** n, 2.0, 3)
    >>> out, pullback(1.0)
    (8.0, (12.0, None))
    """
    kwargs = kwargs or {}
    if argnums is None:
        wrt, single = _float_positions(fun, primals), False
    else:
        wrt, single = wrt_of(fun, argnums)
    for k in wrt:
        _check_position(fun, primals, k)
    positions = outs_of(fun, outs)
    compiled = derivative(fun, Reverse(VjpRequest(wrt, positions, seed="argument")))
    again.check(fun, primals, kwargs)
    kept, kept_kwargs = again.copies(primals, kwargs)
    out = _call(fun, primals, kwargs, positions)

    def pull(full_cotangent: Any) -> Any:
        args, keywords = again.copies(kept, kept_kwargs)
        _, cotangents = compiled(full_cotangent, *args, **keywords)
        cotangents = [values.none_where_no_float(c, kept[k]) for c, k in zip(cotangents, wrt, strict=True)]
        if argnums is None:
            by_position = dict(zip(wrt, cotangents, strict=True))
            return tuple(by_position.get(k) for k in range(len(primals)))
        return cotangents[0] if single else tuple(cotangents)

    template = _cotangent_template(out)
    if not has_aux:

        def pullback(cotangent: Any) -> Any:
            if positions and len(template) == 1 and not isinstance(cotangent, (tuple, list)):
                cotangent = (cotangent,)
            return pull(values.conform(cotangent, template, "the cotangent", "the result"))

        return out, pullback
    if not isinstance(out, tuple) or len(out) != 2:
        raise ArgumentError(f"with has_aux=True, {dispatcher_of(fun).__name__} must return (result, auxiliary data)")

    def pullback_of_first(cotangent: Any) -> Any:
        first = values.conform(cotangent, template[0], "the cotangent", "the result")
        return pull((first, values.conform(values.zeros_like(template[1]), template[1], "", "")))

    return out[0], pullback_of_first, out[1]


def _call(fun: Any, primals: tuple, kwargs: dict[str, Any], outs: tuple[int, ...] | None) -> Any:
    """The result of the call; with `outs`, what the arguments hold after it."""
    out = dispatcher_of(fun)(*primals, **kwargs)
    if not outs:
        return out
    written = tuple(primals[k] for k in outs)
    return written if out is None else (out, *written)


def _cotangent_template(out: Any) -> Any:
    """What a cotangent is compared with: the shapes and dtypes of the result, not its memory."""
    return values.map_leaves(
        lambda x: np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, np.ndarray) else x, out
    )


@python_only
def linearize(
    fun: Any, *primals: Any, argnums: Any = None, outs: Any = None, kwargs: dict[str, Any] | None = None
) -> tuple[Any, Callable]:
    """The result of a function, and its derivative there as a linear function.

    Returns
    -------
    out
    f_jvp : callable
        ``f_jvp(*tangents) -> out_tangent``, one tangent for each argument in `argnums` (by default each
        argument that holds a float).

    Examples
    --------
    >>> out, f_jvp = linearize(lambda x: x ** 3, 2.0)
    >>> out, f_jvp(1.0), f_jvp(0.5)
    (8.0, 12.0, 6.0)
    """
    wrt = _float_positions(fun, primals) if argnums is None else wrt_of(fun, argnums)[0]
    again.check(fun, primals, kwargs or {})
    kept, kept_kwargs = again.copies(primals, kwargs or {})
    out = _call(fun, primals, kwargs or {}, outs_of(fun, outs))

    def f_jvp(*tangents: Any) -> Any:
        if argnums is None and len(tangents) == len(kept):
            tangents = tuple(tangents[k] for k in wrt)
        args, keywords = again.copies(kept, kept_kwargs)
        return jvp(fun, args, tangents, argnums=wrt, outs=outs, kwargs=keywords)[1]

    return out, f_jvp
