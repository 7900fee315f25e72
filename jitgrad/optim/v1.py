"""Optimizers with the interface of ``tf.compat.v1.train``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numba import njit

from jitgrad.errors import ArgumentError
from jitgrad.optim.base import Optimizer
from jitgrad.optim.checks import checked
from jitgrad.optim.parameters import Parameter
from jitgrad.optim.sgd import plain
from jitgrad.tape import Variable


@njit(cache=True)
def _momentum(w, g, slots, numbers):
    rate, momentum = numbers[0], numbers[1]
    velocity = slots[0]
    for i in range(w.size):
        velocity[i] = momentum * velocity[i] + g[i]
        w[i] -= rate * velocity[i]


@njit(cache=True)
def _nesterov(w, g, slots, numbers):
    rate, momentum = numbers[0], numbers[1]
    velocity = slots[0]
    for i in range(w.size):
        velocity[i] = momentum * velocity[i] + g[i]
        w[i] -= rate * (g[i] + momentum * velocity[i])


class _V1(Optimizer):
    """The loss is always a function, variables without a gradient are passed over in silence, steps can be counted."""

    def __init__(self, learning_rate: Any, slots: Mapping[str, float], use_locking: bool, name: str) -> None:
        self.use_locking = use_locking
        super().__init__(learning_rate, slots, name=name)

    def minimize(self, loss: Any, var_list: Any = None, tape: Any = None, *, global_step: Any = None) -> int:
        """Make one step that lowers `loss`.

        Parameters
        ----------
        loss : function without arguments
        var_list : sequence of Variable, optional
            By default the trainable variables that the loss uses.
        tape : GradientTape, optional
            Where the loss is recorded.
        global_step : Variable, optional
            Counts the steps: 1 is added to it.
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape), global_step)

    def compute_gradients(self, loss: Any, var_list: Any = None, tape: Any = None) -> list[tuple[Any, Any]]:
        """The gradients of `loss`, paired with their variables; takes what `minimize` takes."""
        if not callable(loss):
            raise ArgumentError(
                f"loss of {type(self).__name__} must be callable (a function without arguments), "
                f"not {type(loss).__name__}; write lambda: ... around its computation"
            )
        return super().compute_gradients(loss, var_list, tape)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Parameter]], global_step: Any = None) -> int:
        """Make one step along gradients that are paired with their variables.

        Parameters
        ----------
        grads_and_vars : iterable of (gradient, Variable)
            Pairs whose gradient is None are passed over.
        global_step : Variable, optional
            1 is added to it.

        Raises
        ------
        NoGradientError
            If all gradients are None.
        """
        if global_step is not None and not isinstance(global_step, Variable):
            raise ArgumentError(f"global_step must be a jitgrad.Variable, not {type(global_step).__name__}")
        count = super().apply_gradients([pair for pair in grads_and_vars if pair[0] is not None])
        if global_step is not None:
            global_step.assign_add(1)
        return count


class GradientDescentOptimizer(_V1):
    """Plain gradient descent.

    Parameters
    ----------
    learning_rate : float, schedule or function
    use_locking : bool
        Accepted for TensorFlow's sake.
    name : str

    Examples
    --------
    >>> import jitgrad
    >>> import numpy as np
    >>> from jitgrad.optim import GradientDescentOptimizer
    >>> w = jitgrad.Variable([1.0, 2.0])
    >>> GradientDescentOptimizer(0.25).minimize(lambda: np.sum(w * w), var_list=[w])
    1
    >>> w.numpy()
    array([0.5, 1. ])
    """

    kernel = staticmethod(plain)

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(learning_rate, {}, use_locking, name)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return (rate,)


class MomentumOptimizer(_V1):
    """Gradient descent with momentum; unlike that of `SGD`, its velocity does not contain the learning rate.

    Parameters
    ----------
    learning_rate : float, schedule or function
    momentum : float
        What the velocity keeps at each step.
    use_locking : bool
        Accepted for TensorFlow's sake.
    name : str
    use_nesterov : bool
        Step from where the velocity leads.

    Examples
    --------
    >>> import jitgrad
    >>> import numpy as np
    >>> from jitgrad.optim import MomentumOptimizer
    >>> w, optimizer = jitgrad.Variable([1.0, 2.0]), MomentumOptimizer(0.25, 0.5)
    >>> for _ in range(2):
    ...     optimizer.apply_gradients([(np.ones(2), w)])
    1
    2
    >>> w.numpy(), optimizer.get_slot(w, "momentum")
    (array([0.375, 1.375]), array([1.5, 1.5]))
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: float,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        self.momentum = checked("momentum", momentum)
        self.kernel = _nesterov if use_nesterov else _momentum
        super().__init__(learning_rate, {"momentum": 0.0}, use_locking, name)

    def numbers(self, rate: float, step: int) -> tuple[float, ...]:
        return rate, self.momentum
