"""Cumulative functions: running sums, products and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.tape.functions.registering import conj, operand, refuse
from jitgrad.tape.handlers import HANDLERS, handles
from jitgrad.tape.primitive import Primitive, plain


# ----- the recurrence behind products ---------------------------------------------------------------
def _recurrence(c, x):
    out = np.array(c, np.result_type(c, x))
    for k in range(1, len(out)):
        out[k] += x[k] * out[k - 1]
    return out


def backward_recurrence(c: Any, x: Any) -> Any:
    """``r[k] = c[k] + x[k + 1] r[k + 1]`` along the first axis."""
    return np.flip(RECURRENCE(np.flip(c, 0), np.flip(np.roll(x, -1, 0), 0)), 0)


def _recurrence_c(ct, out, c, x):
    return backward_recurrence(ct, conj(x))


def _recurrence_x(ct, out, c, x):
    return backward_recurrence(ct, conj(x)) * _before(conj(out), 0.0)


RECURRENCE = Primitive("Recurrence", _recurrence, (_recurrence_c, _recurrence_x))
"""``r[0] = c[0]``, ``r[k] = c[k] + x[k] r[k - 1]`` along the first axis; its pullbacks are recurrences too."""


def _before(x: Any, first: float) -> Any:
    """`x` moved on by one along the first axis, behind `first`."""
    return np.concatenate([np.full(x[:1].shape, first, x.dtype), x[:-1]])


def exclusive_products(x: Any) -> Any:
    """The product of all elements before each, along the first axis."""
    return _before(np.cumprod(x, 0), 1.0)


# ----- sums and products ----------------------------------------------------------------------------
def _cumsum_a(ct, out, a, axis):
    return np.flip(np.cumsum(np.flip(ct, axis), axis), axis)


def _cumprod_a(ct, out, a, axis):
    # exact also with zeros: nothing is divided
    x = np.moveaxis(conj(a), axis, 0)
    return np.moveaxis(exclusive_products(x) * backward_recurrence(np.moveaxis(ct, axis, 0), x), 0, axis)


_CUMSUM = Primitive("Cumsum", np.cumsum, (_cumsum_a,))
_CUMPROD = Primitive("Cumprod", np.cumprod, (_cumprod_a,))


def _accumulate(made: Primitive, a: Any, axis: Any, dtype: Any) -> Any:
    a = operand(a)
    if dtype is not None and a.dtype != dtype:
        a = a.astype(dtype)
    if axis is None or (a.ndim == 0 and axis in (0, -1)):  # a number counts as an array of one element
        return made(np.ravel(a), 0)
    return made(a, axis)


@handles(np.cumsum)
def cumsum(a, axis=None, dtype=None, out=None):
    refuse("np.cumsum", out=out)
    return _accumulate(_CUMSUM, a, axis, dtype)


@handles(np.cumprod)
def cumprod(a, axis=None, dtype=None, out=None):
    refuse("np.cumprod", out=out)
    return _accumulate(_CUMPROD, a, axis, dtype)


def _cumulative(function: Any, start: float) -> Any:
    def cumulative(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
        refuse("np.cumulative_sum and np.cumulative_prod", out=out)
        if axis is None and x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0 if axis is None else axis
        done = function(x, axis, dtype)
        if not include_initial:
            return done
        shape = list(done.shape)
        shape[axis] = 1
        return np.concatenate([np.full(shape, start, done.dtype), done], axis)

    return cumulative


HANDLERS[np.cumulative_sum] = _cumulative(cumsum, 0.0)
HANDLERS[np.cumulative_prod] = _cumulative(cumprod, 1.0)


def _skipping(function: Any, fill: float) -> Any:
    def skipping(a, axis=None, dtype=None, out=None):
        a = operand(a)
        return function(np.where(np.isnan(plain(a)), a.dtype.type(fill), a), axis, dtype, out)

    return skipping


HANDLERS[np.nancumsum] = _skipping(cumsum, 0)
HANDLERS[np.nancumprod] = _skipping(cumprod, 1)
HANDLERS[np.add, "accumulate"] = lambda array, axis=0, dtype=None: cumsum(array, axis, dtype)
HANDLERS[np.multiply, "accumulate"] = lambda array, axis=0, dtype=None: cumprod(array, axis, dtype)


# ----- running extremes -----------------------------------------------------------------------------
def _running(ufunc: np.ufunc, name: str, wins: np.ufunc) -> None:
    def pull(ct, out, a, axis):
        # as maximum(maximum(a[0], a[1]), a[2]) ...: half each in a tie
        x, best = np.moveaxis(plain(a), axis, 0), np.moveaxis(plain(out), axis, 0)
        weight = np.where(wins(x[1:], best[:-1]) | np.isnan(x[1:]), 1.0, np.where(x[1:] == best[:-1], 0.5, 0.0))
        weight = np.concatenate([np.ones(x[:1].shape), weight])
        return np.moveaxis(weight * backward_recurrence(np.moveaxis(ct, axis, 0), 1.0 - weight), 0, axis)

    made = Primitive(name, lambda a, axis: ufunc.accumulate(a, axis), (pull,))
    HANDLERS[ufunc, "accumulate"] = lambda array, axis=0, dtype=None: _accumulate(made, array, axis, dtype)


_running(np.maximum, "Cummax", np.greater)
_running(np.minimum, "Cummin", np.less)
