"""Errors of kernels against mpmath, in units in the last place of the exact result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import mpmath
import numpy as np
from numba import njit

MOST = 4.0  # what every kernel promises
FORMATS = (np.float64, np.float32)


def over_array(function: Any) -> Any:
    """An njit function that fills an array with values of `function`: the loop that is to vectorise."""

    @njit(error_model="numpy")
    def fill(x, out):
        for i in range(x.size):
            out[i] = function(x[i])

    return fill


def values(fill: Any, x: np.ndarray) -> np.ndarray:
    out = np.empty_like(x)
    fill(x, out)
    return out


def error(got: Any, want: mpmath.mpf, real: type) -> float:
    """How far `got` is from the exact `want`, in units in its last place; infinite for a wrong infinity or nan."""
    info = np.finfo(real)
    if math.isnan(got) or (want > 0) != (got > 0) and got != 0 and want != 0:
        return math.inf
    if math.isinf(got):  # right where the exact result is within the promise of the largest number or beyond
        most = mpmath.mpf(float(info.max)) * (1 - MOST * mpmath.mpf(2) ** -info.nmant)
        return 0.0 if abs(want) >= most else math.inf
    if want == 0:
        return 0.0 if got == 0 else math.inf
    exponent = max(mpmath.frexp(abs(want))[1] - 1, int(info.minexp))
    return float(abs(mpmath.mpf(float(got)) - want) / mpmath.mpf(2) ** (exponent - info.nmant))


def worst(fill: Any, exact: Callable[[mpmath.mpf], mpmath.mpf], x: np.ndarray) -> tuple[float, Any]:
    """The largest error over `x`, and where it is."""
    with mpmath.workprec(160):
        errors = [error(y, exact(mpmath.mpf(float(v))), x.dtype.type) for v, y in zip(x, values(fill, x))]
    k = int(np.argmax(errors))
    return errors[k], x[k]


def everywhere(rng: np.random.Generator, real: type, count: int) -> np.ndarray:
    """Numbers of every exponent and sign, a part of them denormal."""
    info = np.finfo(real)
    integer = np.int64 if real is np.float64 else np.int32
    bits = rng.integers(np.iinfo(integer).min, np.iinfo(integer).max, count, dtype=integer).view(real)
    denormal = (rng.uniform(-1, 1, count // 4) * float(info.tiny)).astype(real)
    small = np.array([info.smallest_subnormal, info.tiny, info.eps, info.max], real)
    return np.concatenate((bits[np.isfinite(bits)], denormal, small, -small))


def uniform(rng: np.random.Generator, real: type, low: float, high: float, count: int) -> np.ndarray:
    return rng.uniform(low, high, count).astype(real)


def around(points: Iterable[float], real: type) -> np.ndarray:
    """The numbers next to each of these, on both sides."""
    out = []
    for point in points:
        below = above = real(point)
        out.append(below)
        for _ in range(3):
            below, above = np.nextafter(below, real(-np.inf)), np.nextafter(above, real(np.inf))
            out += [below, above]
    return np.array(out, real)


def same_bits(x: np.ndarray, y: np.ndarray) -> bool:
    return bool(np.all((x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)))
