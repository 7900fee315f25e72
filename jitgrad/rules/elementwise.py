"""Scalar rules: operators, `math`, `cmath`, NumPy's ufuncs.

One row per function. Functions that differ only in name (`math.sin`, `np.sin`, `cmath.sin`) share a row.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.registry import ArrayRule, Regular, Rule, ScalarRule, ZeroRule, register
from jitgrad.runtime import kernels

inf, nan = math.inf, math.nan
LN2, LN10 = math.log(2.0), math.log(10.0)
# Points for functions defined on the whole line, on the positive half, on the open unit interval
LINE = ((0.0,), (0.7,), (-0.7,), (2.5,), (-2.5,), (1e-8,), (-9.0,))
POSITIVE = ((1e-3,), (0.5,), (1.0,), (3.0,), (1e6,))
UNIT = ((0.0,), (0.3,), (-0.3,), (0.999,), (-0.999,))
PLANE = ((1.5, 2.5), (-1.5, 2.5), (1.5, -2.5), (-1.5, -2.5), (4.0, 0.5))


def scalar(*functions: Any, **fields: Any) -> Rule:
    """Register one scalar row."""
    return register(ScalarRule(functions=tuple(dict.fromkeys(functions)), **fields))


def unary(*functions: Any, partial: str, points=LINE, reference="", **fields: Any) -> Rule:
    """Register a row of one operand."""
    return scalar(*functions, partials=(partial,), points=points, reference=reference, **fields)


def binary(*functions: Any, dx: str | None, dy: str | None, points=PLANE, **fields: Any) -> Rule:
    """Register a row of two operands."""
    return scalar(*functions, params=("x", "y"), partials=(dx, dy), points=points, **fields)


# ----- arithmetic ----------------------------------------------------------------------------------

binary(operator.add, np.add, dx="1.0", dy="1.0", reference="x + y")
binary(operator.sub, np.subtract, dx="1.0", dy="-1.0", reference="x - y")
binary(operator.mul, np.multiply, dx="y", dy="x", reference="x * y", points=(*PLANE, (0.0, 3.0), (0.0, 0.0)))
binary(
    operator.truediv, np.true_divide, np.divide, dx="1.0 / y", dy="-out / y", singular=True, reference="x / y",
    points=(*PLANE, (0.0, 3.0)), edges={(1.0, 0.0): (inf, -inf), (-1.0, 0.0): (inf, inf)},
)  # fmt: skip
binary(
    operator.mod, np.remainder, np.mod, dx="1.0", dy="-(x // y)", singular=True,
    points=(*PLANE[:4], (7.3, 2.0), (-7.3, 2.0), (7.3, -2.0), (-7.3, -2.0)), edges={(4.0, 2.0): (1.0, -2.0)},
)  # fmt: skip
binary(
    np.fmod, dx="1.0", dy="-np.rint((x - out) / y)", singular=True,
    points=(*PLANE[:4], (7.3, 2.0), (-7.3, 2.0), (7.3, -2.0), (-7.3, -2.0)), edges={(4.0, 2.0): (1.0, -2.0)},
    note="what Numba compiles for the `%` of C",
)  # fmt: skip
unary(operator.neg, np.negative, partial="-1.0", reference="-x")
unary(operator.pos, np.positive, partial="1.0", reference="x")
unary(np.square, partial="x + x", reference="x ** 2")
unary(
    np.reciprocal, partial="-out * out", singular=True, reference="1 / x", points=LINE[1:], edges={(0.0,): (-inf,)}
)  # fmt: skip


def _power_literal(param: str, values: Mapping[str, Any]) -> str | None:
    """Partials of ``x ** y`` for a constant exponent or a constant base, without the general power."""
    if param == "y":
        base = values.get("x")
        return f"out * {math.log(base)!r}" if isinstance(base, (int, float)) and 0 < base < inf else None
    n = values.get("y")
    if not isinstance(n, (int, float)) or isinstance(n, bool):
        return None
    if n == 0.5:
        return "0.5 / out"
    if n != int(n):
        return f"{n!r} * x ** {n - 1!r}"
    n = int(n)
    known = {0: "0.0", 1: "1.0", 2: "x + x", 3: "3.0 * (x * x)", -1: "-(out * out)"}
    text = known.get(n, f"{float(n)!r} * x ** {n - 1}" if abs(n) < 64 else None)
    return Regular(text) if text is not None and n >= 0 else text


_POWER = {
    "singular": True,
    "literal": _power_literal,
    "points": ((2.0, 3.5), (2.0, -1.5), (0.5, 2.0), (3.0, 0.0), (3.0, 1.0)),
    "edges": {
        (0.0, 0.0): (0.0, 0.0), (0.0, 1.0): (1.0, 0.0), (0.0, 2.0): (0.0, 0.0), (0.0, 0.5): (inf, 0.0),
        (0.0, 1.5): (0.0, 0.0), (-2.0, 0.0): (0.0, nan), (-2.0, 3.0): (12.0, nan), (inf, 0.0): (0.0, inf),
        (nan, 0.0): (0.0, nan), (-0.5, 3.0): (0.75, nan), (-0.5, -2.0): (16.0, nan), (-0.5, 1.0): (1.0, nan),
    },
    "complex": ScalarRule(
        params=("x", "y"), partials=("y * x ** (y - 1)", "out * np.log(x)"), singular=True, literal=_power_literal,
        points=((1.0 + 2.0j, 2.5 + 0.5j),),
    ),
    "note": "x ** 0 has slope 0; the slope in the exponent is nan for a negative base, if asked for",
}  # fmt: skip
binary(operator.pow, pow, math.pow, np.power, np.float_power, dx="pow_dx(x, y)", dy="pow_dy(x, y)", **_POWER)
binary(
    kernels.pow_dx, dx="mul0(y, pow_dx(x, y - 1))", dy="pow_dxdy(x, y)", singular=True, points=((2.0, 3.5), (0.5, -1.5)),
    edges={(0.0, 1.0): (0.0, -inf), (0.0, 2.0): (2.0, 0.0), (-2.0, 2.0): (2.0, nan)},
)  # fmt: skip
binary(
    kernels.pow_dy, dx="pow_dxdy(x, y)", dy="pow_dy(x, y) * math.log(x) if x != 0 else 0.0", singular=True,
    points=((2.0, 3.5), (0.5, -1.5)), edges={(0.0, 1.5): (0.0, 0.0)},
)  # fmt: skip
binary(kernels.mul0, dx="y", dy="x", singular=True, points=((2.0, 3.0),), edges={(0.0, 3.0): (3.0, 0.0)})
binary(
    kernels.div0, dx="1.0 / y", dy="-div0(out, y)", singular=True, points=((2.0, 3.0),),
    edges={(0.0, 0.0): (inf, 0.0), (0.0, 2.0): (0.5, 0.0)},
)  # fmt: skip
register(ZeroRule(functions=(kernels.larger, kernels.smaller, kernels.larger_number, kernels.smaller_number, kernels.same, kernels.ldexp1)))

# ----- conversions: the value stays -----------------------------------------------------------------

unary(
    float, np.float64, np.float32, nbtypes.float64, nbtypes.float32, np.float16, nbtypes.complex64, nbtypes.complex128,
    np.complex64, np.complex128, partial="1.0", reference="x",
)  # fmt: skip
scalar(
    complex, params=("x", "y"), keywords=("real", "imag"), push=("dot * (1.0 + 0.0j)", "dot * 1j"),
    pull=("np.real(ct)", "np.imag(ct)"), points=((1.0, 2.0),),
)  # fmt: skip

# ----- kinks and selections ---------------------------------------------------------------------------

_ABS = ScalarRule(
    push=("np.real(np.conj(ratio0(x, out)) * dot)",), pull=("ct * ratio0(x, out)",), points=((1 + 2j,),), edges={(0j,): (0.0,)}
)
unary(
    abs, np.absolute, np.fabs, math.fabs, partial="np.sign(x)", points=LINE[1:], edges={(0.0,): (0.0,), (-0.0,): (0.0,)},
    complex=_ABS, reference="abs(x)",
)  # fmt: skip
binary(
    math.copysign, np.copysign, dx="np.sign(x) * math.copysign(1.0, y)", dy=None, edges={(0.0, -1.0): (0.0, None)},
)  # fmt: skip
binary(
    np.maximum, dx="larger(x, y)", dy="larger(y, x)", select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (1.0, 0.0), (1.0, nan): (0.0, 1.0)},
)  # fmt: skip
binary(
    np.minimum, dx="smaller(x, y)", dy="smaller(y, x)", select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (1.0, 0.0), (1.0, nan): (0.0, 1.0)},
)  # fmt: skip
binary(
    np.fmax, dx="larger_number(x, y)", dy="larger_number(y, x)", select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (0.0, 1.0), (1.0, nan): (1.0, 0.0)},
)  # fmt: skip
binary(
    np.fmin, dx="smaller_number(x, y)", dy="smaller_number(y, x)", select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (0.0, 1.0), (1.0, nan): (1.0, 0.0)},
)  # fmt: skip


def _extremum(fn: Any, weight: str) -> Any:
    """The builtins `max` and `min` for any number of operands: equal shares among those tied."""

    def choose(types):
        n = len(types)
        if n < 2:
            return None  # of an iterable: Numba's implementation is a readable loop
        if n == 2:
            return ScalarRule(
                functions=(fn,), params=("x", "y"), partials=(f"{weight}(x, y)", f"{weight}(y, x)"), select=True,
                points=PLANE, edges={(1.0, 1.0): (0.5, 0.5)},
            )  # fmt: skip
        names = tuple(f"x{k}" for k in range(n))
        total = " + ".join(f"same({name}, out)" for name in names)
        return ScalarRule(
            functions=(fn,), params=names, partials=tuple(f"same({name}, out) / ({total})" for name in names), select=True,
            points=(tuple(float((7 * k) % n) for k in range(n)), tuple(-float(k) for k in range(n))),
            edges={(2.0,) * n: (1.0 / n,) * n},
        )  # fmt: skip

    return choose


scalar(max, choose=_extremum(max, "larger"))
scalar(min, choose=_extremum(min, "smaller"))


def _clip(types):
    """``np.clip`` with both bounds, or with None for one of them."""
    none = [isinstance(t, (nbtypes.NoneType, nbtypes.Omitted)) or t is None for t in types]
    lo, hi = (len(types) > 1 and not none[1]), (len(types) > 2 and not none[2])
    if lo and hi:
        partials = (
            "larger(x, lo) * smaller(max(x, lo), hi)",
            "larger(lo, x) * smaller(max(x, lo), hi)",
            "smaller(hi, max(x, lo))",
        )
        return replace(_CLIP, choose=None, value="min(max(x, lo), hi)", partials=partials, points=_CLIP_POINTS, edges={
            (1.0, 1.0, 4.0): (0.5, 0.5, 0.0), (4.0, 1.0, 4.0): (0.5, 0.0, 0.5)})  # fmt: skip
    if lo:
        return replace(_CLIP, choose=None, value="max(x, lo)", partials=("larger(x, lo)", "larger(lo, x)", None))
    return replace(_CLIP, choose=None, value="min(x, hi)", partials=("smaller(x, hi)", None, "smaller(hi, x)"))


_CLIP_POINTS = ((0.5, 1.0, 4.0), (2.0, 1.0, 4.0), (9.0, 1.0, 4.0), (-3.0, -2.0, -1.0))
_CLIP = ScalarRule(
    functions=(np.clip,), methods=("clip",), params=("x", "lo", "hi"), keywords=("a", "a_min", "a_max"), select=True,
    choose=_clip, note="as min(max(x, lo), hi): half each where they tie",
)  # fmt: skip
register(_CLIP)

scalar(
    np.where, params=("c", "x", "y"), keywords=("condition", "x", "y"), value="x if c else y",
    push=(None, "dot if c else 0.0", "0.0 if c else dot"), pull=(None, "ct if c else 0.0", "0.0 if c else ct"),
    points=((True, 2.0, 3.0), (False, 2.0, 3.0)),
    choose=lambda types: None if len(types) < 3 else replace(lookup_where(), choose=None),
    note="with one argument a shape query: see `np.nonzero`",
)  # fmt: skip


def lookup_where() -> ScalarRule:
    from jitgrad.rules.registry import lookup

    return lookup(np.where)


scalar(
    np.nan_to_num, params=("x", "copy", "nan", "posinf", "neginf"), push=("dot if np.isfinite(x) else 0.0", None, None, None, None),
    pull=("ct if np.isfinite(x) else 0.0", None, None, None, None), points=((2.0,), (-3.0,)),
    note="elements that are replaced have slope zero, and the replacements are constants",
)  # fmt: skip

# ----- complex parts --------------------------------------------------------------------------------

unary(
    np.conjugate, methods=("number.conjugate", "conj", "conjugate"), partial="1.0", points=LINE[:2],
    complex=ScalarRule(push=("np.conj(dot)",), pull=("np.conj(ct)",), points=((1 + 2j,),)),
)  # fmt: skip
# .real and .imag of arrays are views, see shapes.py; NumPy's functions on scalars are these
unary(
    np.real, attributes=("number.real",), partial="1.0", points=LINE[:2],
    complex=ScalarRule(push=("np.real(dot)",), pull=("ct * (1.0 + 0.0j)",), points=((1 + 2j,),)),
)  # fmt: skip
scalar(
    np.imag, attributes=("number.imag",), partials=(None,),
    complex=ScalarRule(push=("np.imag(dot)",), pull=("ct * 1j",), points=((1 + 2j,),)),
)  # fmt: skip
_ANGLE = ScalarRule(
    params=("x", "deg"),
    push=("np.imag(np.conj(x) * dot) / (np.real(x) ** 2 + np.imag(x) ** 2) * (57.29577951308232 if deg else 1.0)", None),
    pull=("ct * (57.29577951308232 if deg else 1.0) * (1j * x) / (np.real(x) ** 2 + np.imag(x) ** 2)", None),
    points=((1 + 2j, False), (1 + 2j, True), (-3 - 2j, False)),
)
scalar(
    np.angle, params=("x", "deg"), keywords=("z", "deg"), partials=(None, None), complex=_ANGLE,
    choose=lambda types: replace(_ANGLE_ONE, functions=(np.angle,)) if len(types) == 1 else replace(_ANGLE_TWO, functions=(np.angle,)),
)  # fmt: skip
_PHASE = ScalarRule(
    push=("np.imag(np.conj(x) * dot) / (np.real(x) ** 2 + np.imag(x) ** 2)",),
    pull=("ct * (1j * x) / (np.real(x) ** 2 + np.imag(x) ** 2)",), points=((1 + 2j,), (-3 - 2j,)),
)  # fmt: skip
_ANGLE_ONE = ScalarRule(params=("x",), partials=(None,), complex=_PHASE)
_ANGLE_TWO = ScalarRule(params=("x", "deg"), partials=(None, None), complex=_ANGLE)
scalar(cmath.phase, params=("x",), partials=(None,), complex=_PHASE)

# ----- powers, exponentials, logarithms ---------------------------------------------------------------

unary(
    math.sqrt, np.sqrt, cmath.sqrt, partial="0.5 / out", singular=True, points=POSITIVE, edges={(0.0,): (inf,)}, reference="sqrt(x)"
)  # fmt: skip
unary(np.cbrt, partial="1.0 / (3.0 * (out * out))", singular=True, points=(*POSITIVE, (-2.0,)), edges={(0.0,): (inf,)}, reference="sign(x) * cbrt(abs(x))")
unary(math.exp, np.exp, cmath.exp, partial="out", reference="exp(x)")
unary(np.exp2, *([math.exp2] if hasattr(math, "exp2") else []), partial=f"{LN2!r} * out", reference="2 ** x")
unary(math.expm1, np.expm1, partial="out + 1.0", reference="expm1(x)", note="absolute precision for large negative x")
unary(math.log, np.log, partial="1.0 / x", singular=True, points=POSITIVE, edges={(0.0,): (inf,)}, reference="log(x)")
_CLOG = ScalarRule(functions=(cmath.log,), partials=("1.0 / x",), singular=True, points=((1.0 + 2.0j,), (-1.0 - 2.0j,)))
_CLOG_BASE = replace(
    _CLOG, params=("x", "y"), partials=("1.0 / (x * np.log(y))", "-out / (y * np.log(y))"), points=((1.0 + 2.0j, 0.5 + 1.0j),)
)  # fmt: skip
register(replace(_CLOG, params=("x", "y"), choose=lambda types: _CLOG if len(types) < 2 else _CLOG_BASE))
unary(math.log2, np.log2, partial=f"{1 / LN2!r} / x", singular=True, points=POSITIVE, edges={(0.0,): (inf,)}, reference="log(x, 2)")
unary(
    math.log10, np.log10, cmath.log10, partial=f"{1 / LN10!r} / x", singular=True, points=POSITIVE, edges={(0.0,): (inf,)},
    reference="log10(x)",
)  # fmt: skip
unary(
    math.log1p, np.log1p, partial="1.0 / (1.0 + x)", singular=True, points=(*POSITIVE, (0.0,), (-0.5,), (1e-300,)),
    edges={(-1.0,): (inf,)}, reference="log1p(x)",
)  # fmt: skip
_LSE = ((1.0, 2.0), (2.0, 1.0), (-800.0, 3.0), (3.0, -800.0), (700.0, 710.0), (0.0, 0.0))
binary(
    np.logaddexp, dx="lse_weight(x, y)", dy="lse_weight(y, x)", points=_LSE, reference="max(x, y) + log1p(exp(-abs(x - y)))",
    edges={(-inf, 1.0): (0.0, 1.0), (1.0, -inf): (1.0, 0.0), (-inf, -inf): (0.5, 0.5), (inf, 1.0): (1.0, 0.0)},
)  # fmt: skip
binary(
    np.logaddexp2, dx="lse2_weight(x, y)", dy="lse2_weight(y, x)", points=_LSE, reference="max(x, y) + log1p(2 ** -abs(x - y)) / log(2)",
    edges={(-inf, 1.0): (0.0, 1.0), (-inf, -inf): (0.5, 0.5)},
)  # fmt: skip
binary(kernels.lse_weight, dx="out * (1.0 - out)", dy="-out * (1.0 - out)", points=((1.0, 2.0), (0.0, 0.0)))
binary(kernels.lse2_weight, dx=f"{LN2!r} * (out * (1.0 - out))", dy=f"-{LN2!r} * (out * (1.0 - out))", points=((1.0, 2.0), (0.0, 0.0)))

# ----- trigonometric and hyperbolic ---------------------------------------------------------------------

unary(math.sin, np.sin, cmath.sin, partial="np.cos(x)", reference="sin(x)", points=(*LINE, (1e5,)))
unary(math.cos, np.cos, cmath.cos, partial="-np.sin(x)", reference="cos(x)", points=(*LINE, (1e5,)))
unary(math.tan, np.tan, cmath.tan, partial="1.0 + out * out", reference="tan(x)")
_ASIN = ScalarRule(partials=("1.0 / np.sqrt((1.0 - x) * (1.0 + x))",), singular=True, points=((0.3 + 0.4j,), (2.0 + 1.0j,)))
unary(
    math.asin, np.arcsin, cmath.asin, partial="1.0 / np.sqrt((1.0 - x) * (1.0 + x))", singular=True, points=UNIT,
    edges={(1.0,): (inf,), (-1.0,): (inf,)}, reference="asin(x)",
)  # fmt: skip
unary(
    math.acos, np.arccos, cmath.acos, partial="-1.0 / np.sqrt((1.0 - x) * (1.0 + x))", singular=True, points=UNIT,
    edges={(1.0,): (-inf,), (-1.0,): (-inf,)}, reference="acos(x)",
)  # fmt: skip
unary(math.atan, np.arctan, cmath.atan, partial="1.0 / (1.0 + x * x)", reference="atan(x)", points=(*LINE, (1e8,)))
_ATAN2_POINTS = (*PLANE, (0.0, 1.0), (1.0, 0.0), (-1.0, 0.0), (1e-200, 2e-200), (1e200, -3e200))
binary(
    math.atan2, np.arctan2, dx="over_norm2(y, x)", dy="-over_norm2(x, y)", singular=True, points=_ATAN2_POINTS,
    reference="atan2(x, y)", edges={(0.0, 0.0): (nan, nan)}, note="no slope at the origin: nan",
)  # fmt: skip
binary(
    math.hypot, np.hypot, dx="ratio0(x, out)", dy="ratio0(y, out)", reference="sqrt(x * x + y * y)",
    points=(*PLANE, (3e200, 4e200), (0.0, -2.0)), edges={(0.0, 0.0): (0.0, 0.0)}, note="slope 0 at the origin",
)  # fmt: skip
unary(math.sinh, np.sinh, cmath.sinh, partial="np.cosh(x)", reference="sinh(x)")
unary(math.cosh, np.cosh, cmath.cosh, partial="np.sinh(x)", reference="cosh(x)")
unary(
    math.tanh, np.tanh, cmath.tanh, partial="1.0 - out * out", reference="tanh(x)", note="absolute precision for large |x|"
)  # fmt: skip
unary(
    math.asinh, np.arcsinh, cmath.asinh, partial="1.0 / np.hypot(1.0, x)", reference="asinh(x)", points=(*LINE, (1e200,)),
    complex=ScalarRule(partials=("1.0 / np.sqrt(x * x + 1.0)",), singular=True, points=((0.3 + 0.4j,), (2.0 + 1.0j,))),
)  # fmt: skip
unary(
    math.acosh, np.arccosh, cmath.acosh, partial="1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))", singular=True,
    points=((1.001,), (2.0,), (1e200,)), edges={(1.0,): (inf,)}, reference="acosh(x)",
)  # fmt: skip
unary(
    math.atanh, np.arctanh, cmath.atanh, partial="1.0 / ((1.0 - x) * (1.0 + x))", singular=True, points=UNIT,
    edges={(1.0,): (inf,), (-1.0,): (inf,)}, reference="atanh(x)",
)  # fmt: skip
unary(math.degrees, np.degrees, np.rad2deg, partial=repr(180.0 / math.pi), reference="x * 180 / pi")
unary(math.radians, np.radians, np.deg2rad, partial=repr(math.pi / 180.0), reference="x * pi / 180")

# ----- binary representation -----------------------------------------------------------------------------

binary(math.ldexp, np.ldexp, dx="ldexp1(y)", dy=None, points=((1.5, 3), (-1.5, -3)))
binary(math.nextafter, np.nextafter, dx="1.0", dy=None, points=((1.5, 3.0),))

# ----- derivative zero -----------------------------------------------------------------------------------

register(
    ZeroRule(
        functions=tuple(
            dict.fromkeys(
                [
                    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.is_, operator.is_not,
                    operator.not_, operator.and_, operator.or_, operator.xor, operator.invert, operator.lshift, operator.rshift,
                    operator.floordiv, operator.contains, operator.truth, bool, int, len, hash, str, repr, ord, chr, isinstance,
                    hasattr, type, range, slice, print,
                    math.floor, math.ceil, math.trunc, math.isnan, math.isinf, math.isfinite, math.gcd, cmath.isnan, cmath.isinf,
                    cmath.isfinite, np.floor, np.ceil, np.trunc, np.rint, np.sign, np.floor_divide, np.isnan, np.isinf, np.isfinite,
                    np.signbit, np.spacing, np.gcd, np.lcm, np.isnat, np.equal, np.not_equal, np.less, np.less_equal, np.greater,
                    np.greater_equal, np.logical_and, np.logical_or, np.logical_xor, np.logical_not, np.bitwise_and,
                    np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, round, np.round, np.around,
                    np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.intp, np.uintp,
                    nbtypes.boolean, nbtypes.int8, nbtypes.int16, nbtypes.int32, nbtypes.int64, nbtypes.uint8, nbtypes.uint16,
                    nbtypes.uint32, nbtypes.uint64, nbtypes.intp, nbtypes.uintp,
                ]
            )
        ),
        methods=("number.bit_count", "number.bit_length"),
        note="piecewise constant",
    )
)  # fmt: skip

# ----- two results -----------------------------------------------------------------------------------------


@kernels.compiled
def _divmod_push_x(dot):
    return (dot * 0, dot)


@kernels.compiled
def _divmod_push_y(dot, out):
    return (dot * 0, kernels.mul0(dot, -out[0]))


@kernels.compiled
def _divmod_pull_x(ct):
    return ct[1]


@kernels.compiled
def _divmod_pull_y(ct, out):
    return kernels.mul0(ct[1], -out[0])


register(
    ArrayRule(
        functions=(divmod, np.divmod), params="x, y", push={"x": _divmod_push_x, "y": _divmod_push_y},
        pull={"x": _divmod_pull_x, "y": _divmod_pull_y}, cases=(lambda rng: (7.3, 2.0), lambda rng: (-7.3, 2.0)),
    )
)  # fmt: skip


@kernels.compiled
def _frexp_push(dot, out):
    return (math.ldexp(dot, -out[1]), 0)


@kernels.compiled
def _frexp_pull(ct, out):
    return math.ldexp(ct[0], -out[1])


register(
    ArrayRule(
        functions=(math.frexp,), params="x", push={"x": _frexp_push}, pull={"x": _frexp_pull}, cases=(lambda rng: (7.3,), lambda rng: (-0.2,))
    )
)
