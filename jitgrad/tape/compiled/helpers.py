"""What compiled backward programs call."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from jitgrad import fastmath
from jitgrad.runtime.sums import accumulate

_compiled = njit(error_model="numpy", nogil=True)


@_compiled
def stacked_product(a, b):
    """The products of the matrices of two stacks of the same length."""
    out = np.empty(a.shape[:-1] + b.shape[-1:], a.dtype)
    left, right = a.reshape(-1, a.shape[-2], a.shape[-1]), b.reshape(-1, b.shape[-2], b.shape[-1])
    flat = out.reshape(-1, a.shape[-2], b.shape[-1])
    for k in range(left.shape[0]):
        np.dot(left[k], right[k], flat[k])
    return out


@_compiled
def _extents(shape, axis):
    """How many elements lie along an axis, after it and before it."""
    before, after = 1, 1
    for k in range(axis):
        before *= shape[k]
    for k in range(axis + 1, len(shape)):
        after *= shape[k]
    return before, shape[axis], after


@_compiled
def running_sum(a, axis):
    """``np.cumsum(a, axis)``."""
    before, n, after = _extents(a.shape, axis)
    out = a.copy()
    flat = out.reshape(before, n, after)
    for i in range(before):
        for j in range(1, n):
            for k in range(after):
                flat[i, j, k] += flat[i, j - 1, k]
    return out


@_compiled
def running_product(a, axis):
    """``np.cumprod(a, axis)``."""
    before, n, after = _extents(a.shape, axis)
    out = a.copy()
    flat = out.reshape(before, n, after)
    for i in range(before):
        for j in range(1, n):
            for k in range(after):
                flat[i, j, k] *= flat[i, j - 1, k]
    return out


@_compiled
def recurrence(c, x):
    """``r[k] = c[k] + x[k] r[k - 1]`` along the first axis."""
    out = c.copy()
    flat, factors = out.reshape(c.shape[0], c.size // c.shape[0]), x.reshape(c.shape[0], c.size // c.shape[0])
    for k in range(1, flat.shape[0]):
        for j in range(flat.shape[1]):
            flat[k, j] += factors[k, j] * flat[k - 1, j]
    return out


NAMES: dict[str, Any] = {
    "np": np, "math": math, "fastmath": fastmath, "accumulate": accumulate, "stacked_product": stacked_product,
    "running_sum": running_sum, "running_product": running_product, "recurrence": recurrence,
}  # fmt: skip
