"""Scalar rules of elementary functions: powers, exponentials, trigonometry; and those with derivative zero.

One row per function. Functions that differ only in name (`math.sin`, `np.sin`, `cmath.sin`) share a row.
"""

from __future__ import annotations

import cmath
import math
import operator
from dataclasses import replace

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.arithmetic import LINE, PLANE, binary, inf, nan, unary
from jitgrad.rules.registry import ArrayRule, ScalarRule, ZeroRule, register
from jitgrad.runtime import kernels

LN2, LN10 = math.log(2.0), math.log(10.0)
# Points for functions defined on the positive half line, on the open unit interval
POSITIVE = ((1e-3,), (0.5,), (1.0,), (3.0,), (1e6,))
UNIT = ((0.0,), (0.3,), (-0.3,), (0.999,), (-0.999,))

# ----- powers, exponentials, logarithms ------------------------------------------------------------

unary(
    math.sqrt,
    np.sqrt,
    cmath.sqrt,
    partial="0.5 / out",
    singular=True,
    points=POSITIVE,
    edges={(0.0,): (inf,)},
    reference="sqrt(x)",
)
unary(
    np.cbrt,
    partial="1.0 / (3.0 * (out * out))",
    singular=True,
    points=(*POSITIVE, (-2.0,)),
    edges={(0.0,): (inf,)},
    reference="sign(x) * cbrt(abs(x))",
)
unary(math.exp, np.exp, cmath.exp, partial="out", reference="exp(x)", overflows=True)
unary(
    np.exp2,
    *([math.exp2] if hasattr(math, "exp2") else []),
    partial=f"{LN2!r} * out",
    reference="2 ** x",
    overflows=True,
)
unary(
    math.expm1,
    np.expm1,
    partial="out + 1.0",
    reference="expm1(x)",
    overflows=True,
    note="absolute precision for large negative x",
)
unary(math.log, np.log, partial="1.0 / x", singular=True, points=POSITIVE, edges={(0.0,): (inf,)}, reference="log(x)")
_CLOG = ScalarRule(functions=(cmath.log,), partials=("1.0 / x",), singular=True, points=((1.0 + 2.0j,), (-1.0 - 2.0j,)))
_CLOG_BASE = replace(
    _CLOG,
    params=("x", "y"),
    partials=("1.0 / (x * np.log(y))", "-out / (y * np.log(y))"),
    points=((1.0 + 2.0j, 0.5 + 1.0j),),
)
register(replace(_CLOG, params=("x", "y"), choose=lambda types: _CLOG if len(types) < 2 else _CLOG_BASE))
unary(
    math.log2,
    np.log2,
    partial=f"{1 / LN2!r} / x",
    singular=True,
    points=POSITIVE,
    edges={(0.0,): (inf,)},
    reference="log(x, 2)",
)
unary(
    math.log10,
    np.log10,
    cmath.log10,
    partial=f"{1 / LN10!r} / x",
    singular=True,
    points=POSITIVE,
    edges={(0.0,): (inf,)},
    reference="log10(x)",
)
unary(
    math.log1p,
    np.log1p,
    partial="1.0 / (1.0 + x)",
    singular=True,
    points=(*POSITIVE, (0.0,), (-0.5,), (1e-300,)),
    edges={(-1.0,): (inf,)},
    reference="log1p(x)",
)
_LSE = ((1.0, 2.0), (2.0, 1.0), (-800.0, 3.0), (3.0, -800.0), (700.0, 710.0), (0.0, 0.0))
binary(
    np.logaddexp,
    dx="lse_weight(x, y)",
    dy="lse_weight(y, x)",
    points=_LSE,
    reference="max(x, y) + log1p(exp(-abs(x - y)))",
    edges={(-inf, 1.0): (0.0, 1.0), (1.0, -inf): (1.0, 0.0), (-inf, -inf): (0.5, 0.5), (inf, 1.0): (1.0, 0.0)},
)
binary(
    np.logaddexp2,
    dx="lse2_weight(x, y)",
    dy="lse2_weight(y, x)",
    points=_LSE,
    reference="max(x, y) + log1p(2 ** -abs(x - y)) / log(2)",
    edges={(-inf, 1.0): (0.0, 1.0), (-inf, -inf): (0.5, 0.5)},
)
binary(kernels.lse_weight, dx="out * (1.0 - out)", dy="-out * (1.0 - out)", points=((1.0, 2.0), (0.0, 0.0)))
binary(
    kernels.lse2_weight,
    dx=f"{LN2!r} * (out * (1.0 - out))",
    dy=f"-{LN2!r} * (out * (1.0 - out))",
    points=((1.0, 2.0), (0.0, 0.0)),
)

