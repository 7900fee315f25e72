"""Broadcasting of shapes, one axis at a time."""

from __future__ import annotations

from numba import njit


@njit
def broadcast_length(n: int, m: int) -> int:
    """The common length of two axes, as NumPy broadcasts them.

    Raises
    ------
    ValueError
        When the lengths differ and none of them is 1.
    """
    if n == m or m == 1:
        return n
    if n == 1:
        return m
    raise ValueError("operands could not be broadcast together: axes of different lengths, none of length 1")
