"""Clipping of gradients, as Keras defines it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from jitgrad.errors import ArgumentError
from jitgrad.optim.checks import positive


@dataclass(frozen=True)
class Clipping:
    """One way to clip, or none.

    Parameters
    ----------
    clipnorm : float, optional
        What the norm of each gradient is scaled down to.
    clipvalue : float, optional
        What the absolute value of each element is cut to.
    global_clipnorm : float, optional
        What the norm of all gradients together is scaled down to.
    """

    clipnorm: float | None = None
    clipvalue: float | None = None
    global_clipnorm: float | None = None

    def __post_init__(self) -> None:
        given = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        if len(given) > 1:
            raise ArgumentError(f"{' and '.join(given)} exclude each other; pass one of them")
        for name in given:
            positive(name, getattr(self, name))

    def apply(self, grads: Sequence[np.ndarray]) -> None:
        """Clip `grads` in place."""
        if self.clipvalue is not None:
            for grad in grads:
                np.clip(grad, -self.clipvalue, self.clipvalue, out=grad)
        elif self.clipnorm is not None:
            for grad in grads:
                grad *= _shrinkage(_norm([grad]), self.clipnorm)
        elif self.global_clipnorm is not None:
            norm = _norm(grads)
            # Where one gradient is infinite, all become NaN instead of partly zero: the failure is to be seen.
            scale = _shrinkage(norm, self.global_clipnorm) if math.isfinite(norm) else math.nan
            for grad in grads:
                grad *= scale


def _norm(grads: Sequence[np.ndarray]) -> float:
    # Squares of large float32 numbers overflow in float32.
    return math.sqrt(sum(float(np.square(grad, dtype=np.float64).sum()) for grad in grads))


def _shrinkage(norm: float, limit: float) -> float:
    # In this order a NaN stays a NaN.
    return limit / max(norm, limit)
