"""Indexing: items, slices, gathers and masks."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jitgrad.tape.functions.rearranging import SCATTER, rearrangement
from jitgrad.tape.functions.registering import operand, refuse
from jitgrad.tape.handlers import HANDLERS, handles
from jitgrad.tape.primitive import Primitive, kept, plain
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


@handles(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    indices = kept(np.asarray(plain(indices)))
    if axis is None:
        arr, axis = np.ravel(arr), 0
    return rearrangement("TakeAlongAxis")(lambda a: np.take_along_axis(a, indices, axis), arr)


@handles(np.compress)
def compress(condition, a, axis=None, out=None):
    refuse("np.compress", out=out)
    return np.take(operand(a), np.flatnonzero(plain(condition)), axis=axis)


@handles(np.extract)
def extract(condition, arr):
    return np.take(operand(arr), np.flatnonzero(plain(condition)))


@handles(np.delete)
def delete(arr, obj, axis=None):
    obj = kept(plain(obj))
    return rearrangement("Delete")(lambda a: np.delete(a, obj, axis), arr)


@handles(np.insert)
def insert(arr, obj, values, axis=None):
    obj = kept(plain(obj))
    return rearrangement("Insert")(lambda a, v: np.insert(a, obj, v, axis), operand(arr), operand(values))


@handles(np.choose)
def choose(a, choices, out=None, mode="raise"):
    refuse("np.choose", out=out)
    a = kept(np.asarray(plain(a)))
    parts = [choices[k] for k in range(len(choices))] if isinstance(choices, Value) else [operand(c) for c in choices]
    return rearrangement("Choose")(lambda *arrays: np.choose(a, arrays, mode=mode), *parts)


@handles(np.select)
def select(condlist, choicelist, default=0):
    conditions = kept([np.asarray(plain(c)) for c in condlist])

    def act(*arrays: Any) -> Any:
        return np.select(conditions, list(arrays[:-1]), arrays[-1])

    return rearrangement("Select")(act, *(operand(c) for c in choicelist), operand(default))


@handles(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    conditions = np.asarray(plain(condlist))
    if conditions.ndim == np.ndim(plain(x)):
        conditions = conditions[None]
    if len(funclist) == len(conditions) + 1:
        conditions = np.concatenate([conditions, ~conditions.any(axis=0, keepdims=True)])
    elif len(funclist) != len(conditions):
        raise ValueError(f"np.piecewise: {len(conditions)} conditions need as many functions, or one more")
    x, shape, dtype = operand(x), np.shape(plain(x)), plain(x).dtype
    pieces = [f(x[c], *args, **kw) if callable(f) else f for c, f in zip(conditions, funclist, strict=True)]

    def act(*parts: Any) -> Any:
        # NumPy gives the result the dtype of x; the plan of the backward sweep is of integers
        out = np.zeros(shape, dtype if any(np.asarray(p).dtype.kind in "fc" for p in parts) else np.intp)
        for condition, part in zip(conditions, parts, strict=True):
            out[condition] = part
        return out

    return rearrangement("Piecewise")(act, *(operand(p) for p in pieces))
