"""Derivatives by differences, for tests: accurate to about ten digits, and honest about where they fail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def directional(function: Callable[[float], np.ndarray], step: float = 2e-3) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of ``function(t)`` at ``t = 0`` and an estimate of its error.

    Central differences at four step sizes, each half the one before, extrapolated to zero (Richardson).
    The error is how much the last extrapolation still moved: large at a kink or a jump.
    """
    table: list[list[np.ndarray]] = []
    for level in range(4):
        h = step / 2**level
        row = [(np.asarray(function(h)) - np.asarray(function(-h))) / (2 * h)]
        for k in range(1, level + 1):
            row.append(row[k - 1] + (row[k - 1] - table[-1][k - 1]) / (4**k - 1))
        table.append(row)
    best = table[-1][-1]
    return best, np.abs(best - table[-2][-1])


def gradient(function: Callable[[np.ndarray], float], x: np.ndarray, step: float = 2e-3) -> np.ndarray:
    """The gradient of a scalar function of one array; the Jacobian of an array function, outputs first."""
    x = np.array(x, float)
    columns = []
    for k in range(x.size):
        unit = np.zeros(x.size)
        unit[k] = 1.0
        unit = unit.reshape(x.shape)
        columns.append(directional(lambda t, unit=unit: function(x + t * unit), step)[0])
    if not columns:
        return np.zeros(np.shape(function(x)) + x.shape)
    out = np.stack(columns, axis=-1)
    return out.reshape(out.shape[:-1] + x.shape)
