"""Optimizers that scale each element by the squares of its past gradients: Adagrad, Adadelta, RMSprop, Ftrl."""

from __future__ import annotations

import math
from typing import Any, Unpack

from numba import njit

from jitgrad.optim.base import Optimizer, Options
from jitgrad.optim.checks import checked


@njit(cache=True, error_model="numpy")
def _adagrad(w, g, slots, numbers):
    rate, epsilon = numbers[0], numbers[1]
    total = slots[0]
    for i in range(w.size):
        total[i] += g[i] * g[i]
        w[i] -= rate * g[i] / math.sqrt(total[i] + epsilon)


@njit(cache=True, error_model="numpy")
def _adadelta(w, g, slots, numbers):
    rate, keep, epsilon = numbers[0], numbers[1], numbers[2]
    square, square_step = slots[0], slots[1]
    for i in range(w.size):
        square[i] += (g[i] * g[i] - square[i]) * keep
        step = g[i] * math.sqrt(square_step[i] + epsilon) / math.sqrt(square[i] + epsilon)
        square_step[i] += (step * step - square_step[i]) * keep
        w[i] -= rate * step


@njit(cache=True, error_model="numpy")
def _rmsprop(w, g, slots, numbers):
    rate, keep, momentum, epsilon, centered = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4] > 0
    moving = len(slots) > 1 + centered
    # A row that is not kept: another one stands for it, and is not touched.
    square, velocity, mean = slots[0], slots[1 if moving else 0], slots[-1]
    for i in range(w.size):
        square[i] += (g[i] * g[i] - square[i]) * keep
        variance = square[i]
        if centered:
            mean[i] += (g[i] - mean[i]) * keep
            variance -= mean[i] * mean[i]
        step = rate * g[i] / math.sqrt(variance + epsilon)
        if moving:
            velocity[i] = momentum * velocity[i] + step
            step = velocity[i]
        w[i] -= step


@njit(cache=True, error_model="numpy")
def _ftrl(w, g, slots, numbers):
    rate, power, l1 = numbers[0], numbers[1], numbers[2]
    double_l2, double_shrinkage = numbers[3] + numbers[4] / rate, numbers[5]
    total, linear = slots[0], slots[1]
    root = power == 0.5  # the default, and many times faster than a power
    for i in range(w.size):
        before = math.sqrt(total[i]) if root else total[i] ** power
        total[i] += g[i] * g[i]
        after = math.sqrt(total[i]) if root else total[i] ** power
        linear[i] += g[i] + double_shrinkage * w[i] - (after - before) / rate * w[i]
        # Where the linear term is within l1, the weight is exactly zero.
        w[i] = (min(max(linear[i], -l1), l1) - linear[i]) / (after / rate + double_l2)


class Adagrad(Optimizer):
    """Steps that shrink with the root of the sum of all squared gradients.

    Parameters
    ----------
    learning_rate : float, schedule or function
    initial_accumulator_value : float
        What the sums start at.
    epsilon : float
        Added to the sums.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import Adagrad
    >>> w = np.array([1.0, 2.0])
    >>> Adagrad(0.5).update([w], [np.array([1.0, -100.0])])
    >>> w.round(3)
    array([0.523, 2.5  ])
    """

    name = "adagrad"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        self.initial_accumulator_value = checked("initial_accumulator_value", initial_accumulator_value)
        self.epsilon = checked("epsilon", epsilon)
        super().__init__(learning_rate, {"accumulator": self.initial_accumulator_value}, **options)

    kernel = staticmethod(_adagrad)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return rate, self.epsilon


