"""Adjoints of lists, as nopython helpers."""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.typed import List


@njit(error_model="numpy")
def zeros(items):
    """A reflected list of zeros like `items`: numbers or arrays."""
    return [np.zeros_like(item) if np.ndim(item) else item * 0 for item in items]


@njit(error_model="numpy")
def typed_zeros(items):
    """A typed list of zeros like `items`."""
    out = List()
    for item in items:
        out.append(np.zeros_like(item))
    return out
