"""Indexing: items, slices, gathers and masks."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitgrad.tape.functions.rearranging import SCATTER, rearrangement
from jitgrad.tape.functions.registering import operand, refuse
from jitgrad.tape.handlers import HANDLERS, handles
from jitgrad.tape.primitive import Primitive, plain
from jitgrad.tape.tensor import Value

_GETITEM = Primitive("StridedSlice", operator.getitem, (lambda ct, out, x, index: SCATTER(ct, x.shape, index), None))


def getitem(x, index):
    return _GETITEM(x, plain(index))


HANDLERS[operator.getitem] = getitem


def _take_a(ct, out, a, indices, axis, mode):
    n = a.shape[axis]
    if mode == "wrap":
        indices = np.remainder(indices, n)
    elif mode == "clip":
        indices = np.clip(indices, 0, n - 1)
    return SCATTER(ct, a.shape, (slice(None),) * (axis % a.ndim) + (indices,))


_TAKE = Primitive("GatherV2", lambda a, indices, axis, mode: np.take(a, indices, axis, mode=mode), (_take_a,))


@handles(np.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    refuse("np.take", out=out)
    a, indices = operand(a), np.asarray(plain(indices))
    if indices.dtype == bool:  # as NumPy: numbers, not a mask
        indices = indices.astype(np.intp)
    return _TAKE(np.ravel(a) if axis is None or a.ndim == 0 else a, indices, 0 if axis is None else axis, mode)


_TAKE_ALONG = rearrangement("TakeAlongAxis", np.take_along_axis)


@handles(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    if axis is None:
        arr, axis = np.ravel(arr), 0
    return _TAKE_ALONG(operand(arr), indices=np.asarray(plain(indices)), axis=axis)


@handles(np.compress)
def compress(condition, a, axis=None, out=None):
    refuse("np.compress", out=out)
    return np.take(operand(a), np.flatnonzero(plain(condition)), axis=axis)


@handles(np.extract)
def extract(condition, arr):
    return np.take(operand(arr), np.flatnonzero(plain(condition)))


_DELETE = rearrangement("Delete", np.delete)
_INSERT = rearrangement("Insert", lambda a, values, obj, axis: np.insert(a, obj, values, axis))
_CHOOSE = rearrangement("Choose", lambda *choices, a, mode: np.choose(a, choices, mode=mode))
_SELECT = rearrangement("Select", lambda *choices, conditions: np.select(conditions, list(choices[:-1]), choices[-1]))


@handles(np.delete)
def delete(arr, obj, axis=None):
    return _DELETE(arr, obj=plain(obj), axis=axis)


@handles(np.insert)
def insert(arr, obj, values, axis=None):
    return _INSERT(operand(arr), operand(values), obj=plain(obj), axis=axis)


@handles(np.choose)
def choose(a, choices, out=None, mode="raise"):
    refuse("np.choose", out=out)
    parts = np.unstack(choices) if isinstance(choices, Value) else [operand(c) for c in choices]
    return _CHOOSE(*parts, a=np.asarray(plain(a)), mode=mode)


@handles(np.select)
def select(condlist, choicelist, default=0):
    conditions = [np.asarray(plain(c)) for c in condlist]
    return _SELECT(*(operand(c) for c in choicelist), operand(default), conditions=conditions)


def _place(*parts: Any, conditions: Any, dtype: Any) -> Any:
    # NumPy gives the result the dtype of x; the plan of the backward sweep is of integers
    whole = all(np.asarray(p).dtype.kind == "i" for p in parts)
    out = np.zeros(conditions.shape[1:], np.intp if whole else dtype)
    for condition, part in zip(conditions, parts, strict=True):
        out[condition] = part
    return out


_PIECEWISE = rearrangement("Piecewise", _place)


@handles(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    x, conditions = operand(x), np.asarray(plain(condlist))
    if conditions.ndim == np.ndim(x):
        conditions = conditions[None]
    if len(funclist) == len(conditions) + 1:
        conditions = np.concatenate([conditions, ~conditions.any(axis=0, keepdims=True)])
    elif len(funclist) != len(conditions):
        raise ValueError(f"np.piecewise: {len(conditions)} conditions need as many functions, or one more")
    pieces = [f(x[c], *args, **kw) if callable(f) else f for c, f in zip(conditions, funclist, strict=True)]
    return _PIECEWISE(*(operand(p) for p in pieces), conditions=conditions, dtype=x.dtype)
