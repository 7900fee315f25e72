"""Adam and its relatives: steps scaled by running means of the gradient and of its size."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np
from numba import njit

from jitgrad.errors import ArgumentError
from jitgrad.optim.base import CommonOptions, Optimizer, Options
from jitgrad.optim.checks import checked


@njit(cache=True, error_model="numpy")
def _adam(w, g, slots, numbers):
    rate, keep1, keep2, epsilon = numbers[0], numbers[1], numbers[2], numbers[3]
    mean, square = slots[0], slots[1]
    for i in range(w.size):
        mean[i] += (g[i] - mean[i]) * keep1
        square[i] += (g[i] * g[i] - square[i]) * keep2
        w[i] -= mean[i] * rate / (math.sqrt(square[i]) + epsilon)


@njit(cache=True, error_model="numpy")
def _amsgrad(w, g, slots, numbers):
    rate, keep1, keep2, epsilon = numbers[0], numbers[1], numbers[2], numbers[3]
    mean, square, largest = slots[0], slots[1], slots[2]
    for i in range(w.size):
        mean[i] += (g[i] - mean[i]) * keep1
        square[i] += (g[i] * g[i] - square[i]) * keep2
        largest[i] = np.maximum(largest[i], square[i])
        w[i] -= mean[i] * rate / (math.sqrt(largest[i]) + epsilon)


@njit(cache=True, error_model="numpy")
def _adamax(w, g, slots, numbers):
    rate, keep1, beta2, epsilon = numbers[0], numbers[1], numbers[2], numbers[3]
    mean, largest = slots[0], slots[1]
    for i in range(w.size):
        mean[i] += (g[i] - mean[i]) * keep1
        largest[i] = np.maximum(beta2 * largest[i], abs(g[i]))
        w[i] -= mean[i] * rate / (largest[i] + epsilon)


@njit(cache=True, error_model="numpy")
def _nadam(w, g, slots, numbers):
    by_mean, by_grad, keep1, keep2 = numbers[0], numbers[1], numbers[2], numbers[3]
    correction, epsilon = numbers[4], numbers[5]
    mean, square = slots[0], slots[1]
    for i in range(w.size):
        mean[i] += (g[i] - mean[i]) * keep1
        square[i] += (g[i] * g[i] - square[i]) * keep2
        w[i] -= (by_mean * mean[i] + by_grad * g[i]) / (math.sqrt(square[i] * correction) + epsilon)


@njit(cache=True)
def _lion(w, g, slots, numbers):
    rate, keep1, keep2 = numbers[0], numbers[1], numbers[2]
    mean = slots[0]
    for i in range(w.size):
        w[i] -= rate * np.sign(mean[i] + (g[i] - mean[i]) * keep1)
        mean[i] += (g[i] - mean[i]) * keep2


class _TwoMeans(Optimizer):
    """What the family shares: how long two running means remember, and the number that avoids divisions by zero."""

    aliases = {"m": "momentum", "v": "velocity", "vhat": "velocity_hat"}

    def __init__(
        self, learning_rate: Any, beta_1: float, beta_2: float, epsilon: float, slots: list[str], options: Options
    ) -> None:
        self.beta_1 = checked("beta_1", beta_1, 0.0, 1.0)
        self.beta_2 = checked("beta_2", beta_2, 0.0, 1.0)
        self.epsilon = checked("epsilon", epsilon)
        super().__init__(learning_rate, dict.fromkeys(slots, 0.0), **options)


class Adam(_TwoMeans):
    """Adam: the mean of the gradient over the root of the mean of its square.

    Parameters
    ----------
    learning_rate : float, schedule or function
    beta_1, beta_2 : float
        What the running means of the gradient and of its square keep at each step.
    epsilon : float
        Added to the root of the mean square (before the bias correction, as in Keras).
    amsgrad : bool
        Divide by the largest mean square so far.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import Adam
    >>> w = np.array([1.0, 2.0])
    >>> Adam(0.5).update([w], [np.array([1e-3, -1e3])])
    >>> w.round(3)
    array([0.502, 2.5  ])
    """

    name = "adam"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[Options],
    ) -> None:
        self.amsgrad = bool(amsgrad)
        self.kernel = _amsgrad if amsgrad else _adam
        slots = ["momentum", "velocity", "velocity_hat"] if amsgrad else ["momentum", "velocity"]
        super().__init__(learning_rate, beta_1, beta_2, epsilon, slots, options)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        # Both means start at zero; the correction makes up for it.
        correction = math.sqrt(1.0 - self.beta_2**step) / (1.0 - self.beta_1**step)
        return rate * correction, 1.0 - self.beta_1, 1.0 - self.beta_2, self.epsilon


class AdamW(Adam):
    """Adam with decoupled weight decay.

    Parameters
    ----------
    learning_rate : float, schedule or function
    weight_decay : float
        Each step first takes this share, times the learning rate, off the parameters.
    beta_1, beta_2, epsilon, amsgrad
        Those of `Adam`.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import AdamW
    >>> w = np.array([1.0, 2.0])
    >>> AdamW(0.5, weight_decay=0.5).update([w], [np.zeros(2)])
    >>> w
    array([0.75, 1.5 ])
    """

    name = "adamw"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        amsgrad: bool = False,
        **options: Unpack[CommonOptions],
    ) -> None:
        if weight_decay is None:
            raise ArgumentError("weight_decay of AdamW must be a number, not None; use Adam for none")
        super().__init__(learning_rate, beta_1, beta_2, epsilon, amsgrad, weight_decay=weight_decay, **options)


class Adamax(_TwoMeans):
    """Adam with the largest gradient so far, slowly forgotten, in place of the mean square.

    Parameters
    ----------
    learning_rate : float, schedule or function
    beta_1, beta_2 : float
        What the running mean of the gradient and its largest size keep at each step.
    epsilon : float
        Added to the largest size.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import Adamax
    >>> w = np.array([1.0, 2.0])
    >>> Adamax(0.5).update([w], [np.array([1e-3, -1e3])])
    >>> w.round(3)
    array([0.5, 2.5])
    """

    name = "adamax"
    aliases = {"m": "momentum", "v": "norm"}

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, ["momentum", "norm"], options)

    kernel = staticmethod(_adamax)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return rate / (1.0 - self.beta_1**step), 1.0 - self.beta_1, self.beta_2, self.epsilon


class Nadam(_TwoMeans):
    """Adam with Nesterov's momentum, whose strength grows to `beta_1` over the steps.

    Parameters
    ----------
    learning_rate : float, schedule or function
    beta_1, beta_2 : float
        What the running means of the gradient and of its square keep at each step.
    epsilon : float
        Added to the root of the mean square.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import Nadam
    >>> w = np.array([1.0, 2.0])
    >>> Nadam(0.5).update([w], [np.array([1e-3, -1e3])])
    >>> w.round(3)
    array([0.469, 2.531])
    """

    name = "nadam"

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-7,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(learning_rate, beta_1, beta_2, epsilon, ["momentum", "velocity"], options)
        # The product of all momentums so far takes the place of a power of beta_1.
        self.scalars["u_product"] = 1.0

    kernel = staticmethod(_nadam)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        now, following = self._strength(step), self._strength(step + 1)
        product = self.scalars["u_product"] = self.scalars["u_product"] * now
        by_mean = rate * following / (1.0 - product * following)
        by_grad = rate * (1.0 - now) / (1.0 - product)
        correction = 1.0 / (1.0 - self.beta_2**step)
        return by_mean, by_grad, 1.0 - self.beta_1, 1.0 - self.beta_2, correction, self.epsilon

    def _strength(self, step: int) -> float:
        return self.beta_1 * (1.0 - 0.5 * 0.96**step)


class Lion(Optimizer):
    """The sign of a mixture of the gradient and its running mean.

    Parameters
    ----------
    learning_rate : float, schedule or function
    beta_1 : float
        The share of the running mean in what is stepped along.
    beta_2 : float
        What the running mean keeps at each step.
    **options
        Those of `Optimizer`.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad.optim import Lion
    >>> w = np.array([1.0, 2.0])
    >>> Lion(0.5).update([w], [np.array([1e-3, -1e3])])
    >>> w
    array([0.5, 2.5])
    """

    name = "lion"
    aliases = {"m": "momentum"}

    def __init__(
        self, learning_rate: Any = 0.001, beta_1: float = 0.9, beta_2: float = 0.99, **options: Unpack[Options]
    ) -> None:
        self.beta_1 = checked("beta_1", beta_1, 0.0, 1.0, closed=True)
        self.beta_2 = checked("beta_2", beta_2, 0.0, 1.0, closed=True)
        super().__init__(learning_rate, {"momentum": 0.0}, **options)

    kernel = staticmethod(_lion)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return rate, 1.0 - self.beta_1, 1.0 - self.beta_2
