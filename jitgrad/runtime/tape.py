"""The tape's memory: strips are arrays that grow by doubling.

Ordinary nopython code on ordinary arrays, so that a derivative can itself be differentiated.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from jitgrad.runtime.pipeline import helper


@helper
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


@helper
def store(strip, at, array):
    """Copy the elements of `array`, in C order, to ``strip[at:]``."""
    strip[at : at + array.size] = array.ravel()


@functools.cache
def put(ndim: int) -> Any:
    """``put(strip, k, array)``: ``strip[k] = array`` for an array of `ndim` axes, element by element."""
    index = [f"k{d}" for d in range(ndim)]
    lines = ["def put(strip, k, array):"]
    for d in range(ndim):
        lines.append("    " * (d + 1) + f"for k{d} in range(array.shape[{d}]):")
    lines.append("    " * (ndim + 1) + f"strip[{', '.join(['k', *index])}] = array[{', '.join(index) or '()'}]")
    namespace: dict[str, Any] = {}
    exec("\n".join(lines), namespace)
    return helper(namespace["put"])