# ----- trigonometric and hyperbolic ----------------------------------------------------------------

unary(math.sin, np.sin, cmath.sin, partial="np.cos(x)", reference="sin(x)", points=(*LINE, (1e5,)))
unary(math.cos, np.cos, cmath.cos, partial="-np.sin(x)", reference="cos(x)", points=(*LINE, (1e5,)))
unary(math.tan, np.tan, cmath.tan, partial="1.0 + out * out", reference="tan(x)")
_ASIN = ScalarRule(
    partials=("1.0 / np.sqrt((1.0 - x) * (1.0 + x))",), singular=True, points=((0.3 + 0.4j,), (2.0 + 1.0j,))
)
unary(
    math.asin,
    np.arcsin,
    cmath.asin,
    partial="1.0 / np.sqrt((1.0 - x) * (1.0 + x))",
    singular=True,
    points=UNIT,
    edges={(1.0,): (inf,), (-1.0,): (inf,)},
    reference="asin(x)",
)
unary(
    math.acos,
    np.arccos,
    cmath.acos,
    partial="-1.0 / np.sqrt((1.0 - x) * (1.0 + x))",
    singular=True,
    points=UNIT,
    edges={(1.0,): (-inf,), (-1.0,): (-inf,)},
    reference="acos(x)",
)
unary(math.atan, np.arctan, cmath.atan, partial="1.0 / (1.0 + x * x)", reference="atan(x)", points=(*LINE, (1e8,)))
_ATAN2_POINTS = (*PLANE, (0.0, 1.0), (1.0, 0.0), (-1.0, 0.0), (1e-200, 2e-200), (1e200, -3e200))
binary(
    math.atan2,
    np.arctan2,
    dx="over_norm2(y, x)",
    dy="-over_norm2(x, y)",
    singular=True,
    points=_ATAN2_POINTS,
    reference="atan2(x, y)",
    edges={(0.0, 0.0): (nan, nan)},
    note="no slope at the origin: nan",
)
binary(
    kernels.over_norm2,
    dx="(over_norm2(y, x) - out) * (over_norm2(y, x) + out)",
    dy="-2.0 * out * over_norm2(y, x)",
    reference="x / (x * x + y * y)",
    points=(*PLANE, (0.0, 1.0), (1.0, 0.0)),
)
binary(
    math.hypot,
    np.hypot,
    dx="ratio0(x, out)",
    dy="ratio0(y, out)",
    reference="sqrt(x * x + y * y)",
    points=(*PLANE, (3e200, 4e200), (0.0, -2.0)),
    edges={(0.0, 0.0): (0.0, 0.0)},
    note="slope 0 at the origin",
)
unary(math.sinh, np.sinh, cmath.sinh, partial="np.cosh(x)", reference="sinh(x)", overflows=True)
unary(math.cosh, np.cosh, cmath.cosh, partial="np.sinh(x)", reference="cosh(x)", overflows=True)
unary(
    math.tanh,
    np.tanh,
    cmath.tanh,
    partial="1.0 - out * out",
    reference="tanh(x)",
    note="absolute precision for large |x|",
)
unary(
    math.asinh,
    np.arcsinh,
    cmath.asinh,
    partial="1.0 / np.hypot(1.0, x)",
    reference="asinh(x)",
    points=(*LINE, (1e200,)),
    complex=ScalarRule(partials=("1.0 / np.sqrt(x * x + 1.0)",), singular=True, points=((0.3 + 0.4j,), (2.0 + 1.0j,))),
)
unary(
    math.acosh,
    np.arccosh,
    cmath.acosh,
    partial="1.0 / (np.sqrt(x - 1.0) * np.sqrt(x + 1.0))",
    singular=True,
    points=((1.001,), (2.0,), (1e200,)),
    edges={(1.0,): (inf,)},
    reference="acosh(x)",
)
unary(
    math.atanh,
    np.arctanh,
    cmath.atanh,
    partial="1.0 / ((1.0 - x) * (1.0 + x))",
    singular=True,
    points=UNIT,
    edges={(1.0,): (inf,), (-1.0,): (inf,)},
    reference="atanh(x)",
)
unary(math.degrees, np.degrees, np.rad2deg, partial=repr(180.0 / math.pi), reference="x * 180 / pi")
unary(math.radians, np.radians, np.deg2rad, partial=repr(math.pi / 180.0), reference="x * pi / 180")

