"""Programs that raise, for `test_exceptions`; in a module of their own since pytest rewrites `assert` in tests."""

from __future__ import annotations

import math

import numpy as np
from numba import njit


class Trouble(Exception):
    pass


@njit
def raises_first(x, limit):
    if x[0] > limit:
        raise ValueError("before anything")
    return x[0] * x[1]


@njit
def raises_in_a_loop(x, limit):
    a = x.copy()
    s = 0.0
    for k in range(50):
        b = a * 0.9
        for i in range(1, a.size):
            a[i] += math.sin(b[i - 1]) * b[i]
        s += a[-1]
        if k * 1.0 >= limit:
            raise ValueError("in the loop", k)
    return s


@njit
def raises_in_a_while_loop(x, limit):
    s = x[0]
    k = 0
    while k < 30:
        row = np.empty(x.size)
        for i in range(x.size):
            row[i] = x[i] * s
        s = math.tanh(np.sum(row)) + s
        k += 1
        if k * 1.0 >= limit:
            raise Trouble("in the while loop")
    return s


@njit
def fails_inside(v, limit):
    w = v * v
    if w.size * 1.0 > limit:
        raise ValueError("in the helper")
    return w


@njit
def raises_in_a_helper(x, limit):
    y = np.ones(x.size)
    for i in range(1, x.size + 1):
        y[:i] += fails_inside(x[:i], limit)
    return np.sum(y * x)


@njit
def asserts(x, limit):
    y = x * x
    assert limit > 3.0, "too small"
    return np.sum(y)


@njit
def fails_recursively(x, depth, limit):
    y = x * 0.5
    if depth * 1.0 >= limit:
        raise ValueError("deep down")
    if depth > 8:
        return y[0]
    return fails_recursively(y, depth + 1, limit) + y[1]


@njit
def raises_in_recursion(x, limit):
    return fails_recursively(x, 0, limit) * x[0]
