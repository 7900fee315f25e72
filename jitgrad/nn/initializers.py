"""Initial weights, drawn from a generator that the caller seeds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike


def _fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Inputs and outputs of one unit; leading axes of a convolution kernel are its window."""
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


def glorot_uniform(generator: np.random.Generator, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> np.ndarray:
    """Uniform with variance ``2 / (inputs + outputs)``: keeps the scale through linear layers both ways."""
    limit = math.sqrt(6.0 / sum(_fans(shape)))
    return generator.uniform(-limit, limit, shape).astype(dtype)


def he_normal(generator: np.random.Generator, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> np.ndarray:
    """Normal with variance ``2 / inputs``: makes up for the half of the signal that relu cuts off."""
    return generator.normal(0.0, math.sqrt(2.0 / _fans(shape)[0]), shape).astype(dtype)
