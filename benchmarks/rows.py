"""Functions that consist of one derivative rule, in a loop or on whole arrays, and their arguments.

A few of each kind of rule: scalar rows whose partial needs the result, the argument or both; reductions, scans,
products and a factorization.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

SIZE, EDGE = 50_000, 150


def _random() -> np.random.Generator:
    return np.random.default_rng(3)


@njit
def exp(x):
    s = 0.0
    for v in x:
        s += math.exp(v)
    return s


@njit
def tanh(x):
    s = 0.0
    for v in x:
        s += math.tanh(v)
    return s


@njit
def sqrt(x):
    s = 0.0
    for v in x:
        s += math.sqrt(v)
    return s


@njit
def power(x, y):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** y[i]
    return s


@njit
def hypot(x, y):
    s = 0.0
    for i in range(x.size):
        s += math.hypot(x[i], y[i])
    return s


@njit
def weighted_sum(x, y):
    return np.sum(x * y)


@njit
def cumsum(x):
    y = np.cumsum(x)
    return y[x.size // 2] * y[x.size - 1]


@njit
def matmul(a, b):
    return (a @ b)[0, 0]


@njit
def solve(a, b):
    return np.linalg.solve(a, b)[0]


def _one() -> tuple[np.ndarray]:
    return (_random().uniform(0.5, 2.0, SIZE),)


def _two() -> tuple[np.ndarray, np.ndarray]:
    return (*_one(), _random().uniform(0.5, 2.0, SIZE))


def _matrices() -> tuple[np.ndarray, np.ndarray]:
    return _random().normal(size=(EDGE, EDGE)), _random().normal(size=(EDGE, EDGE))


def _system() -> tuple[np.ndarray, np.ndarray]:
    return _random().normal(size=(EDGE, EDGE)) + EDGE * np.eye(EDGE), _random().normal(size=EDGE)


ROWS: dict[str, Callable[[], tuple[Any, tuple]]] = {
    "exp": lambda: (exp, _one()),
    "tanh": lambda: (tanh, _one()),
    "sqrt": lambda: (sqrt, _one()),
    "power": lambda: (power, _two()),
    "hypot": lambda: (hypot, _two()),
    "sum": lambda: (weighted_sum, _two()),
    "cumsum": lambda: (cumsum, _one()),
    "matmul": lambda: (matmul, _matrices()),
    "solve": lambda: (solve, _system()),
}
"""For each name a function, and its arguments: arrays to differentiate."""
