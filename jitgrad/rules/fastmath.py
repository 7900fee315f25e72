"""Scalar rules of the kernels in `jitgrad.fastmath`: derivatives are kernels again."""

from __future__ import annotations

from jitgrad import fastmath
from jitgrad.rules.arithmetic import LINE, binary, inf, nan, unary
from jitgrad.rules.elementwise import POSITIVE
from jitgrad.rules.special import TWO_OVER_SQRT_PI

unary(fastmath.exp, partial="out", reference="exp(x)", overflows=True)
unary(
    fastmath.expm1,
    partial="out + 1.0",
    reference="expm1(x)",
    overflows=True,
    note="absolute precision for large negative x",
)
unary(fastmath.log, partial="1.0 / x", singular=True, points=POSITIVE, edges={(0.0,): (inf,)}, reference="log(x)")
unary(
    fastmath.log1p,
    partial="1.0 / (1.0 + x)",
    singular=True,
    points=(*POSITIVE, (0.0,), (-0.5,), (1e-300,)),
    edges={(-1.0,): (inf,)},
    reference="log1p(x)",
)
unary(fastmath.sin, partial="fastmath.cos(x)", reference="sin(x)", points=(*LINE, (1e5,), (2e6,)))
unary(fastmath.cos, partial="-fastmath.sin(x)", reference="cos(x)", points=(*LINE, (1e5,), (2e6,)))
unary(fastmath.tan, partial="1.0 + out * out", reference="tan(x)")
unary(fastmath.tanh, partial="1.0 - out * out", reference="tanh(x)", note="absolute precision for large |x|")
unary(
    fastmath.sigmoid,
    partial="out * (1.0 - out)",
    reference="1 / (1 + exp(-x))",
    note="absolute precision for large positive x",
)
unary(fastmath.erf, partial=f"{TWO_OVER_SQRT_PI!r} * fastmath.exp(-(x * x))", reference="erf(x)")
binary(
    fastmath.pow,
    dx="mul0(y, fastmath.pow(x, y - 1.0))",
    dy="mul0(out, fastmath.log(x)) if x != 0.0 or y < 0.0 else 0.0",
    singular=True,
    points=((2.0, 3.5), (2.0, -1.5), (0.5, 2.0), (3.0, 0.0), (3.0, 1.0)),
    edges={
        (0.0, 0.0): (0.0, 0.0),
        (0.0, 1.0): (1.0, 0.0),
        (0.0, 0.5): (inf, 0.0),
        (-2.0, 0.0): (0.0, nan),
        (-2.0, 3.0): (12.0, nan),
        (inf, 0.0): (0.0, inf),
    },
    reference="x ** y",
    note="x ** 0 has slope 0; the slope in the exponent is nan for a negative base, if asked for",
)
