"""What generated Jacobian code calls: filling rows and columns, unit vectors. Ordinary nopython code."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import overload
from numba.typed import List

OPTIONS = {"error_model": "numpy", "nogil": True}


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
