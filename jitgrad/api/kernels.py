"""What generated Jacobian code calls: filling rows and columns, unit vectors. Ordinary nopython code."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import overload
from numba.typed import List

from jitgrad.backend.structure import describe
from jitgrad.errors import ArgumentError
from jitgrad.runtime import vectors

OPTIONS = {"error_model": "numpy", "nogil": True}


def matrix_of(block, shape, rows, columns, zero):
    """The caller's block for part of a Jacobian as a matrix; it must have this shape, and the dtype of `zero`."""
    raise NotImplementedError("nopython code only")


@overload(matrix_of)
def _matrix_of(block, shape, rows, columns, zero):
    if not isinstance(block, types.Array) or block.layout != "C" or not block.mutable:
        raise ArgumentError(f"into writes a Jacobian into a C-contiguous array, not into {describe(block)}")
    if block.dtype != zero:
        raise ArgumentError(f"into writes a Jacobian of {zero} into an array of that dtype, not into {describe(block)}")
    if block.ndim != len(shape):
        raise ArgumentError(f"into writes a Jacobian into an array with {len(shape)} axes, not into {describe(block)}")

    def matrix(block, shape, rows, columns, zero):
        if block.shape != shape:
            raise ValueError("the array for a Jacobian must have the shape of the result followed by the argument's")
        return block.reshape(rows, columns)

    return matrix


@njit(**OPTIONS)
def set_column(block, column, values):
    """``block[:, column] = values`` in C order of the array `values`."""
    row = 0
    for v in values.flat:
        block[row, column] = v
        row += 1


@njit(**OPTIONS)
def set_column_pairs(block, column, values):
    """As `set_column` for complex values: real and imaginary parts in turn."""
    row = 0
    for v in values.flat:
        block[row, column] = v.real
        block[row + 1, column] = v.imag
        row += 2


@njit(**OPTIONS)
def set_row(block, row, values):
    """``block[row, :] = values`` in C order of the array `values`."""
    column = 0
    for v in values.flat:
        block[row, column] = v
        column += 1


@njit(**OPTIONS)
def set_row_pairs(block, row, values):
    """As `set_row` for complex values: real and imaginary parts in turn."""
    column = 0
    for v in values.flat:
        block[row, column] = v.real
        block[row, column + 1] = v.imag
        column += 2


@njit(**OPTIONS)
def set_flat(array, k, value):
    """Write the element at position `k` in C order of a contiguous array."""
    array.reshape(array.size)[k] = value


# ----- several columns at once ------------------------------------------------------------------------
# A column, or row, that lies outside belongs to another argument, or to none.
@njit(**OPTIONS)
def put_units(seed, first, value):
    """``seed[first + k, k] = value`` for each column `k`."""
    for k in range(max(-first, 0), min(seed.shape[0] - first, seed.shape[1])):
        seed[first + k, k] = value


@njit(**OPTIONS)
def put_columns(block, first, values, zero):
    """``block[:, first + k] = values[..., k]`` for each direction `k`, of which `zero` is a vector."""
    width = values.shape[values.ndim - 1]
    low, high = max(-first, 0), min(block.shape[1] - first, width)
    rows = vectors.rows(values, zero)
    if low == 0 and high == width:
        for row in range(rows.size):
            vectors.store(block, row, first, rows[row])
    else:
        for row in range(rows.size):
            for k in range(low, high):
                block[row, first + k] = vectors.lane(rows[row], k)


@njit(**OPTIONS)
def take_columns(seed, first, matrix):
    """``seed[:, k] = matrix[:, first + k]`` for each column `k`, zero beyond the last one."""
    high = min(matrix.shape[1] - first, seed.shape[1])
    for row in range(seed.shape[0]):
        for k in range(high):
            seed[row, k] = matrix[row, first + k]
        for k in range(max(high, 0), seed.shape[1]):
            seed[row, k] = 0.0


def as_rows(values, rows, columns):
    """An array as a matrix, its last axis being that of the columns; a copy where it is not contiguous."""
    raise NotImplementedError("nopython code only")


@overload(as_rows)
def _as_rows(values, rows, columns):
    if values.layout == "C":
        return lambda values, rows, columns: values.reshape((rows, columns))
    return lambda values, rows, columns: np.ascontiguousarray(values).reshape((rows, columns))


@njit(**OPTIONS)
def directions(shape, expected):
    """Check the shape of a tangent with a last axis of directions."""
    if shape != expected:
        raise ValueError("a tangent has the shape of its argument and a last axis: one element for each direction")


@njit(**OPTIONS)
def put_unit(seed, k):
    """Write a one at position `k` in C order of a contiguous array."""
    if 0 <= k < seed.size:
        seed.reshape(seed.size)[k] = 1.0


@njit(**OPTIONS)
def put_row(block, row, values):
    """As `set_row`, for a row that may lie outside."""
    if 0 <= row < block.shape[0]:
        set_row(block, row, values)


@njit(**OPTIONS)
def put_column(block, column, values):
    """As `set_column`, for a column that may lie outside."""
    if 0 <= column < block.shape[1]:
        set_column(block, column, values)


@njit(**OPTIONS)
def put_number(block, row, column, value):
    """``block[row, column] = value``, for a place that may lie outside."""
    if 0 <= row < block.shape[0] and 0 <= column < block.shape[1]:
        block[row, column] = value


@njit(**OPTIONS)
def copy_list(arrays):
    """A typed list with copies of the arrays in another."""
    made = List()
    for a in arrays:
        made.append(a.copy())
    return made


# ----- typed lists of numbers or of arrays ---------------------------------------------------------
def list_size(items):
    """How many numbers a list holds."""
    raise NotImplementedError("nopython code only")


def zeros_of_list(items):
    """A typed list of zeros, with the shapes of the items of another."""
    raise NotImplementedError("nopython code only")


@overload(list_size)
def _list_size(items):
    if not isinstance(items.dtype, types.Array):
        return lambda items: len(items)

    def arrays(items):
        size = 0
        for a in items:
            size += a.size
        return size

    return arrays


@overload(zeros_of_list)
def _zeros_of_list(items):
    if not isinstance(items.dtype, types.Array):
        zero = np.dtype(str(items.dtype)).type(0)

        def scalars(items):
            made = List()
            for _ in items:
                made.append(zero)
            return made

        return scalars

    def arrays(items):
        made = List()
        for a in items:
            made.append(np.zeros_like(a))
        return made

    return arrays