class Adadelta(Optimizer):
    """Steps as large as the running mean of past steps, in units of the running mean of the gradients.

    Parameters
    ----------
    learning_rate : float, schedule or function
        1 for the method of the paper.
    rho : float
        What the running means keep at each step.
    epsilon : float
        Added to the mean squares.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import Adadelta
    >>> w = np.array([1.0, 2.0])
    >>> Adadelta(1.0).update([w], [np.array([1.0, -100.0])])
    >>> w.round(5)
    array([0.99859, 2.00141])
    """

    name = "adadelta"
    aliases = {
        "accum": "accumulated_grad", "accum_update": "accumulated_delta_var",
        "accum_grad": "accumulated_grad", "accum_var": "accumulated_delta_var",
    }  # fmt: skip

    def __init__(
        self, learning_rate: Any = 0.001, rho: float = 0.95, epsilon: float = 1e-7, **options: Unpack[Options]
    ) -> None:
        self.rho = checked("rho", rho, 0.0, 1.0, closed=True)
        self.epsilon = checked("epsilon", epsilon)
        super().__init__(learning_rate, {"accumulated_grad": 0.0, "accumulated_delta_var": 0.0}, **options)

    kernel = staticmethod(_adadelta)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return rate, 1.0 - self.rho, self.epsilon


class RMSprop(Optimizer):
    """The gradient over the root of the running mean of its square.

    Parameters
    ----------
    learning_rate : float, schedule or function
    rho : float
        What the running mean keeps at each step.
    momentum : float
        What the velocity keeps at each step; 0 for none.
    epsilon : float
        Added to the mean square.
    centered : bool
        Divide by the root of the variance: the mean square less the square of the mean.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import RMSprop
    >>> w = np.array([1.0, 2.0])
    >>> RMSprop(0.1).update([w], [np.array([1.0, -100.0])])
    >>> w.round(3)
    array([0.684, 2.316])
    """

    name = "rmsprop"
    aliases = {"rms": "velocity", "mg": "average_gradient"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-7,
        centered: bool = False,
        **options: Unpack[Options],
    ) -> None:
        self.rho = checked("rho", rho, 0.0, 1.0, closed=True)
        self.momentum = checked("momentum", momentum, 0.0, 1.0, closed=True)
        self.epsilon = checked("epsilon", epsilon)
        self.centered = bool(centered)
        slots = {"velocity": True, "momentum": self.momentum, "average_gradient": self.centered}
        super().__init__(learning_rate, {name: 0.0 for name, kept in slots.items() if kept}, **options)

    kernel = staticmethod(_rmsprop)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return rate, 1.0 - self.rho, self.momentum, self.epsilon, self.centered


class Ftrl(Optimizer):
    """Follow the regularised leader: with an l1 penalty, small weights become exactly zero.

    Parameters
    ----------
    learning_rate : float, schedule or function
    learning_rate_power : float
        At most 0; how steps shrink with the sum of squared gradients. -0.5 is the root, 0 keeps them.
    initial_accumulator_value : float
        What the sums start at.
    l1_regularization_strength, l2_regularization_strength : float
        Penalties of the absolute values and of the squares of the weights.
    l2_shrinkage_regularization_strength : float
        Penalty of the squares that acts through the gradient only.
    beta : float
        A further l2 penalty of ``beta / (2 * learning_rate)``.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import Ftrl
    >>> w = np.array([0.0, 0.0])
    >>> Ftrl(0.5, l1_regularization_strength=0.1).update([w], [np.array([0.05, 1.0])])
    >>> w.round(3)
    array([ 0.   , -0.429])
    """

    name = "ftrl"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        **options: Unpack[Options],
    ) -> None:
        self.learning_rate_power = checked("learning_rate_power", learning_rate_power, -math.inf, 0.0, closed=True)
        self.initial_accumulator_value = checked("initial_accumulator_value", initial_accumulator_value)
        self.l1_regularization_strength = checked("l1_regularization_strength", l1_regularization_strength)
        self.l2_regularization_strength = checked("l2_regularization_strength", l2_regularization_strength)
        self.l2_shrinkage_regularization_strength = checked(
            "l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength
        )
        self.beta = checked("beta", beta)
        super().__init__(learning_rate, {"accumulator": self.initial_accumulator_value, "linear": 0.0}, **options)

    kernel = staticmethod(_ftrl)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return (
            rate,
            -self.learning_rate_power,
            self.l1_regularization_strength,
            2.0 * self.l2_regularization_strength,
            self.beta,
            2.0 * self.l2_shrinkage_regularization_strength,
        )
