"""The functions of `jitgrad.fastmath`: their names, and which kernel stands for which type of argument."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

from jitgrad.fastmath import error_function, exponential, logarithm, power, trigonometric
from jitgrad.fastmath.formats import OPTIONS, kernel


class Function:
    """A function of numbers that nopython code compiles as the kernel for their type, and nothing around it.

    Parameters
    ----------
    named : function
        Its name, parameters and documentation; never called.
    double, single : function
        The kernels for float64 and float32.
    """

    __name__: str

    def __init__(self, named: Callable, double: Callable, single: Callable):
        functools.update_wrapper(self, named)
        self.__module__ = "jitgrad.fastmath"
        self.__jitgrad_hint__ = f"fast_{named.__name__}"  # in generated source, beside the function of `math`
        converting = kernel(double)

        def pick(*operands: Any) -> Callable:
            self._check(operands)
            if all(ty == types.float32 for ty in operands):
                return single
            if all(ty == types.float64 for ty in operands):
                return double
            if len(operands) == 1:
                return lambda x: converting(np.float64(x))
            return lambda x, y: converting(np.float64(x), np.float64(y))

        unary = len(inspect.signature(named).parameters) == 1
        overload(self, jit_options=OPTIONS)((lambda x: pick(x)) if unary else lambda x, y: pick(x, y))
        self._compiled = njit((lambda x: self(x)) if unary else lambda x, y: self(x, y))

    def __call__(self, *args):
        return self._compiled(*args)

    def __repr__(self) -> str:
        return f"<function {self.__module__}.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__

    def content_for_digest(self) -> tuple:
        """What it is to code that calls it (`jitgrad.backend.digest`); what it does is in jitgrad's version."""
        return self.__module__, self.__name__

    def _check(self, operands: tuple) -> None:
        name = f"{self.__module__}.{self.__name__}"
        for ty in operands:
            if isinstance(ty, types.Array):
                raise TypingError(f"{name} takes numbers, not an array; call it in a loop over the elements")
            if not isinstance(ty, (types.Integer, types.Boolean)) and ty not in (types.float64, types.float32):
                raise TypingError(f"{name} takes float64 or float32 numbers, not {ty}")


def _with_kernels(double: Callable, single: Callable) -> Callable[[Callable], Function]:
    return lambda named: Function(named, double, single)


@_with_kernels(exponential.exp64, exponential.exp32)
def exp(x):
    """``e ** x``.

    Examples
    --------
    >>> fastmath.exp(0.0)
    1.0
    """


@_with_kernels(exponential.expm1_64, exponential.expm1_32)
def expm1(x):
    """``exp(x) - 1``, as exact near zero as elsewhere.

    Examples
    --------
    >>> fastmath.expm1(1e-20)
    1e-20
    """


@_with_kernels(exponential.tanh64, exponential.tanh32)
def tanh(x):
    """The hyperbolic tangent.

    Examples
    --------
    >>> fastmath.tanh(20.0)
    1.0
    """


@_with_kernels(exponential.sigmoid64, exponential.sigmoid32)
def sigmoid(x):
    """``1 / (1 + exp(-x))``.

    Examples
    --------
    >>> fastmath.sigmoid(0.0)
    0.5
    """


@_with_kernels(logarithm.log64, logarithm.log32)
def log(x):
    """The natural logarithm: -inf at zero, nan below.

    Examples
    --------
    >>> fastmath.log(1.0)
    0.0
    """


@_with_kernels(logarithm.log1p_64, logarithm.log1p_32)
def log1p(x):
    """``log(1 + x)``, as exact near zero as elsewhere.

    Examples
    --------
    >>> fastmath.log1p(1e-20)
    1e-20
    """


@_with_kernels(trigonometric.sin64, trigonometric.sin32)
def sin(x):
    """The sine.

    Examples
    --------
    >>> fastmath.sin(1e300)
    -0.8178819121159085
    """


@_with_kernels(trigonometric.cos64, trigonometric.cos32)
def cos(x):
    """The cosine.

    Examples
    --------
    >>> fastmath.cos(0.0)
    1.0
    """


@_with_kernels(trigonometric.tan64, trigonometric.tan32)
def tan(x):
    """The tangent.

    Examples
    --------
    >>> fastmath.tan(0.0)
    0.0
    """


@_with_kernels(error_function.erf64, error_function.erf32)
def erf(x):
    """The error function.

    Examples
    --------
    >>> fastmath.erf(6.0)
    1.0
    """


@_with_kernels(power.pow64, power.pow32)
def pow(x, y):
    """``x ** y``, at the edges as C's ``pow``: nan for negative `x` unless `y` is an integer.

    Examples
    --------
    >>> fastmath.pow(-2.0, 3.0)
    -8.0
    """
