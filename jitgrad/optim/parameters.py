"""What is updated: variables, which get new arrays, and arrays, which are written in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError
from jitgrad.tape import Tensor, Variable

FLOATS = (np.float32, np.float64)

Parameter = Variable | np.ndarray


def value(param: Parameter) -> np.ndarray:
    """The array that `param` is or holds."""
    return param if isinstance(param, np.ndarray) else param.array


def install(param: Parameter, new: np.ndarray) -> None:
    """Give `param` the values of `new`, which a variable takes over."""
    if isinstance(param, np.ndarray):
        param[...] = new
    else:
        param._replace(new)


def check_parameter(param: Any, where: str) -> None:
    """Raise an error unless `param` can be updated; `where` tells which one it is."""
    if not isinstance(param, Parameter) or value(param).dtype not in FLOATS:
        raise ArgumentError(f"{where} must be a float32 or float64 Variable or array, not {describe(param)}")
    if isinstance(param, np.ndarray) and not param.flags.writeable:
        raise ArgumentError(f"{where} is read-only")


def checked_gradient(grad: Any, param: Parameter, k: int) -> np.ndarray:
    """`grad` as an array, or an error unless it fits `param`, the parameter number `k`."""
    array = grad.array if isinstance(grad, Tensor) else np.asarray(grad)
    if array.dtype.kind not in "fiu":
        raise ArgumentError(
            f"the gradient of {called(param, k)} must be an array of real numbers, not {describe(grad)}"
        )
    if array.shape != param.shape:
        raise ArgumentError(
            f"the gradient of {called(param, k)} has shape {array.shape}, its parameter has {param.shape}"
        )
    return array


def describe(param: Any) -> str:
    """``Variable w: float32 of shape (3, 4)``, or the type's name where it is neither variable nor array."""
    if isinstance(param, Variable):
        return f"Variable {param.name}: {param.dtype} of shape {param.shape}"
    if isinstance(param, np.ndarray):
        return f"{param.dtype} of shape {param.shape}"
    return type(param).__name__


def called(param: Parameter, k: int) -> str:
    """The name of a variable, or the position of an array."""
    return param.name if isinstance(param, Variable) else f"parameter {k}"


def listed(var_list: Any) -> list[Any]:
    """One variable, or a sequence of them, as a list."""
    return [var_list] if isinstance(var_list, Parameter) else [*var_list]


@dataclass
class Block:
    """Parameters of one dtype, laid end to end in a fresh vector, and their gradients likewise.

    Attributes
    ----------
    dtype : dtype
    places : list of int
        Which parameters these are.
    vector, grad : ndarray
        Values and gradients of all of them.
    parts, grads : list of ndarray
        The same, as a view for each parameter.
    """

    dtype: np.dtype
    places: list[int]
    vector: np.ndarray
    parts: list[np.ndarray]
    grad: np.ndarray
    grads: list[np.ndarray]


def blocks(places: Sequence[int], values: Sequence[np.ndarray], grads: Sequence[np.ndarray]) -> list[Block]:
    """Lay parameters and gradients end to end, dtype by dtype."""
    made = []
    for dtype in dict.fromkeys(array.dtype for array in values):
        own = [k for k, array in enumerate(values) if array.dtype == dtype]
        vector, parts = _end_to_end([values[k] for k in own], dtype)
        grad, views = _end_to_end([grads[k] for k in own], dtype)
        made.append(Block(dtype, [places[k] for k in own], vector, parts, grad, views))
    return made


def _end_to_end(arrays: Sequence[np.ndarray], dtype: np.dtype) -> tuple[np.ndarray, list[np.ndarray]]:
    vector = np.concatenate([array.reshape(-1) for array in arrays], dtype=dtype, casting="unsafe")
    parts, start = [], 0
    for array in arrays:
        parts.append(vector[start : start + array.size].reshape(array.shape))
        start += array.size
    return vector, parts
