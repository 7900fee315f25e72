"""Differences, interpolation, convolution and quadrature of sampled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.tape.functions.registering import conj, operand, refuse
from jitgrad.tape.handlers import handles
from jitgrad.tape.primitive import Primitive, plain
from jitgrad.tape.tensor import Value


# ----- differences ----------------------------------------------------------------------------------
def _along(axis: int, ndim: int, part: Any) -> tuple:
    """An index that takes `part` along one axis and all along the others."""
    return (slice(None),) * (axis % ndim) + (part,)


def _joined(values: Any, a: Any, axis: int) -> Any:
    """What ``prepend=`` or ``append=`` of `np.diff` adds: a scalar counts as one more element of each line."""
    values = operand(values)
    if np.ndim(values) == 0:
        shape = list(a.shape)
        shape[axis] = 1
        return np.broadcast_to(values, shape)
    return values


@handles(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    a = operand(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:
        return a
    parts = [] if prepend is None else [_joined(prepend, a, axis)]
    parts += [a] if append is None else [a, _joined(append, a, axis)]
    a = np.concatenate(parts, axis) if len(parts) > 1 else a
    later, earlier = _along(axis, a.ndim, slice(1, None)), _along(axis, a.ndim, slice(None, -1))
    for _ in range(n):
        a = a[later] != a[earlier] if a.dtype == bool else a[later] - a[earlier]
    return a


@handles(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    inner = np.diff(np.ravel(operand(ary)))
    ends = [operand(to_begin), inner, operand(to_end)]
    return np.concatenate([np.ravel(part).astype(inner.dtype) for part in ends if part is not None])


@handles(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    f, spacings = operand(f), [operand(v) for v in varargs]
    axes = range(f.ndim) if axis is None else [k % f.ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
    if len(spacings) <= 1 and (not spacings or np.ndim(spacings[0]) == 0):
        spacings = (spacings or [1.0]) * len(axes)
    if len(spacings) != len(axes):
        raise TypeError("np.gradient: one spacing for all axes, or one for each")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    parts = [_slope(f, h, k, edge_order) for h, k in zip(spacings, axes, strict=True)]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _slope(f: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    """The slope along one axis, of second order inside; `spacing` is a step or the coordinates."""
    f = np.moveaxis(f, axis, 0)
    n = len(f)
    if n < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient")
    if np.ndim(spacing) == 1 and len(spacing) != n:
        raise ValueError("np.gradient: coordinates must match the length of the axis")
    if not isinstance(spacing, Value):
        spacing = np.asarray(spacing, np.result_type(f, spacing, 1.0))
    steps = np.diff(spacing) if np.ndim(spacing) else np.broadcast_to(spacing, n - 1)
    steps = np.reshape(steps, (n - 1, *(1,) * (f.ndim - 1)))
    slopes = (f[1:] - f[:-1]) / steps
    before, after = steps[:-1], steps[1:]
    inner = (slopes[1:] * before + slopes[:-1] * after) / (before + after)
    first, last = slopes[:1], slopes[-1:]
    if edge_order == 2:  # the slope of the parabola through three points
        first = first - (slopes[1:2] - slopes[:1]) * steps[:1] / (steps[:1] + steps[1:2])
        last = last + (slopes[-1:] - slopes[-2:-1]) * steps[-1:] / (steps[-1:] + steps[-2:-1])
    return np.moveaxis(np.concatenate([first, inner, last]), 0, axis)


@handles(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y, x = operand(y), operand(x)
    if x is not None:
        dx = np.diff(x, axis=axis if np.ndim(x) > 1 else -1)
        if np.ndim(x) == 1:
            dx = np.reshape(dx, tuple(-1 if k == axis % y.ndim else 1 for k in range(y.ndim)))
    later, earlier = _along(axis, y.ndim, slice(1, None)), _along(axis, y.ndim, slice(None, -1))
    return np.sum(dx * (y[later] + y[earlier]) / 2.0, axis)


# ----- interpolation --------------------------------------------------------------------------------
@handles(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = operand(x), operand(xp), operand(fp)
    if period is not None:
        refuse("np.interp with a period", left=left, right=right)
        x, xp = np.remainder(x, period), np.remainder(xp, period)
        order = np.argsort(plain(xp))
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    n, at, knots = len(fp), plain(x), plain(xp)
    if n != len(knots):
        raise ValueError("fp and xp are not of the same length.")
    below = fp[0] if left is None else left
    above = fp[-1] if right is None else right
    if n == 1:
        inside = np.broadcast_to(fp[0], np.shape(at))
    else:
        k = np.clip(np.searchsorted(knots, at, "right") - 1, 0, n - 2)
        slope = (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k])
        # at the last knot its own value, with the slope of what is right of it
        inside = np.where(at == knots[-1], fp[-1], slope * (x - xp[k]) + fp[k])
    return np.where(at < knots[0], below, np.where(at > knots[-1], above, inside))


# ----- convolution ----------------------------------------------------------------------------------
def _convolve_a(ct, out, a, v):
    return np.convolve(ct, np.flip(conj(v)), "valid")


def _convolve_v(ct, out, a, v):
    return np.convolve(ct, np.flip(conj(a)), "valid")


_CONVOLVE = Primitive("Convolve", np.convolve, (_convolve_a, _convolve_v))


def _convolved(a: Any, v: Any, mode: str, swapped: bool) -> Any:
    """The part of the full convolution that `mode` asks for; `swapped`: NumPy reads it from the other end."""
    full = _CONVOLVE(a, v)
    short, long = sorted((len(a), len(v)))
    if mode == "full":
        return full
    if mode == "valid":
        return full[short - 1 : long]
    if mode != "same":
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full', not {mode!r}")
    start = short // 2 if swapped else (short - 1) // 2
    return full[start : start + long]


@handles(np.convolve)
def convolve(a, v, mode="full"):
    return _convolved(np.atleast_1d(operand(a)), np.atleast_1d(operand(v)), mode, False)


@handles(np.correlate)
def correlate(a, v, mode="valid"):
    a, v = np.atleast_1d(operand(a)), np.atleast_1d(operand(v))
    return _convolved(a, np.flip(conj(v)), mode, len(v) > len(a))


@handles(np.polyval)
def polyval(p, x):
    p, x = operand(p), operand(x)
    y = np.zeros(np.shape(x))
    for k in range(len(p)):
        y = y * x + p[k]
    return y
