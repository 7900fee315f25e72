"""What all optimizers share: state, its saving and restoring, and the call of the compiled update.

An optimizer is a subclass with three parts: the names of its slots (arrays it keeps for each parameter), the numbers
of one step (`step_numbers`), and a nopython `kernel` that updates all parameters in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError, DataError

FLOATS = (np.float32, np.float64)


class Optimizer:
    """Base class.

    Parameters
    ----------
    learning_rate : float

    Attributes
    ----------
    iterations : int
        The number of updates made.
    slots : list of ndarray
        For each parameter an array of shape (number of slots, size of the parameter), zero at the start.
    """

    slot_names: tuple[str, ...] = ()
    """What a row of `slots` is; read after ``__init__``, so it may depend on options."""

    kernel: Any = None
    """``kernel(params, grads, slots, numbers)``: one-dimensional arrays, one tuple of them per argument."""

    def __init__(self, learning_rate: float) -> None:
        self.learning_rate = checked("learning_rate", learning_rate, 0.0, np.inf)
        self.iterations = 0
        self.slots: list[np.ndarray] = []

    def step_numbers(self) -> tuple[float, ...]:
        """The numbers that the kernel needs for update number ``self.iterations`` (the first is 1)."""
        raise NotImplementedError

    def build(self, params: Sequence[np.ndarray]) -> None:
        """Make the slots for `params`. The first `update` does it by itself."""
        self.slots = [np.zeros((len(self.slot_names), param.size), param.dtype) for param in params]

    def update(self, params: Sequence[np.ndarray], grads: Sequence[np.ndarray]) -> None:
        """Change `params` in place by one step along `grads`.

        Parameters
        ----------
        params, grads : sequences of float arrays, pairwise of the same shape
            A gradient of another dtype is converted.
        """
        self._check(params, grads)
        if not self.slots:
            self.build(params)
        self.iterations += 1
        numbers = self.step_numbers()
        # One kernel call per dtype; usually there is one.
        for dtype in dict.fromkeys(param.dtype for param in params):
            chosen = [k for k, param in enumerate(params) if param.dtype == dtype]
            flat = tuple(np.ascontiguousarray(params[k]).reshape(-1) for k in chosen)
            flat_grads = tuple(np.ascontiguousarray(grads[k], dtype).reshape(-1) for k in chosen)
            slots = tuple(self.slots[k] for k in chosen)
            self.kernel(flat, flat_grads, slots, np.array(numbers, dtype))
            for k, values in zip(chosen, flat, strict=True):
                # What is not contiguous was copied; then the update has to be brought back.
                if not np.may_share_memory(values, params[k]):
                    params[k][...] = values.reshape(params[k].shape)

    def _check(self, params: Sequence[np.ndarray], grads: Sequence[np.ndarray]) -> None:
        if len(params) != len(grads):
            raise ArgumentError(f"update: {len(params)} parameters but {len(grads)} gradients")
        if self.slots and len(self.slots) != len(params):
            raise ArgumentError(f"update: the optimizer's state is of {len(self.slots)} parameters, not {len(params)}")
        for k, (param, grad) in enumerate(zip(params, grads, strict=True)):
            if not isinstance(param, np.ndarray) or param.dtype not in FLOATS:
                raise ArgumentError(f"update: parameter {k} must be a float32 or float64 array, not {describe(param)}")
            if not param.flags.writeable:
                raise ArgumentError(f"update: parameter {k} is read-only")
            if np.shape(grad) != param.shape:
                raise ArgumentError(f"update: gradient {k} has shape {np.shape(grad)}, its parameter has {param.shape}")
            if self.slots and (self.slots[k].shape[1], self.slots[k].dtype) != (param.size, param.dtype):
                raise ArgumentError(
                    f"update: the optimizer's state for parameter {k} is of {self.slots[k].shape[1]} "
                    f"{self.slots[k].dtype} numbers, the parameter is {describe(param)}"
                )

    def state_dict(self) -> dict[str, np.ndarray]:
        """The state as named arrays: copies, ready for ``np.savez``."""
        state = {"iterations": np.array(self.iterations)}
        for k, slots in enumerate(self.slots):
            for name, values in zip(self.slot_names, slots, strict=True):
                state[f"{name}.{k}"] = values.copy()
        return state

    def load_state_dict(self, state: Mapping[str, np.ndarray], params: Sequence[np.ndarray]) -> None:
        """Restore what `state_dict` returned.

        Parameters
        ----------
        state : mapping of names to arrays
        params : sequence of ndarray
            The parameters that the optimizer will update.

        Raises
        ------
        DataError
            If the state is not that of this optimizer for these parameters.
        """
        # Nothing saved before the first update: the slots are made by it.
        iterations = int(_entry(state, "iterations"))
        slots = []
        for k, param in enumerate(params if iterations else ()):
            made = np.zeros((len(self.slot_names), param.size), param.dtype)
            for row, name in zip(made, self.slot_names, strict=True):
                values = _entry(state, f"{name}.{k}")
                if values.shape != row.shape or values.dtype != row.dtype:
                    raise DataError(
                        f"optimizer state: {name}.{k} is {describe(values)}, the parameter needs {describe(row)}"
                    )
                row[:] = values
            slots.append(made)
        self.iterations, self.slots = iterations, slots


def _entry(state: Mapping[str, np.ndarray], name: str) -> np.ndarray:
    if name not in state:
        raise DataError(f"optimizer state: {name} is missing; was it saved by another optimizer?")
    return np.asarray(state[name])


def describe(value: Any) -> str:
    """``float32 of shape (3, 4)`` for an array, the type's name for anything else."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}"
    return type(value).__name__


def checked(name: str, value: float, low: float, high: float) -> float:
    """`value` as a float, or an error unless ``low <= value < high``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be a number, not {value!r}") from None
    if not low <= number < high:
        raise ArgumentError(f"{name} must be at least {low:g} and below {high:g}, not {value!r}")
    return number
