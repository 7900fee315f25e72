"""What generated Jacobian code calls: filling rows and columns, unit vectors. Ordinary nopython code."""

from __future__ import annotations

from numba import njit

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
