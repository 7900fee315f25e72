"""Functions that join arrays and take them apart: the primitives take, or give, any number."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitgrad.tape.functions.rearranging import SCATTER, rearrangement
from jitgrad.tape.functions.registering import operand, refuse
from jitgrad.tape.handlers import handles
from jitgrad.tape.primitive import Primitive, plain
from jitgrad.tape.structure import flatten, rebuild
from jitgrad.tape.tensor import Value


# ----- joining --------------------------------------------------------------------------------------
def _concatenate_pull(k, ct, out, arrays, kwargs):
    axis = kwargs["axis"]
    start = sum(np.shape(a)[axis] for a in arrays[:k])
    index = [slice(None)] * out.ndim
    index[axis] = slice(start, start + arrays[k].shape[axis])
    return ct[tuple(index)]


def _stack_pull(k, ct, out, arrays, kwargs):
    index = [slice(None)] * out.ndim
    index[kwargs["axis"]] = k
    return ct[tuple(index)]


_CONCATENATE = Primitive("ConcatV2", lambda *arrays, axis: np.concatenate(arrays, axis), _concatenate_pull)
_STACK = Primitive("Pack", lambda *arrays, axis: np.stack(arrays, axis), _stack_pull)


def _parts(arrays: Any) -> Sequence[Any]:
    """The operands of a function that joins: those of a list, or the rows of one array."""
    if isinstance(arrays, Value):
        return np.unstack(arrays)
    return [operand(a) for a in arrays]


@handles(np.concatenate)
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting=None):
    refuse("np.concatenate", out=out, casting=casting)
    arrays = _parts(arrays)
    if axis is None:
        arrays, axis = [np.ravel(a) for a in arrays], 0
    joined = _CONCATENATE(*arrays, axis=axis)
    return joined if dtype is None else joined.astype(dtype)


@handles(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting=None):
    refuse("np.stack", out=out, casting=casting)
    joined = _STACK(*_parts(arrays), axis=axis)
    return joined if dtype is None else joined.astype(dtype)


@handles(np.hstack)
def hstack(tup, *, dtype=None, casting=None):
    arrays = [np.atleast_1d(a) for a in _parts(tup)]
    return concatenate(arrays, 0 if arrays and arrays[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@handles(np.vstack)
def vstack(tup, *, dtype=None, casting=None):
    return concatenate([np.atleast_2d(a) for a in _parts(tup)], 0, dtype=dtype, casting=casting)


@handles(np.dstack)
def dstack(tup):
    return concatenate([np.atleast_3d(a) for a in _parts(tup)], 2)


@handles(np.column_stack)
def column_stack(tup):
    return concatenate([np.atleast_2d(a).T if np.ndim(a) < 2 else a for a in _parts(tup)], 1)


@handles(np.append)
def append(arr, values, axis=None):
    arr, values = operand(arr), operand(values)
    return concatenate([np.ravel(arr), np.ravel(values)] if axis is None else [arr, values], axis or 0)


_BLOCK = rearrangement("Block", lambda *parts, layout: np.block(rebuild(layout, iter(parts))))


@handles(np.block)
def block(arrays):
    parts = flatten(arrays)
    return _BLOCK(*parts, layout=rebuild(arrays, iter(range(len(parts)))))


# ----- taking apart ---------------------------------------------------------------------------------
def _part_cotangents(ct, out):
    """The cotangents of all results, with zeros for those that are not used."""
    return [np.zeros(o.shape, o.dtype) if c is None else c for c, o in zip(ct, out, strict=True)]


def _split(a, sections, axis):
    return tuple(np.array_split(a, sections, axis))


def _split_a(ct, out, a, sections, axis):
    parts = _part_cotangents(ct, out)
    starts = np.cumsum([0] + [o.shape[axis] for o in out])
    if starts[-1] == a.shape[axis] and list(sections) == starts[1:-1].tolist():
        return np.concatenate(parts, axis)
    # sections that overlap, skip or run backwards
    index: list[Any] = [slice(None)] * a.ndim
    total, bounds = np.zeros(a.shape, a.dtype), [0, *sections, None]
    for k, part in enumerate(parts):
        index[axis] = slice(bounds[k], bounds[k + 1])
        total = total + SCATTER(part, a.shape, tuple(index))
    return total


_SPLIT = Primitive("Split", _split, (_split_a,))
_UNSTACK = Primitive(
    "Unpack",
    lambda a, axis: tuple(np.moveaxis(a, axis, 0)),
    (lambda ct, out, a, axis: np.stack(_part_cotangents(ct, out), axis),),
)


@handles(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    n, cuts = ary.shape[axis], plain(indices_or_sections)
    if np.ndim(cuts) == 0:
        count = operator.index(cuts)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        small, larger = divmod(n, count)
        cuts = np.cumsum([small + 1] * larger + [small] * (count - larger))[:-1]
    return list(_SPLIT(ary, [operator.index(c) for c in cuts], axis % ary.ndim))


@handles(np.split)
def split(ary, indices_or_sections, axis=0):
    if np.ndim(plain(indices_or_sections)) == 0 and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@handles(np.hsplit)
def hsplit(ary, indices_or_sections):
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@handles(np.vsplit)
def vsplit(ary, indices_or_sections):
    if ary.ndim < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return split(ary, indices_or_sections, 0)


@handles(np.dsplit)
def dsplit(ary, indices_or_sections):
    if ary.ndim < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return split(ary, indices_or_sections, 2)


@handles(np.unstack)
def unstack(x, /, *, axis=0):
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return _UNSTACK(x, axis)
