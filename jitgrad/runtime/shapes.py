"""Shapes that must fit each other, checked where loops would otherwise read past an end."""

from __future__ import annotations

from numba import njit


@njit(error_model="numpy")
def check_broadcast(shape, target):
    """Raise ValueError unless an array of `shape` can be broadcast to `target`."""
    extra = len(shape) - len(target)
    for k in range(len(shape)):
        if k < extra:
            if shape[k] != 1:
                raise ValueError("operands could not be broadcast together")
        elif shape[k] != 1 and shape[k] != target[k - extra]:
            raise ValueError("operands could not be broadcast together")
