"""Unions of sets of bits through functions of arrays: what generated detection code calls."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

OPTIONS = {"error_model": "numpy", "nogil": True}
NOTHING = np.uint64(0)


def is_set(ty: types.Type) -> bool:
    """Whether a type is that of a set, or of an array of sets."""
    return (ty.dtype if isinstance(ty, types.Array) else ty) == types.uint64


def union_of(sets):
    """The union of all sets in an array, tuple or list; parts that are no sets have none."""
    raise NotImplementedError("nopython code only")


@overload(union_of, jit_options=OPTIONS)
def _union_of(sets):
    if isinstance(sets, types.Array) and is_set(sets):

        def of_array(sets):
            found = NOTHING
            for s in sets.flat:
                found |= s
            return found

        return of_array
    if sets == types.uint64:
        return lambda sets: sets
    if isinstance(sets, (types.List, types.ListType)):

        def of_list(sets):
            found = NOTHING
            for s in sets:
                found |= union_of(s)
            return found

        return of_list
    if isinstance(sets, types.BaseTuple):
        if not len(sets):
            return lambda sets: NOTHING
        if len(sets) == 1:
            return lambda sets: union_of(sets[0])
        return lambda sets: union_of(sets[0]) | union_of(sets[1:])
    return lambda sets: NOTHING


def only_sets(sets):
    """The argument; code in which it is no set does not compile. Other integers, or floats, would lose bits."""
    raise NotImplementedError("nopython code only")


@overload(only_sets, jit_options=OPTIONS)
def _only_sets(sets):
    if not is_set(sets):
        raise TypingError(f"a set of bits has become {sets}")
    return lambda sets: sets


# ----- sums ------------------------------------------------------------------------------------------
@njit(**OPTIONS)
def along(sets, axis):
    """The unions along an axis."""
    if axis < 0:
        axis += sets.ndim
    before, after = 1, 1
    for k in range(sets.ndim):
        if k < axis:
            before *= sets.shape[k]
        elif k > axis:
            after *= sets.shape[k]
    n = sets.shape[axis]
    rows = np.ascontiguousarray(sets).reshape((before, n, after))
    found = np.zeros((before, after), np.uint64)
    for i in range(before):
        for k in range(n):
            for j in range(after):
                found[i, j] |= rows[i, k, j]
    return found


@njit(**OPTIONS)
def sum_along(sets, axis, out):
    return along(sets, axis).reshape(out.shape)


@njit(**OPTIONS)
def running(sets, out):
    """The unions of the elements up to each one, in C order."""
    found = np.empty(out.shape, np.uint64)
    flat, k, so_far = found.reshape(found.size), 0, NOTHING
    for s in sets.flat:
        so_far |= s
        flat[k] = so_far
        k += 1
    return found


@njit(**OPTIONS)
def differences(sets, n, out):
    """The unions of ``n + 1`` elements that follow each other along the last axis."""
    width, kept = sets.shape[-1], out.shape[-1]
    rows = np.ascontiguousarray(sets).reshape((-1 if sets.size else 0, width))
    found = np.zeros(out.shape, np.uint64)
    flat = found.reshape((rows.shape[0], kept))
    for i in range(rows.shape[0]):
        for k in range(kept):
            for d in range(n + 1):
                flat[i, k] |= rows[i, k + d]
    return found


@njit(**OPTIONS)
def binned(places, sets, out):
    """The union of the sets that fall into each bin."""
    found = np.zeros(out.shape, np.uint64)
    for k in range(sets.size):
        found[places[k]] |= sets[k]
    return found


# ----- products --------------------------------------------------------------------------------------
@njit(**OPTIONS)
def outer(a, b, out):
    """The union of an element of `a` with one of `b`, for all pairs."""
    found = np.empty(out.shape, np.uint64)
    i = 0
    for s in a.flat:
        j = 0
        for t in b.flat:
            found[i, j] = s | t
            j += 1
        i += 1
    return found


@njit(**OPTIONS)
def matrix_product(a, b, out):
    """Of two matrices: the union of a row of `a` with a column of `b`."""
    return outer(along(a, 1), along(b, 0), out)


@njit(**OPTIONS)
def matrix_vector(a, b, out):
    return along(a, 1).reshape(out.shape) | union_of(b)


@njit(**OPTIONS)
def vector_matrix(a, b, out):
    return union_of(a) | along(b, 0).reshape(out.shape)
