"""`Dual`: a number and its tangents in several directions, as a value of Python and of nopython code.

Operators and functions are made of the scalar rules: what a rule says about partial derivatives becomes a few lines of
Python, compiled where the operands are duals of nopython code and run on arrays where they are Python's.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.core.imputils import lower_cast
from numba.core.typeconv import Conversion
from numba.extending import (
    NativeValue,
    box,
    intrinsic,
    make_attribute_wrapper,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)  # fmt: skip

from jitgrad.errors import ArgumentError
from jitgrad.runtime import vectors


class Dual:
    """A number and how it changes along several directions.

    Parameters
    ----------
    value : float
    tangents : sequence of float
        One for each direction; in nopython code a tuple, as their number is part of the type.

    Attributes
    ----------
    value : float
    tangents : array of float64
        In nopython code a vector in registers: ``x.tangents[k]`` and ``len(x.tangents)``.

    Notes
    -----
    Duals have the operators of floats, the ``math`` and ``np`` functions of one or two numbers, and comparisons, which
    compare values; numbers beside them count as constants. Derivatives at kinks are those of `jitgrad.grad`. Two duals
    in one expression need the same number of directions. They live in variables, tuples and lists of nopython code, not
    in arrays.
    `jacobian` and `jvp` use the same vectors and need no change of a function; duals are for code that wants to set and
    read tangents itself.

    Examples
    --------
    >>> from numba import njit
    >>> @njit
    ... def f(x, y):
    ...     a, b = Dual(x, (1.0, 0.0)), Dual(y, (0.0, 1.0))
    ...     return a * np.sin(b)
    >>> f(3.0, 0.0)
    Dual(0.0, [0.0, 3.0])
    >>> np.exp(Dual(0.0, [2.0])) ** 2
    Dual(1.0, [4.0])
    """

    __slots__ = ("tangents", "value")

    def __init__(self, value: float, tangents: Any):
        try:
            self.value = float(value)
        except (TypeError, ValueError):
            raise ArgumentError(f"the value of a Dual is a real number, not {value!r}") from None
        try:
            self.tangents = np.array(tangents, np.float64)
        except (TypeError, ValueError):
            self.tangents = np.empty(0)
        if self.tangents.ndim != 1 or not self.tangents.size:
            raise ArgumentError(
                f"the tangents of a Dual are a sequence of numbers, one for each direction, not {tangents!r}"
            )

    def __repr__(self) -> str:
        return f"Dual({self.value}, {self.tangents.tolist()})"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from jitgrad import rules

        if method != "__call__" or kwargs or not isinstance(rules.lookup(ufunc), rules.ScalarRule):
            return NotImplemented
        return _on_python(ufunc, *inputs)

    def __bool__(self) -> bool:
        return self.value != 0.0

    __hash__ = None  # type: ignore[assignment]  # equal values may have different tangents


def _operators() -> None:
    """Give `Dual` the operators of a float."""
    for fn in (operator.add, operator.sub, operator.mul, operator.truediv, operator.mod, operator.pow):
        name = fn.__name__.rstrip("_")

        def forward(self: Any, other: Any, fn: Any = fn) -> Any:
            return _on_python(fn, self, other) if isinstance(other, (Dual, int, float, np.number)) else NotImplemented

        def backward(self: Any, other: Any, fn: Any = fn) -> Any:
            return _on_python(fn, other, self) if isinstance(other, (int, float, np.number)) else NotImplemented

        setattr(Dual, f"__{name}__", forward)
        setattr(Dual, f"__r{name}__", backward)
    for name, unary in (("neg", operator.neg), ("pos", operator.pos), ("abs", abs)):
        setattr(Dual, f"__{name}__", lambda self, fn=unary: _on_python(fn, self))
    for fn in COMPARISONS:

        def compare(self: Any, other: Any, fn: Any = fn) -> Any:
            return fn(self.value, other.value if isinstance(other, Dual) else other)

        setattr(Dual, f"__{fn.__name__}__", compare)


COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


# ----- the text of a function of duals ----------------------------------------------------------------
@functools.cache
def _text(fn: Any, duals: tuple[bool, ...]) -> str | None:
    """Python source of a function of duals (where `duals` says so) and numbers; None where there is no rule."""
    from jitgrad import rules  # here and below: what derivatives from the disk cache do without
    from jitgrad.transforms.forward import algebra
    from jitgrad.transforms.forward.vectors import for_vectors

    rule = rules.lookup(fn)
    if not isinstance(rule, rules.ScalarRule):
        return None
    kinds = [types.float64] * (len(duals) + 1)
    row = rule.for_call(kinds[:-1])
    if row is None or row.push is not None or row.value or len(row.params) < len(duals):
        return None
    params = row.params[: len(duals)]
    lines = [
        f"    {p} = {p}_dual.value" if dual else f"    {p} = {p}_dual" for p, dual in zip(params, duals, strict=True)
    ]
    terms, dots = [], set()
    for param, dual in zip(params, duals, strict=True):
        term = row.push_text(param, f"{param}_dot", kinds) if dual else None
        if term is not None:
            lines.append(f"    {param}_dot = {param}_dual.tangents")
            dots.add(f"{param}_dot")
            terms.append(term)
    if not terms:
        return None
    lines.append(f"    out = fn({', '.join(params)})")
    tree = for_vectors(ast.parse(algebra.total(terms), mode="eval").body, dots, lambda _, name: name)
    header = ", ".join(f"{p}_dual" for p in params)
    return "\n".join([f"def function({header}):", *lines, f"    return make(out, {ast.unparse(tree)})", ""])


def _function(text: str, fn: Any, **namespace: Any) -> Callable:
    from jitgrad import rules

    scope = {**rules.kernels_namespace(), "fn": fn, **namespace}
    exec(text, scope)
    return scope["function"]


@functools.cache
def _python_function(fn: Any, duals: tuple[bool, ...]) -> Callable:
    text = _text(fn, duals)
    if text is None:
        raise ArgumentError(f"{getattr(fn, '__name__', fn)} of a Dual has no derivative")
    return _function(text, fn, make=Dual, mul0_each=_mul0, div0_each=_div0, select0=_select0)


def _on_python(fn: Any, *operands: Any) -> Dual:
    with np.errstate(all="ignore"):  # as compiled code, which does not warn
        return _python_function(fn, tuple(isinstance(o, Dual) for o in operands))(*operands)


def _mul0(x: np.ndarray, y: float) -> np.ndarray:
    return np.where(x == 0.0, x, x * y)


def _div0(x: np.ndarray, y: float) -> np.ndarray:
    return np.where(x == 0.0, x, x / np.float64(y))


def _select0(factor: float, x: np.ndarray) -> np.ndarray:
    return np.zeros_like(x) if factor == 0.0 else factor * x


# ----- the nopython type ------------------------------------------------------------------------------
class DualType(types.Type):
    """A float64 and a vector of tangents."""

    def __init__(self, n: int):
        self.n = n
        self.tangents = vectors.Vector(types.float64, n)
        super().__init__(f"Dual({n})")

    def unify(self, typingctx, other):
        return self if isinstance(other, (types.Float, types.Integer)) else None

    def can_convert_from(self, typingctx, other):
        return Conversion.safe if isinstance(other, (types.Float, types.Integer)) else None


@register_model(DualType)
class _DualModel(models.StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("value", types.float64), ("tangents", fe_type.tangents)])


make_attribute_wrapper(DualType, "value", "value")
make_attribute_wrapper(DualType, "tangents", "tangents")


def _struct(context: Any, builder: Any, ty: DualType, value: Any, tangents: Any) -> Any:
    made = cgutils.create_struct_proxy(ty)(context, builder)
    made.value, made.tangents = value, tangents
    return made._getvalue()


@lower_cast(types.Float, DualType)
@lower_cast(types.Integer, DualType)
def _constant(context, builder, source, target, value):
    """A number is a dual that does not change: ``s = 0.0`` before a loop that adds duals."""
    number = context.cast(builder, value, source, types.float64)
    return _struct(context, builder, target, number, ir.Constant(context.get_value_type(target.tangents), None))


@intrinsic
def make(typingctx, value, tangents):
    """The dual of a number and a vector."""
    if not isinstance(tangents, vectors.Vector):
        return None
    result = DualType(tangents.n)

    def codegen(context, builder, signature, args):
        number = context.cast(builder, args[0], signature.args[0], types.float64)
        return _struct(context, builder, result, number, args[1])

    return result(types.unliteral(value), tangents), codegen


@overload(Dual)
def _construct(value, tangents):
    if isinstance(tangents, vectors.Vector):
        return lambda value, tangents: make(value, tangents)
    if not isinstance(tangents, types.BaseTuple) or not len(tangents):
        raise TypingError("in nopython code the tangents of a Dual are a tuple of numbers, one for each direction")
    lines = [f"    v = with_lane(v, {k}, tangents[{k}])" for k in range(len(tangents))]
    source = "\n".join(["def function(value, tangents):", "    v = zero", *lines, "    return make(value, v)", ""])
    zero = vectors.zero(types.float64, len(tangents))
    return _function(source, None, zero=zero, with_lane=vectors.with_lane, make=make)


@overload(operator.getitem)
def _tangent(tangents, k):
    if isinstance(tangents, vectors.Vector) and isinstance(k, types.Integer):
        n = tangents.n

        def get(tangents, k):
            if k < -n or k >= n:
                raise IndexError("the index of a tangent is out of range")
            return vectors.lane(tangents, k + n if k < 0 else k)

        return get
    return None


@overload(len)
def _count(tangents):
    if isinstance(tangents, vectors.Vector):
        n = tangents.n
        return lambda tangents: n
    return None


@typeof_impl.register(Dual)
def _typeof(value, context):
    return DualType(value.tangents.size)


@unbox(DualType)
def _unbox(typ, obj, c):
    number, array = (c.pyapi.object_getattr_string(obj, name) for name in ("value", "tangents"))
    value, tangents = c.unbox(types.float64, number), vectors.unbox_vector(typ.tangents, array, c)
    made = _struct(c.context, c.builder, typ, value.value, tangents.value)
    for part in (number, array):
        c.pyapi.decref(part)
    return NativeValue(made, is_error=c.builder.or_(value.is_error, tangents.is_error))


@box(DualType)
def _box(typ, value, c):
    struct = cgutils.create_struct_proxy(typ)(c.context, c.builder, value=value)
    number, tangents = c.box(types.float64, struct.value), c.box(typ.tangents, struct.tangents)
    cls = c.pyapi.unserialize(c.pyapi.serialize_object(Dual))
    made = c.pyapi.call_function_objargs(cls, (number, tangents))
    for part in (number, tangents, cls):
        c.pyapi.decref(part)
    return made


# ----- nopython functions -----------------------------------------------------------------------------
# Those with a scalar rule. By name, as the table of rules is not loaded before a function meets a dual.
FUNCTIONS: dict[Any, dict[int, str]] = {
    operator: {1: "neg pos", 2: "add sub mul truediv mod pow"},
    builtins: {1: "abs", 2: "max min pow"},
    math: {
        1: "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh degrees "
        "radians erf erfc gamma lgamma fabs",
        2: "atan2 hypot copysign pow",
    },
    np: {
        1: "sqrt cbrt square reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh "
        "tanh arcsinh arccosh arctanh degrees rad2deg radians deg2rad absolute fabs negative positive",
        2: "add subtract multiply divide power remainder fmod arctan2 hypot copysign maximum minimum fmax fmin "
        "logaddexp logaddexp2",
    },
}


def _number(ty: Any) -> bool:
    return isinstance(ty, (types.Float, types.Integer))


def _implementation(fn: Any, *operands: Any) -> Any:
    duals = tuple(isinstance(o, DualType) for o in operands)
    if not any(duals) or not all(dual or _number(o) for dual, o in zip(duals, operands, strict=True)):
        return None
    if len({o.n for o, dual in zip(operands, duals, strict=True) if dual}) > 1:
        raise TypingError("two duals in one expression need the same number of directions")
    text = _text(fn, duals)
    if text is None:
        return None
    helpers = {"mul0_each": vectors.mul0, "div0_each": vectors.div0, "select0": vectors.select0, "make": make}
    return _function(text, fn, **helpers)


def _register(fn: Any, count: int, meaning: Any) -> None:
    """Let `fn` take duals in nopython code, as the function `meaning`."""
    if count == 1:
        overload(fn)(lambda x_dual: _implementation(meaning, x_dual))
    else:
        overload(fn)(lambda x_dual, y_dual: _implementation(meaning, x_dual, y_dual))


def _register_all() -> None:
    for module, by_count in FUNCTIONS.items():
        for count, names in by_count.items():
            for name in names.split():
                fn = getattr(module, name)
                _register(fn, count, fn)
    for name in ("add", "sub", "mul", "truediv"):
        _register(getattr(operator, f"i{name}"), 2, getattr(operator, name))
    for fn in COMPARISONS:
        _register_comparison(fn)


def _register_comparison(fn: Any) -> None:
    @overload(fn)
    def compare(x, y):
        one, two = isinstance(x, DualType), isinstance(y, DualType)
        if not (one or two) or not all(isinstance(ty, DualType) or _number(ty) for ty in (x, y)):
            return None
        if one and two:
            return lambda x, y: fn(x.value, y.value)
        return (lambda x, y: fn(x.value, y)) if one else (lambda x, y: fn(x, y.value))


_operators()
_register_all()
