"""The tape's memory: strips are arrays that grow by doubling.

Ordinary nopython code on ordinary arrays, so that a derivative can itself be differentiated.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(error_model="numpy")
def grow(strip, size):
    """`strip` itself when it has room for `size` entries, else a larger copy.

    Amortised cost of one entry: O(1).
    """
    if size <= strip.size:
        return strip
    larger = np.empty(max(size, 2 * strip.size), strip.dtype)
    for k in range(strip.size):
        larger[k] = strip[k]
    return larger


@njit(error_model="numpy")
def store(strip, at, array):
    """Copy the elements of `array`, in C order, to ``strip[at:]``."""
    strip[at : at + array.size] = array.ravel()
