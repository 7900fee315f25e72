"""Sorting and order statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitgrad.errors import UnsupportedError
from jitgrad.tape.functions.rearranging import SCATTER
from jitgrad.tape.functions.reductions import reduced_axes
from jitgrad.tape.functions.registering import operand, refuse
from jitgrad.tape.handlers import handles
from jitgrad.tape.primitive import Primitive, plain


# ----- sorting --------------------------------------------------------------------------------------
@handles(np.sort)
def sort(a, axis=-1, kind=None, order=None, *, stable=None):
    refuse("np.sort", order=order)
    if axis is None:
        a, axis = np.ravel(a), 0
    return np.take_along_axis(a, np.argsort(plain(a), axis, kind="stable"), axis)


@handles(np.partition)
def partition(a, kth, axis=-1, kind="introselect", order=None):
    refuse("np.partition", order=order)
    if axis is None:
        a, axis = np.ravel(a), 0
    return np.take_along_axis(a, np.argpartition(plain(a), plain(kth), axis), axis)


@handles(np.unique)
def unique(
    ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True, sorted=True
):  # fmt: skip
    refuse("np.unique", axis=axis)
    _, index, inverse, counts = np.unique(plain(ar), True, True, True, equal_nan=equal_nan, sorted=sorted)
    values = np.take(ar, index)
    asked = zip((return_index, return_inverse, return_counts), (index, inverse, counts), strict=True)
    extras = [extra for wanted, extra in asked if wanted]
    return (values, *extras) if extras else values


@handles(np.unique_values)
def unique_values(x, /):
    return np.unique(x)


@handles(np.union1d)
def union1d(ar1, ar2):
    return np.unique(np.concatenate([np.ravel(operand(ar1)), np.ravel(operand(ar2))]))


@handles(np.setdiff1d)
def setdiff1d(ar1, ar2, assume_unique=False):
    values = np.ravel(operand(ar1)) if assume_unique else np.unique(operand(ar1))
    return values[np.isin(plain(values), plain(ar2), invert=True)]


# ----- quantiles ------------------------------------------------------------------------------------
def _quantile_pull(scale: float, skips: bool) -> Any:
    def pull(k, ct, out, args, kwargs):
        if k != 0:
            raise UnsupportedError("quantiles have no derivative in q; use jitgrad.stop_gradient(q)")
        a, q = plain(args[0]), np.asarray(plain(args[1])) / scale
        return _quantile_a(ct, a, q, kwargs["axis"], kwargs["method"], skips)

    return pull


def _quantile_a(ct: Any, a: Any, q: Any, axis: Any, method: str, skips: bool) -> Any:
    """The cotangent of `a`: each quantile is a mean, with weights, of two neighbours in its sorted line."""
    axes = reduced_axes(a, axis)
    last = tuple(range(a.ndim - len(axes), a.ndim))
    moved = np.moveaxis(a, axes, last)
    rest, n = moved.shape[: a.ndim - len(axes)], math.prod(moved.shape[a.ndim - len(axes) :])
    lines = moved.reshape(*rest, n)
    order = np.argsort(lines, -1, kind="stable")
    numbers = n - np.isnan(lines).sum(-1) if skips else np.full(rest, n)
    place = _places(numbers, q.ravel(), method)  # (..., q)
    low = np.floor(place).astype(np.intp)
    high = np.minimum(low + 1, np.maximum(numbers[..., None] - 1, 0))
    share = place - low
    first = (np.arange(lines.size // max(n, 1)) * n).reshape(*rest, 1)
    ct = np.moveaxis(np.reshape(ct, (q.size, *rest)), 0, -1)
    total = np.zeros(lines.size)
    for index, weight in ((low, 1.0 - share), (high, share)):
        flat = first + np.take_along_axis(order, index, -1)
        total = total + SCATTER(np.ravel(ct * weight), (lines.size,), flat.ravel())
    return np.moveaxis(np.reshape(total, moved.shape), last, axes)


def _places(numbers: Any, q: Any, method: str) -> Any:
    """Where the quantiles of sorted lines with so many elements lie: those of 0, 1, 2, ..., which NumPy knows."""
    places = np.zeros((*numbers.shape, q.size))
    for n in np.unique(numbers[numbers > 0]):
        places[numbers == n] = np.quantile(np.arange(float(n)), q, method=method)  # type: ignore[call-overload]
    return places


def _enter(function: Any, scale: float, skips: bool) -> None:
    name = f"np.{function.__name__}"
    quantile_of = Primitive("Quantile", function, _quantile_pull(scale, skips))

    @handles(function)
    def quantile(
        a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None,
        interpolation=None,
    ):  # fmt: skip
        refuse(name, out=out, weights=weights, interpolation=interpolation)
        return quantile_of(operand(a), operand(q), axis=axis, method=method, keepdims=keepdims)


_enter(np.quantile, 1.0, False)
_enter(np.percentile, 100.0, False)
_enter(np.nanquantile, 1.0, True)
_enter(np.nanpercentile, 100.0, True)


def _enter_median(function: Any, skips: bool) -> None:
    name = f"np.{function.__name__}"

    def pull(ct, out, a, axis, keepdims):
        return _quantile_a(ct, plain(a), np.asarray(0.5), axis, "linear", skips)

    median_of = Primitive("Quantile", function, (pull,))

    @handles(function)
    def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
        refuse(name, out=out)
        return median_of(operand(a), axis=axis, keepdims=keepdims)


_enter_median(np.median, False)
_enter_median(np.nanmedian, True)
