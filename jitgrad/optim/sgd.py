"""Gradient descent, plain, with momentum, or with Nesterov's momentum."""

from __future__ import annotations

from typing import Any, Unpack

from numba import njit

from jitgrad.optim.base import Optimizer, Options
from jitgrad.optim.checks import checked


@njit(cache=True)
def plain(w, g, slots, numbers):
    rate = numbers[0]
    for i in range(w.size):
        w[i] -= rate * g[i]


@njit(cache=True)
def _momentum(w, g, slots, numbers):
    rate, momentum = numbers[0], numbers[1]
    velocity = slots[0]
    for i in range(w.size):
        velocity[i] = momentum * velocity[i] - rate * g[i]
        w[i] += velocity[i]


@njit(cache=True)
def _nesterov(w, g, slots, numbers):
    rate, momentum = numbers[0], numbers[1]
    velocity = slots[0]
    for i in range(w.size):
        velocity[i] = momentum * velocity[i] - rate * g[i]
        # The step that the new velocity would make next, seen from here.
        w[i] += momentum * velocity[i] - rate * g[i]


class SGD(Optimizer):
    """Gradient descent.

    Parameters
    ----------
    learning_rate : float, schedule or function
    momentum : float
        What the velocity keeps at each step; 0 for none.
    nesterov : bool
        Step from where the velocity leads. Without a momentum it changes nothing.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import SGD
    >>> w = np.array([1.0, 2.0])
    >>> SGD(0.5).update([w], [np.array([1.0, -1.0])])
    >>> w
    array([0.5, 2.5])
    """

    name = "SGD"

    def __init__(
        self,
        learning_rate: Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        **options: Unpack[Options],
    ) -> None:
        self.momentum = checked("momentum", momentum, 0.0, 1.0, closed=True)
        self.nesterov = bool(nesterov)
        self.kernel = plain if not self.momentum else _nesterov if self.nesterov else _momentum
        super().__init__(learning_rate, {"momentum": 0.0} if self.momentum else {}, **options)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return rate, self.momentum
