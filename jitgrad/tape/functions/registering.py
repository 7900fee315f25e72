"""How the modules of this package enter primitives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitgrad.errors import UnsupportedError
from jitgrad.tape.elementwise import type_name
from jitgrad.tape.handlers import HANDLERS
from jitgrad.tape.primitive import Primitive, Pull, plain
from jitgrad.tape.tensor import Tensor, stacked


def primitive(function: Any, *pulls: Pull | None, name: str = "") -> Primitive:
    """Enter a primitive for a NumPy function whose operands come first, in the order of `pulls`."""
    made = Primitive(name or type_name(function.__name__), function, pulls)
    HANDLERS[function] = made if isinstance(function, np.ufunc) else _positional(made, function, len(pulls))
    return made


def _positional(made: Primitive, function: Any, count: int) -> Callable:
    """A handler that takes the operands also by their names."""
    names = list(inspect.signature(function).parameters)[:count]

    def handler(*args: Any, **kwargs: Any) -> Any:
        if len(args) < count:
            args = (*args, *(kwargs.pop(name) for name in names[len(args) :]))
        return made(*args, **kwargs)

    return handler


def without_derivative(functions: Sequence[Any], wrapped: bool = True) -> None:
    """Functions whose results carry no derivative; `wrapped`: arrays come back as tensors."""
    for function in functions:
        HANDLERS[function] = _Untracked(function, wrapped)


class _Untracked:
    """A function that sees only the arrays."""

    def __init__(self, function: Any, wrapped: bool):
        self.function = function
        self.wrapped = wrapped

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        out = self.function(*plain(args), **plain(kwargs))
        return wrap(out) if self.wrapped else out


def wrap(out: Any) -> Any:
    """Arrays in a result as tensors without derivative."""
    if isinstance(out, (np.ndarray, np.generic)):
        return Tensor(out)
    if isinstance(out, (list, tuple)):
        parts = [wrap(o) for o in out]
        return type(out)(*parts) if hasattr(out, "_fields") else type(out)(parts)
    return out


def operand(value: Any) -> Any:
    """An argument as a tape value, an array or a number; a list with tape values in it is stacked, and so recorded."""
    value = stacked(value)
    return np.asarray(value) if isinstance(value, (list, tuple)) else value


def refuse(function: str, way_out: str = "leave it out", **given: Any) -> None:
    """Raise for an argument that is given (not None) and not supported for tape values."""
    for name, value in given.items():
        if value is not None:
            raise UnsupportedError(f"{function} of tape values does not take {name}=; {way_out}")


def conj(x: Any) -> Any:
    """The complex conjugate, and for real values the value itself: nothing is recorded."""
    return np.conjugate(x) if x.dtype.kind == "c" else x
