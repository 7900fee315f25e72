"""Adjoints of lists, as nopython helpers."""

from __future__ import annotations

import numpy as np
from numba.typed import List

from jitgrad.runtime.pipeline import helper


@helper
def place(index, length):
    """Where ``insert(index, x)`` puts `x` into a list of this length, and where ``pop(index)`` takes it from."""
    return max(index + length, 0) if index < 0 else min(index, length)


@helper
def add_items(items, others):
    """Add to every item of a list the item of another one in its place."""
    for k in range(len(items)):
        items[k] += others[k]


@helper
def zero_numbers(items, zero):
    """A reflected list of `zero`, once for each number in `items`."""
    return [zero for _ in items]


@helper
def zero_arrays(items):
    """A reflected list of zero arrays like those in `items`."""
    return [np.zeros_like(item) for item in items]


@helper
def typed_zero_numbers(items, zero):
    """A typed list of `zero`, once for each number in `items`."""
    out = List()
    for _ in items:
        out.append(zero)
    return out


@helper
def typed_zero_arrays(items):
    """A typed list of zero arrays like those in `items`."""
    out = List()
    for item in items:
        out.append(np.zeros_like(item))
    return out
