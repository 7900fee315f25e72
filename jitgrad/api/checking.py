"""Checking derivatives against each other and against differences of function values."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.api import again, values
from jitgrad.api.arguments import wrt_of
from jitgrad.api.transforms import _float_positions, jvp, vjp
from jitgrad.backend.dispatcher import derivative, dispatcher_of
from jitgrad.backend.engine import Reverse
from jitgrad.errors import ArgumentError
from jitgrad.transforms.request import VjpRequest

MODES = ("forward", "reverse")


def check_grads(
    fun: Any,
    args: tuple,
    *,
    order: int = 2,
    modes: Any = MODES,
    argnums: Any = None,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare the derivatives of a function with finite differences, and the two modes with each other.

    For a random direction ``v`` and a random cotangent ``u``: the tangent ``J v`` is compared with
    differences of function values extrapolated to step zero, ``(J^T u) . v`` with ``u . (J v)``. For `order`
    two, the same for the pullback as a function of the arguments.

    Parameters
    ----------
    fun : njit function or function
    args : tuple
        The point to check at; away from kinks.
    order : int
    modes : tuple of {"forward", "reverse"}
    argnums : int or tuple of int, optional
        Default: every argument that holds a float.
    rtol, atol : float, optional
        By default from the precision of the arguments: 1e-6 and 1e-9 for float64, 1e-2 and 1e-4 for float32.
    seed : int
        Of the random directions.

    Raises
    ------
    AssertionError
        With both numbers, where they differ.

    Examples
    --------
    >>> check_grads(lambda x, y: np.sin(x) * y ** 2, (0.3, 1.2))
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not modes or any(m not in MODES for m in modes):
        raise ArgumentError(f"modes must be taken from {MODES}, not {modes!r}")
    args = tuple(args)
    again.check(fun, args, {})
    wrt = _float_positions(fun, args) if argnums is None else wrt_of(fun, argnums)[0]
    single = any(_is_single(leaf) for leaf in _leaves(tuple(args[k] for k in wrt)))
    tolerance = (
        rtol if rtol is not None else 1e-2 if single else 1e-6,
        atol if atol is not None else 1e-4 if single else 1e-9,
    )
    _check(dispatcher_of(fun), args, wrt, order, modes, tolerance, np.random.default_rng(seed), "first")


def _check(
    fun: Any, args: tuple, wrt: tuple[int, ...], order: int, modes: tuple, tolerance: tuple, rng: Any, which: str
) -> None:
    point = tuple(args[k] for k in wrt)
    direction = values.map_leaves(lambda x: _random_like(x, rng), point)
    out = _evaluate(fun, args, wrt, point)
    cotangent = values.map_leaves(lambda x: _random_like(x, rng), out)
    name = f"{which} derivative of {fun.__name__}"

    expected, error = _differences(fun, args, wrt, point, direction)
    u = _flat(cotangent, out)
    along = float(u @ expected)
    slack = float(np.abs(u) @ error)
    if "forward" in modes:
        _, dot = jvp(fun, values.copies(args), direction, argnums=wrt)
        found = _flat(dot, out)
        _compare(f"forward mode, {name}", found, expected, error, tolerance)
        along, slack = float(u @ found), 0.0
    if "reverse" in modes:
        _, pullback = vjp(fun, *values.copies(args), argnums=wrt)
        bar = pullback(cotangent)
        across = float(_flat(bar, point) @ _flat(direction, point))
        _compare(f"reverse mode, {name}", np.array([across]), np.array([along]), np.array([slack]), tolerance)
    if order > 1:
        pulled = derivative(fun, Reverse(VjpRequest(wrt, None, seed="argument")))
        shifted = tuple(k + 1 for k in wrt)
        _check(
            pulled, (values.conform(cotangent, out, "", ""), *args), shifted, order - 1, modes, tolerance, rng, "second"
        )


def _evaluate(fun: Any, args: tuple, wrt: tuple[int, ...], point: tuple) -> Any:
    full = list(values.copies(args))
    for k, p in zip(wrt, values.copies(point), strict=True):
        full[k] = p
    return fun(*full)


def _differences(fun: Any, args: tuple, wrt: tuple, point: tuple, direction: tuple) -> tuple[np.ndarray, np.ndarray]:
    """The derivative along `direction` from central differences extrapolated to step zero, and its error."""
    single = any(_is_single(leaf) for leaf in _leaves(point))
    found: list[tuple[float, np.ndarray, np.ndarray]] = []
    for start in (0.1, 1e-2) if single else (0.1, 1e-2, 1e-3):
        rows: list[list[np.ndarray]] = []
        for m in range(5):
            h = start / 2**m
            sides = [_flat_of(_evaluate(fun, args, wrt, _moved(point, direction, s * h))) for s in (1.0, -1.0)]
            row = [(sides[0] - sides[1]) / (2.0 * h)]
            for q in range(1, m + 1):
                row.append(row[-1] + (row[-1] - rows[-1][q - 1]) / (4.0**q - 1.0))
            rows.append(row)
        error = np.abs(rows[-1][-1] - rows[-2][-1])
        found.append((float(np.where(np.isnan(error), np.inf, error).sum()), rows[-1][-1], error))
    _, best, error = min(found, key=lambda f: f[0])
    return best, error


def _moved(point: Any, direction: Any, step: float) -> Any:
    if isinstance(point, tuple) or values.is_list(point):
        return values.rebuild(point, [_moved(p, d, step) for p, d in zip(point, direction, strict=True)])
    if not values.is_float_leaf(point):
        return point
    moved = point + step * direction
    return np.asarray(moved, point.dtype) if isinstance(point, np.ndarray) else type(point)(moved)


def _compare(
    what: str, found: np.ndarray, expected: np.ndarray, error: np.ndarray, tolerance: tuple[float, float]
) -> None:
    rtol, atol = tolerance
    allowed = atol + rtol * np.maximum(np.abs(expected), np.max(np.abs(expected), initial=0.0)) + 10.0 * error
    wrong = ~(np.abs(found - expected) <= allowed)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise AssertionError(
            f"{what}: element {k} is {found[k]!r}, expected {expected[k]!r} (allowed difference {allowed[k]:.1e}; "
            f"{int(wrong.sum())} of {wrong.size} elements differ)"
        )


def _leaves(tree: Any) -> list[Any]:
    found: list[Any] = []
    values.map_leaves(found.append, tree)
    return found


def _is_single(leaf: Any) -> bool:
    return getattr(leaf, "dtype", None) in (np.dtype(np.float32), np.dtype(np.complex64))


def _random_like(x: Any, rng: Any) -> Any:
    if not values.is_float_leaf(x):
        return 0
    shape = np.shape(x)
    draw = rng.standard_normal(shape)
    if np.asarray(x).dtype.kind == "c":
        draw = draw + 1j * rng.standard_normal(shape)
    return draw.astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(draw)


def _flat_of(tree: Any) -> np.ndarray:
    return _flat(tree, tree)


def _flat(tree: Any, like: Any) -> np.ndarray:
    """The numbers of `tree` at the float leaves of `like`, complex ones as pairs."""
    parts: list[np.ndarray] = []

    def walk(t: Any, l: Any) -> None:
        if isinstance(l, tuple) or values.is_list(l):
            for a, b in zip(t, l, strict=True):
                walk(a, b)
        elif values.is_float_leaf(l):
            a = np.asarray(t)
            parts.append(
                (np.stack([a.real, a.imag], -1) if np.asarray(l).dtype.kind == "c" else a).astype(float).ravel()
            )

    walk(tree, like)
    return np.concatenate(parts) if parts else np.zeros(0)