# ----- binary representation -----------------------------------------------------------------------

binary(math.ldexp, np.ldexp, dx="ldexp1(y)", dy=None, points=((1.5, 3), (-1.5, -3)))
binary(math.nextafter, np.nextafter, dx="1.0", dy=None, points=((1.5, 3.0),))

# ----- derivative zero -----------------------------------------------------------------------------

register(
    ZeroRule(
        functions=tuple(
            dict.fromkeys(
                [
                    operator.eq,
                    operator.ne,
                    operator.lt,
                    operator.le,
                    operator.gt,
                    operator.ge,
                    operator.is_,
                    operator.is_not,
                    operator.not_,
                    operator.and_,
                    operator.or_,
                    operator.xor,
                    operator.invert,
                    operator.lshift,
                    operator.rshift,
                    operator.floordiv,
                    operator.contains,
                    operator.truth,
                    bool,
                    int,
                    len,
                    hash,
                    str,
                    repr,
                    ord,
                    chr,
                    isinstance,
                    hasattr,
                    type,
                    range,
                    slice,
                    print,
                    math.floor,
                    math.ceil,
                    math.trunc,
                    math.isnan,
                    math.isinf,
                    math.isfinite,
                    math.gcd,
                    cmath.isnan,
                    cmath.isinf,
                    cmath.isfinite,
                    np.floor,
                    np.ceil,
                    np.trunc,
                    np.rint,
                    np.sign,
                    np.floor_divide,
                    np.isnan,
                    np.isinf,
                    np.isfinite,
                    np.signbit,
                    np.spacing,
                    np.gcd,
                    np.lcm,
                    np.isnat,
                    np.equal,
                    np.not_equal,
                    np.less,
                    np.less_equal,
                    np.greater,
                    np.greater_equal,
                    np.logical_and,
                    np.logical_or,
                    np.logical_xor,
                    np.logical_not,
                    np.bitwise_and,
                    np.bitwise_or,
                    np.bitwise_xor,
                    np.invert,
                    np.left_shift,
                    np.right_shift,
                    round,
                    np.round,
                    np.around,
                    np.bool_,
                    np.int8,
                    np.int16,
                    np.int32,
                    np.int64,
                    np.uint8,
                    np.uint16,
                    np.uint32,
                    np.uint64,
                    np.intp,
                    np.uintp,
                    nbtypes.boolean,
                    nbtypes.int8,
                    nbtypes.int16,
                    nbtypes.int32,
                    nbtypes.int64,
                    nbtypes.uint8,
                    nbtypes.uint16,
                    nbtypes.uint32,
                    nbtypes.uint64,
                    nbtypes.intp,
                    nbtypes.uintp,
                ]
            )
        ),
        methods=("number.bit_count", "number.bit_length"),
        note="piecewise constant",
    )
)

# ----- two results ---------------------------------------------------------------------------------


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
        functions=(divmod, np.divmod),
        params="x, y",
        push={"x": _divmod_push_x, "y": _divmod_push_y},
        pull={"x": _divmod_pull_x, "y": _divmod_pull_y},
        cases=(lambda rng: (7.3, 2.0), lambda rng: (-7.3, 2.0)),
    )
)


@kernels.compiled
def _frexp_push(dot, out):
    return (math.ldexp(dot, -out[1]), 0)


@kernels.compiled
def _frexp_pull(ct, out):
    return math.ldexp(ct[0], -out[1])


register(
    ArrayRule(
        functions=(math.frexp,),
        params="x",
        push={"x": _frexp_push},
        pull={"x": _frexp_pull},
        cases=(lambda rng: (7.3,), lambda rng: (-0.2,)),
    )
)
