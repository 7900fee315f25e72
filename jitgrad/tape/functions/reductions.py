"""Reductions: sums, products, extremes, means and variances."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.tape.functions.cumulative import exclusive_products
from jitgrad.tape.functions.registering import conj, operand, refuse
from jitgrad.tape.handlers import HANDLERS, handles
from jitgrad.tape.primitive import Primitive, plain


# ----- axes -----------------------------------------------------------------------------------------
def spread(ct: Any, like: Any, axis: Any, keepdims: bool) -> Any:
    """`ct`, the cotangent of a reduction of `like` over `axis`, with the reduced axes back as ones."""
    if keepdims or like.ndim == 0:
        return ct
    return np.reshape(ct, reduced_shape(like, axis))


def reduced_axes(x: Any, axis: Any) -> tuple[int, ...]:
    """The axes that ``axis=`` of a reduction of `x` means, not negative."""
    if axis is None:
        return tuple(range(x.ndim))
    return tuple(a % x.ndim for a in (axis if isinstance(axis, tuple) else (axis,))) if x.ndim else ()


def reduced_shape(x: Any, axis: Any) -> tuple[int, ...]:
    """The shape of a reduction of `x` over `axis` with ``keepdims=True``."""
    axes = reduced_axes(x, axis)
    return tuple(1 if k in axes else n for k, n in enumerate(x.shape))


def count(a: Any, axis: Any) -> int:
    """How many elements a reduction of `a` over `axis` takes into one."""
    return int(np.prod([a.shape[k] for k in reduced_axes(a, axis)], dtype=int))


def _selected(a: Any, dtype: Any, where: Any, fill: Any) -> Any:
    """`a` as it enters a reduction: converted to `dtype`, with `fill` where the mask says no."""
    a = operand(a)
    if dtype is not None and a.dtype != dtype:
        a = a.astype(dtype)
    return a if where is True else np.where(plain(where), a, a.dtype.type(fill))


# ----- sums and products ----------------------------------------------------------------------------
def _sum_a(ct, out, a, axis, keepdims):
    return np.broadcast_to(spread(ct, a, axis, keepdims), a.shape)


def _mean_a(ct, out, a, axis, keepdims):
    return np.broadcast_to(spread(ct, a, axis, keepdims) / max(count(a, axis), 1), a.shape)


def _prod_a(ct, out, a, axis, keepdims):
    # all others multiplied, exact also with zeros, along the reduced axes made one
    axes = reduced_axes(a, axis)
    first = tuple(range(len(axes)))
    moved = np.moveaxis(conj(a), axes, first)
    lines = np.reshape(moved, (count(a, axis), *moved.shape[len(axes) :]))
    others = exclusive_products(lines) * np.flip(exclusive_products(np.flip(lines, 0)), 0)
    return spread(ct, a, axis, keepdims) * np.moveaxis(np.reshape(others, moved.shape), first, axes)


def _reduction(name: str, function: Any, pull: Any) -> Primitive:
    return Primitive(name, lambda a, axis, keepdims: function(a, axis=axis, keepdims=keepdims), (pull,))


def _mean(a, axis, keepdims):
    if axis is None and not keepdims and a.dtype.char in "fd" and a.size:
        return np.add.reduce(a, axis=None) / a.dtype.type(a.size)  # np.mean, without its detours
    return np.mean(a, axis=axis, keepdims=keepdims)


_SUM = _reduction("Sum", np.add.reduce, _sum_a)
_MEAN = Primitive("Mean", _mean, (_mean_a,))
_PROD = _reduction("Prod", np.prod, _prod_a)


@handles(np.sum)
def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    refuse("np.sum", out=out)
    total = _SUM(_selected(a, dtype, where, 0), axis, keepdims)
    return total if initial is None else total + initial


@handles(np.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    if axis is dtype is out is None and where is True and not keepdims:
        return _MEAN(operand(a), None, False)
    refuse("np.mean", out=out)
    if where is not True:
        a, number = operand(a), np.sum(np.broadcast_to(plain(where), np.shape(plain(a))), axis, keepdims=keepdims)
        return np.sum(a, axis, dtype, keepdims=keepdims, where=where) / number
    return _MEAN(_selected(a, dtype, where, 0), axis, keepdims)


@handles(np.prod)
def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    refuse("np.prod", out=out)
    total = _PROD(_selected(a, dtype, where, 1), axis, keepdims)
    return total if initial is None else total * initial


def _logsumexp_a(ct, out, a, axis, keepdims):
    top = spread(out, a, axis, keepdims)
    return spread(ct, a, axis, keepdims) * np.exp(a - np.where(np.isinf(plain(top)), 0.0, top))


_LOGSUMEXP = _reduction("Logsumexp", np.logaddexp.reduce, _logsumexp_a)


# ----- extremes -------------------------------------------------------------------------------------
def _extreme_a(ct, out, a, axis, keepdims, initial=None, where=True):
    best = spread(out, a, axis, keepdims)
    winners = plain(a == best) | plain((a != a) & (best != best))
    number = np.sum(winners := winners & where, axis=reduced_axes(a, axis), keepdims=True)
    if initial is not None:
        number = number + plain(best == initial)
    return np.where(winners, spread(ct, a, axis, keepdims) / np.maximum(number, 1), 0.0)


def _extreme(name: str, function: Any, *names: Any) -> None:
    def act(a, axis, keepdims, **kwargs):
        return function(a, axis=axis, keepdims=keepdims, **kwargs)

    extreme_of = Primitive(name, act, (_extreme_a,))

    @handles(function, *names)
    def extreme(a, axis=None, out=None, keepdims=False, initial=None, where=True):
        refuse(f"np.{function.__name__}", out=out)
        given = {} if initial is None else {"initial": plain(initial)}
        if where is not True:
            given["where"] = plain(where)
        return extreme_of(operand(a), axis, keepdims, **given)


_extreme("Max", np.max, np.amax)
_extreme("Min", np.min, np.amin)
_extreme("NanMax", np.nanmax)
_extreme("NanMin", np.nanmin)


@handles(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    refuse("np.ptp", out=out)
    return np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims)


# ----- moments --------------------------------------------------------------------------------------
def _var_a(ct, out, a, axis, keepdims, ddof):
    if a.size == 0:
        return np.zeros(a.shape)
    free = count(a, axis) - ddof
    centred = a - np.mean(a, reduced_axes(a, axis), keepdims=True)
    return spread(ct, a, axis, keepdims) * (2.0 / free if free > 0 else np.nan) * centred


def _std_a(ct, out, a, axis, keepdims, ddof):
    # as the norm: slope zero where all are equal
    flat = plain(out == 0)
    return _var_a(np.where(flat, 0.0, 0.5 * ct / np.where(flat, 1.0, out)), out, a, axis, keepdims, ddof)


def _moment(name: str, function: Any, pull: Any) -> None:
    def act(a, axis, keepdims, ddof):
        return function(a, axis=axis, keepdims=keepdims, ddof=ddof)

    moment_of = Primitive(name, act, (pull,))

    @handles(function)
    def moment(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None):
        masked = None if where is True else where
        refuse(f"np.{function.__name__}", out=out, where=masked, mean=mean)
        return moment_of(_selected(a, dtype, True, 0), axis, keepdims, ddof if correction is None else correction)


_moment("Var", np.var, _var_a)
_moment("Std", np.std, _std_a)


@handles(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    a, weights = operand(a), operand(weights)
    if weights is None:
        mean, scale = np.mean(a, axis, keepdims=keepdims), np.float64(count(a, axis))
    else:
        if weights.shape != a.shape:
            axes = reduced_axes(a, axis)
            if axis is None or weights.shape != tuple(a.shape[k] for k in axes):
                raise ValueError("np.average: the weights need the shape of a, or that of a along axis")
            weights = np.transpose(weights, np.argsort(axes))
            weights = np.reshape(weights, tuple(n if k in axes else 1 for k, n in enumerate(a.shape)))
        scale = np.sum(np.broadcast_to(weights, a.shape), axis, keepdims=keepdims)
        if np.any(plain(scale) == 0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = np.sum(a * weights, axis, keepdims=keepdims) / scale
    return (mean, np.broadcast_to(scale, mean.shape)) if returned else mean


@handles(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None):
    refuse("np.cov", fweights=fweights, aweights=aweights)
    rows = [np.atleast_2d(operand(part)) for part in (m, y) if part is not None]
    x = np.concatenate([r if rowvar or r.shape[0] == 1 else r.T for r in rows])
    x = x if dtype is None else x.astype(dtype)
    x = x - np.mean(x, 1, keepdims=True)
    free = x.shape[1] - ((0 if bias else 1) if ddof is None else ddof)
    return np.squeeze(np.matmul(x, conj(x).T) / (free if free > 0 else np.nan))


@handles(np.corrcoef)
def corrcoef(x, y=None, rowvar=True, *, dtype=None):
    both = np.cov(x, y, rowvar, dtype=dtype)
    if both.ndim == 0:
        return both / both
    spread = np.sqrt(np.real(np.diagonal(both)))
    return both / spread[:, None] / spread[None, :]


# ----- reductions that skip nan ---------------------------------------------------------------------
def _numbers(a: Any, fill: float) -> Any:
    return np.where(np.isnan(plain(a)), a.dtype.type(fill), a) if a.dtype.kind in "fc" else a


@handles(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return sum(_numbers(operand(a), 0), axis, dtype, out, keepdims, initial, where)


@handles(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True):
    return prod(_numbers(operand(a), 1), axis, dtype, out, keepdims, initial, where)


def _valid(a: Any, axis: Any, keepdims: bool) -> Any:
    """How many numbers a reduction finds, in the precision of `a`."""
    return np.sum(~np.isnan(plain(a)), axis, dtype=plain(a).real.dtype, keepdims=keepdims)


@handles(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    refuse("np.nanmean", out=out, where=None if where is True else where)
    a = operand(a)
    return np.sum(_numbers(a, 0), axis, dtype, keepdims=keepdims) / _valid(a, axis, keepdims)


@handles(np.nanvar)
def nanvar(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None
):  # fmt: skip
    refuse("np.nanvar", out=out, where=None if where is True else where, mean=mean)
    a = _selected(a, dtype, True, 0)
    centred = _numbers(a - nanmean(a, axis, keepdims=True), 0)
    squares = np.real(centred * np.conjugate(centred)) if a.dtype.kind == "c" else centred * centred
    free = _valid(a, axis, keepdims) - (ddof if correction is None else correction)
    return np.sum(squares, axis, keepdims=keepdims) / np.where(free > 0, free, np.nan).astype(free.dtype)


@handles(np.nanstd)
def nanstd(
    a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None
):  # fmt: skip
    squared = nanvar(a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    flat = plain(squared) == 0  # slope zero, as in np.std
    return np.where(flat, 0.0, np.sqrt(np.where(flat, 1.0, squared))).astype(squared.dtype)


# ----- methods of ufuncs ----------------------------------------------------------------------------
def _enter_methods() -> None:
    def reduces(ufunc: np.ufunc, function: Any) -> None:
        HANDLERS[ufunc, "reduce"] = lambda array, axis=0, **kwargs: HANDLERS[function](array, axis=axis, **kwargs)

    for ufunc, function in (
        (np.add, np.sum), (np.multiply, np.prod), (np.maximum, np.max), (np.minimum, np.min), (np.fmax, np.nanmax),
        (np.fmin, np.nanmin), (np.logical_and, np.all), (np.logical_or, np.any),
    ):  # fmt: skip
        reduces(ufunc, function)
    HANDLERS[np.logaddexp, "reduce"] = lambda array, axis=0, keepdims=False: _LOGSUMEXP(array, axis, keepdims)

    def outer(ufunc: np.ufunc) -> Any:
        def of_pairs(a, b):
            a, b = operand(a), operand(b)
            return ufunc(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b)

        return of_pairs

    for value in vars(np).values():
        if isinstance(value, np.ufunc) and value.nin == 2 and value.signature is None:
            HANDLERS[value, "outer"] = outer(value)


_enter_methods()
