"""Scalar expressions of elementwise functions, in the words of Numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jitgrad.tape.compiled.tracing import Untraceable

_OPERATORS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.true_divide: "/", np.equal: "==", np.not_equal: "!=",
    np.less: "<", np.less_equal: "<=", np.greater: ">", np.greater_equal: ">=", np.bitwise_and: "&", np.bitwise_or: "|",
    np.bitwise_xor: "^", np.logical_and: "and", np.logical_or: "or",
}  # fmt: skip

_MATH = {
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.arcsin: "asin", np.arccos: "acos", np.arctan: "atan",
    np.arctan2: "atan2", np.sinh: "sinh", np.cosh: "cosh", np.tanh: "tanh", np.arcsinh: "asinh", np.arccosh: "acosh",
    np.arctanh: "atanh", np.exp: "exp", np.expm1: "expm1", np.log: "log", np.log10: "log10", np.log1p: "log1p",
    np.sqrt: "sqrt",
    np.isnan: "isnan", np.isinf: "isinf", np.isfinite: "isfinite", np.hypot: "hypot", np.copysign: "copysign",
}  # fmt: skip

_SAME = {
    np.exp2, np.log2, np.floor, np.ceil, np.trunc, np.rint, np.sign, np.maximum, np.minimum, np.fmax, np.fmin, np.cbrt,
    np.logaddexp, np.logaddexp2, np.remainder, np.fmod, np.deg2rad, np.rad2deg, np.signbit, np.degrees,
    np.radians,
}  # fmt: skip

_KERNELS = {
    np.sin: "sin", np.cos: "cos", np.tan: "tan", np.tanh: "tanh", np.exp: "exp", np.expm1: "expm1", np.log: "log",
    np.log1p: "log1p",
}  # fmt: skip
"""What `jitgrad.fastmath` has a kernel for."""


def expression(ufunc: np.ufunc, operands: Sequence[str], exponent: Any = None, kernels: bool = False) -> str:
    """The text of a ufunc of scalars.

    Parameters
    ----------
    operands : sequence of str
        Names or literals, of the dtypes of the ufunc's loop.
    exponent : number, optional
        The second operand of a power where it is known.
    kernels : bool
        Whether to compute it so that a loop vectorises, within a few ulp. It takes longer to compile.
    """
    if kernels and ufunc in _KERNELS:
        return f"fastmath.{_KERNELS[ufunc]}({', '.join(operands)})"
    if ufunc in _OPERATORS:
        return f" {_OPERATORS[ufunc]} ".join(operands)
    if ufunc in _MATH:
        return f"math.{_MATH[ufunc]}({', '.join(operands)})"
    if ufunc in _SAME:
        return f"np.{ufunc.__name__}({', '.join(operands)})"
    x = operands[0]
    match ufunc.__name__:
        case "negative":
            return f"-{x}"
        case "positive" | "conjugate":
            return x
        case "absolute" | "fabs":
            return f"abs({x})"
        case "square":
            return f"{x} * {x}"
        case "reciprocal":
            return f"1 / {x}"
        case "logical_not":
            return f"not {x}"
        case "invert":
            return f"not {x}"
        case "power" | "float_power":
            return _POWERS.get(exponent, "{0} ** {1}").format(*operands)
        # By name: importing scipy.special would take half of the time of importing the tape.
        case "erf" | "erfc" | "gamma" as special:
            return f"math.{special}({x})"
        case "gammaln":
            return f"math.lgamma({x})"
    raise Untraceable(f"np.{ufunc.__name__}")


_POWERS = {0.5: "math.sqrt({0})", 1: "{0}", 2: "{0} * {0}", -1: "1 / {0}"}


def loop_dtypes(ufunc: np.ufunc, operands: Sequence[Any]) -> list[np.dtype]:
    """The dtypes that NumPy converts the operands (arrays and numbers) to, and that of the result."""
    kinds = tuple(
        [type(x) if type(x) in (int, float) else np.dtype(bool) if type(x) is bool else x.dtype for x in operands]
    )
    try:
        found = list(ufunc.resolve_dtypes((*kinds, None)))
    except TypeError as error:
        raise Untraceable(str(error)) from None
    if ufunc is np.invert and found[0] != np.bool_:
        raise Untraceable("np.invert of integers")
    if ufunc in (np.add, np.multiply) and found[-1] == np.bool_:
        raise Untraceable("arithmetic of booleans")  # in Numba it gives integers
    if ufunc in (np.logical_and, np.logical_or, np.logical_not):
        found = [np.dtype(bool)] * len(found)
    return found


def cast(text: str, before: Any, after: np.dtype) -> str:
    """`text` converted between dtypes."""
    if before == after:
        return text
    return f"({text} != 0)" if after == np.bool_ else f"np.{after.name}({text})"


def literal(value: Any, dtype: np.dtype) -> str:
    """A number as a literal of a dtype."""
    if dtype == np.float64:
        text = repr(float(value))
    elif dtype == np.bool_:
        return repr(bool(value))
    elif dtype.kind in "iu":
        text = repr(int(value)) if dtype == np.int64 else f"np.{dtype.name}({int(value)})"
    else:
        text = f"np.{dtype.name}({float(value)!r})"
    return f"({text})" if text.startswith("-") else text
