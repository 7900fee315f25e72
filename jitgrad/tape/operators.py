"""What tape values answer to: Python's operators, NumPy's methods, and NumPy's two protocols."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jitgrad.errors import UnsupportedError
from jitgrad.tape.handlers import HANDLERS

_OPERANDS = (float, int, np.ndarray, np.generic, complex)


def _operand(other: Any) -> Any:
    """The other operand of an operator, or NotImplemented for what should answer itself."""
    if isinstance(other, _OPERANDS) or isinstance(other, Operators):
        return other
    return list(other) if isinstance(other, (list, tuple)) else NotImplemented


def _binary(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    def forward(self, other):
        if type(other) is not type(self):
            other = _operand(other)
            if other is NotImplemented:
                return other
        return HANDLERS[ufunc](self, other)

    def reflected(self, other):
        other = _operand(other)
        return other if other is NotImplemented else HANDLERS[ufunc](other, self)

    return forward, reflected


def _compared(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return _binary(ufunc)[0]


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda self: HANDLERS[ufunc](self)


def _method(function: Any) -> Callable[..., Any]:
    def method(self, *args, **kwargs):
        return HANDLERS[function](self, *args, **kwargs)

    method.__name__, method.__doc__ = function.__name__, f"``np.{function.__name__}`` of this value."
    return method


def _tuple_or_integers(args: tuple) -> Any:
    return args[0] if len(args) == 1 else args


def _no_out(function: str, augmented: bool = False) -> UnsupportedError:
    """The error where a result is to be written into an array."""
    how, way_out = "with out=", f"write a = np.{function}(...) without it"
    if augmented:
        how, way_out = "as an augmented assignment such as a += x would", f"write a = np.{function}(a, x)"
    return UnsupportedError(
        f"np.{function} cannot write a tape value into an array, {how}: the array would not be recorded; {way_out}"
    )


class Operators:
    """Operators and methods, each the handler of the NumPy function of that meaning."""

    __slots__ = ()
    __array_priority__ = 1000.0

    __add__, __radd__ = _binary(np.add)
    __sub__, __rsub__ = _binary(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.true_divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder)
    __divmod__, __rdivmod__ = _binary(np.divmod)
    __pow__, __rpow__ = _binary(np.power)
    __matmul__, __rmatmul__ = _binary(np.matmul)
    __and__, __rand__ = _binary(np.bitwise_and)
    __or__, __ror__ = _binary(np.bitwise_or)
    __xor__, __rxor__ = _binary(np.bitwise_xor)
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)
    __lt__ = _compared(np.less)
    __le__ = _compared(np.less_equal)
    __gt__ = _compared(np.greater)
    __ge__ = _compared(np.greater_equal)
    __eq__ = _compared(np.equal)  # type: ignore[assignment]
    __ne__ = _compared(np.not_equal)  # type: ignore[assignment]
    __hash__ = object.__hash__

    all = _method(np.all)
    any = _method(np.any)
    argmax = _method(np.argmax)
    argmin = _method(np.argmin)
    argsort = _method(np.argsort)
    clip = _method(np.clip)
    cumprod = _method(np.cumprod)
    cumsum = _method(np.cumsum)
    diagonal = _method(np.diagonal)
    dot = _method(np.dot)
    flatten = _method(np.ravel)
    max = _method(np.max)
    mean = _method(np.mean)
    min = _method(np.min)
    nonzero = _method(np.nonzero)
    prod = _method(np.prod)
    ravel = _method(np.ravel)
    repeat = _method(np.repeat)
    round = _method(np.round)
    sort = _method(np.sort)
    squeeze = _method(np.squeeze)
    std = _method(np.std)
    sum = _method(np.sum)
    swapaxes = _method(np.swapaxes)
    take = _method(np.take)
    trace = _method(np.trace)
    var = _method(np.var)
    copy = _method(np.copy)
    conj = conjugate = _unary(np.conjugate)

    T = property(lambda self: HANDLERS[np.transpose](self))
    mT = property(lambda self: HANDLERS[np.swapaxes](self, -1, -2))
    real = property(lambda self: HANDLERS[np.real](self))
    imag = property(lambda self: HANDLERS[np.imag](self))

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """``np.reshape`` of this value; the shape as one tuple or as several integers."""
        return HANDLERS[np.reshape](self, _tuple_or_integers(shape), order=order)

    def transpose(self, *axes: Any) -> Any:
        """``np.transpose`` of this value; the axes as one tuple or as several integers."""
        return HANDLERS[np.transpose](self, _tuple_or_integers(axes) if axes else None)

    def astype(self, dtype: Any) -> Any:
        """This value converted; integers and booleans carry no derivative."""
        return HANDLERS["cast"](self, np.dtype(dtype))

    def __round__(self, digits: int | None = None) -> Any:
        rounded = HANDLERS[np.round](self, digits or 0)
        return int(rounded) if digits is None else rounded

    def __iter__(self) -> Any:
        return iter(HANDLERS[np.unstack](self))

    def __getitem__(self, index: Any) -> Any:
        return HANDLERS[operator.getitem](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise UnsupportedError(
            "tape values are immutable: x[i] = v would not be recorded; build the array with np.where, np.concatenate "
            "or np.stack, or write the loop as an njit function and call it with the tape value"
        )

    # ----- NumPy's protocols ----------------------------------------------------------------------
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not kwargs and method == "__call__":
            return HANDLERS[ufunc](*inputs)
        out = kwargs.pop("out", None)
        if out is not None:
            augmented = len(inputs) == 2 and out[0] is inputs[0]  # a += x, as NumPy passes it on
            raise _no_out(ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}", augmented)
        if kwargs.pop("where", True) is not True:
            raise UnsupportedError(f"np.{ufunc.__name__} of tape values does not take where=; write np.where")
        if method != "__call__":
            return HANDLERS[ufunc, method](*inputs, **kwargs)
        dtype = kwargs.pop("dtype", None)
        if kwargs:
            raise UnsupportedError(f"np.{ufunc.__name__} of tape values does not take {', '.join(kwargs)}")
        made = HANDLERS[ufunc](*inputs)
        return made if dtype is None else made.astype(dtype)

    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        if kwargs.pop("out", None) is not None:
            raise _no_out(function.__name__)
        return HANDLERS[function](*args, **kwargs)
