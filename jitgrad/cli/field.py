"""The gradient field of a function of x and y, and the ways that optimizers take down it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jitgrad.cli.expression import Function, ValueAndGradient
from jitgrad.optim import Optimizer

FINE = 160
LOST = 10.0
"""A path ends so many widths of the picture away from its start."""


@dataclass
class Field:
    """Values on a fine grid, gradients on a coarse one; NaN where they do not exist.

    Attributes
    ----------
    xs, ys, values : arrays
        Of the fine grid: ``values[row, column]`` belongs to ``xs[column], ys[row]``.
    x, y, dx, dy : arrays
        Of the coarse grid: where, and the gradient there.
    """

    xs: np.ndarray
    ys: np.ndarray
    values: np.ndarray
    x: np.ndarray
    y: np.ndarray
    dx: np.ndarray
    dy: np.ndarray

    @property
    def magnitude(self) -> np.ndarray:
        """The length of the gradient."""
        return np.hypot(self.dx, self.dy)


@dataclass
class Descent:
    """The way of one optimizer.

    Attributes
    ----------
    points : array of shape (steps + 1, 2)
    values : array of shape (steps + 1,)
    """

    optimizer: str
    rate: float
    points: np.ndarray
    values: np.ndarray


def sample(
    function: Function,
    gradient: ValueAndGradient,
    xlim: tuple[float, float],
    ylim: tuple[float, float],
    grid: int,
) -> Field:
    """The field on a rectangle, with `grid` x `grid` gradients."""
    xs, ys = np.linspace(*xlim, FINE), np.linspace(*ylim, FINE)
    # Python floats: Numba looks at the type of each argument, and knows these at once.
    values = np.array([[_value(function, x, y) for x in xs.tolist()] for y in ys.tolist()])
    # Arrows in the middle of cells, so that none starts outside.
    middles = (np.arange(grid) + 0.5) / grid
    x, y = np.meshgrid(xlim[0] + middles * (xlim[1] - xlim[0]), ylim[0] + middles * (ylim[1] - ylim[0]))
    points = zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    gradients = np.array([_gradient(gradient, *point)[1] for point in points])
    return Field(xs, ys, values, x, y, *gradients.T.reshape(2, grid, grid))


def descend(
    gradient: ValueAndGradient,
    name: str,
    optimizer: Optimizer,
    start: Sequence[float],
    steps: int,
    reach: float,
) -> Descent:
    """Some steps of an optimizer, fewer if the gradient ceases to exist or the path leaves for good.

    Parameters
    ----------
    reach : float
        The path ends at a point this far from its start.
    """
    rate = optimizer.learning_rate
    point = np.array(start, np.float64)
    value, slope = _gradient(gradient, *point)
    points, values = [point.copy()], [value]
    for _ in range(steps):
        if not np.isfinite(slope).all() or np.abs(point - start).max() > reach:
            break
        optimizer.update([point], [np.array(slope)])
        value, slope = _gradient(gradient, *point)
        points.append(point.copy())
        values.append(value)
    return Descent(name, rate, np.array(points), np.array(values))


def _value(function: Function, x: float, y: float) -> float:
    # A function of one's own may raise anything where it has no value.
    try:
        value = float(function(x, y))
    except Exception:
        return np.nan
    return value if np.isfinite(value) else np.nan


def _gradient(gradient: ValueAndGradient, x: float, y: float) -> tuple[float, tuple[float, float]]:
    """Value and gradient, NaN if any of them does not exist: log(x) has slopes where it has no values."""
    try:
        value, (dx, dy) = gradient(x, y)
    except Exception:
        return np.nan, (np.nan, np.nan)
    if not np.isfinite([value, dx, dy]).all():
        return np.nan, (np.nan, np.nan)
    return value, (dx, dy)
