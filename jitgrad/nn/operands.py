"""Operands of this package's functions: tape values as they are, anything else as a NumPy array."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError, UnsupportedError
from jitgrad.tape.primitive import plain
from jitgrad.tape.tensor import Tensor, Value, Variable


def operand(x: Any) -> Any:
    """`x` as a tensor if it is a tape value, else as an array."""
    if isinstance(x, Variable):
        return x.read_value()
    return x if isinstance(x, Tensor) else np.asarray(x)


def real(x: Any) -> Any:
    """`operand` of real numbers; an error for others, whose derivative would need conjugates."""
    given, x = x, operand(x)
    if x.dtype.kind not in "biuf":
        what = type(given).__name__ if x.dtype.kind in "OUS" else x.dtype
        raise UnsupportedError(f"{_called()} takes real numbers, not {what}")
    return x


def _called() -> str:
    """The function of this package that the user called."""
    frame: Any = sys._getframe(2)
    name = ""
    while frame is not None and frame.f_globals.get("__name__", "").startswith("jitgrad.nn."):
        frame, name = frame.f_back, frame.f_code.co_name
    return f"jitgrad.nn.{name}"


def integers(x: Any, what: str, limit: int | None = None) -> np.ndarray:
    """The plain array of `x`, or an error unless it holds integers, from 0 to below `limit` if that is given."""
    array = np.asarray(plain(x))
    if array.dtype.kind not in "iu" and array.size:
        raise ArgumentError(f"{what} must be integers, not {array.dtype}; convert them with .astype(int)")
    if limit is not None and array.size and not 0 <= array.min() <= array.max() < limit:
        bad = array[(array < 0) | (array >= limit)].ravel()[0]
        raise ArgumentError(f"{what} must lie between 0 and {limit - 1}, and {bad} does not")
    return array if array.dtype.kind in "iu" else array.astype(np.int64)


def axes_of(axis: int | Sequence[int] | None) -> int | tuple[int, ...] | None:
    """`axis` as NumPy's functions take it: a list becomes a tuple."""
    return axis if axis is None or isinstance(axis, (int, np.integer)) else tuple(axis)


def alike(given: Any, array: np.ndarray) -> Any:
    """`array`, as a tensor if `given` is a tape value."""
    return Tensor(array) if isinstance(given, Value) else array
