"""Gradient descent, plain, with momentum, or with Nesterov's momentum."""

from __future__ import annotations

from numba import njit

from jitgrad.errors import ArgumentError
from jitgrad.optim.base import Optimizer, checked


@njit(cache=True)
def _plain(params, grads, slots, numbers):
    rate = numbers[0]
    for k in range(len(params)):
        w, g = params[k], grads[k]
        for i in range(w.size):
            w[i] -= rate * g[i]


@njit(cache=True)
def _momentum(params, grads, slots, numbers):
    rate, momentum = numbers[0], numbers[1]
    for k in range(len(params)):
        w, g, velocity = params[k], grads[k], slots[k][0]
        for i in range(w.size):
            velocity[i] = momentum * velocity[i] - rate * g[i]
            w[i] += velocity[i]


@njit(cache=True)
def _nesterov(params, grads, slots, numbers):
    rate, momentum = numbers[0], numbers[1]
    for k in range(len(params)):
        w, g, velocity = params[k], grads[k], slots[k][0]
        for i in range(w.size):
            velocity[i] = momentum * velocity[i] - rate * g[i]
            # The step that the new velocity would make next, seen from here.
            w[i] += momentum * velocity[i] - rate * g[i]


class SGD(Optimizer):
    """Gradient descent.

    Parameters
    ----------
    learning_rate : float
    momentum : float
        What the velocity keeps at each step; 0 for none.
    nesterov : bool
        Step from where the velocity leads. Needs a momentum.
    """

    def __init__(self, learning_rate: float = 0.01, momentum: float = 0.0, nesterov: bool = False) -> None:
        super().__init__(learning_rate)
        self.momentum = checked("momentum", momentum, 0.0, 1.0)
        self.nesterov = bool(nesterov)
        if self.nesterov and not self.momentum:
            raise ArgumentError("nesterov needs a momentum above 0")
        self.slot_names = ("velocity",) if self.momentum else ()
        self.kernel = _nesterov if self.nesterov else _momentum if self.momentum else _plain

    def step_numbers(self) -> tuple[float, ...]:
        return self.learning_rate, self.momentum
