"""Adam: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

import math

from numba import njit

from jitgrad.optim.base import Optimizer, checked


@njit(cache=True, error_model="numpy")
def _adam(params, grads, slots, numbers):
    rate, keep1, keep2, epsilon = numbers[0], numbers[1], numbers[2], numbers[3]
    for k in range(len(params)):
        w, g, mean, square = params[k], grads[k], slots[k][0], slots[k][1]
        for i in range(w.size):
            mean[i] += (g[i] - mean[i]) * keep1
            square[i] += (g[i] * g[i] - square[i]) * keep2
            w[i] -= mean[i] * rate / (math.sqrt(square[i]) + epsilon)


class Adam(Optimizer):
    """Adam, as Keras defines it.

    Parameters
    ----------
    learning_rate : float
    beta_1, beta_2 : float
        What the running means of the gradient and of its square keep at each step.
    epsilon : float
        Added to the root of the mean square (before the bias correction, as in Keras).
    """

    slot_names = ("momentum", "velocity")
    kernel = staticmethod(_adam)

    def __init__(
        self, learning_rate: float = 0.001, beta_1: float = 0.9, beta_2: float = 0.999, epsilon: float = 1e-7
    ) -> None:
        super().__init__(learning_rate)
        self.beta_1 = checked("beta_1", beta_1, 0.0, 1.0)
        self.beta_2 = checked("beta_2", beta_2, 0.0, 1.0)
        self.epsilon = checked("epsilon", epsilon, 0.0, math.inf)

    def step_numbers(self) -> tuple[float, ...]:
        # Both means start at zero; the correction makes up for it.
        correction = math.sqrt(1.0 - self.beta_2**self.iterations) / (1.0 - self.beta_1**self.iterations)
        return self.learning_rate * correction, 1.0 - self.beta_1, 1.0 - self.beta_2, self.epsilon
