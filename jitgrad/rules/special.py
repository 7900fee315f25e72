"""Scalar rules of special functions, and of the helpers that their partials use."""

from __future__ import annotations

import math

import numpy as np

from jitgrad.rules.arithmetic import LINE, scalar, unary
from jitgrad.rules.registry import RefusedRule, register
from jitgrad.runtime import kernels

TWO_OVER_SQRT_PI = 2.0 / math.sqrt(math.pi)
_AROUND_POLES = ((0.3,), (1.0,), (1.4616321449683622,), (2.0,), (7.5,), (30.0,), (-0.5,), (-1.5,), (-3.7,))

unary(math.erf, partial=f"{TWO_OVER_SQRT_PI!r} * np.exp(-(x * x))", reference="erf(x)")
unary(math.erfc, partial=f"-{TWO_OVER_SQRT_PI!r} * np.exp(-(x * x))", reference="erfc(x)", points=(*LINE, (5.0,)))
unary(math.gamma, partial="out * digamma(x)", reference="gamma(x)", singular=True, points=_AROUND_POLES)
unary(
    math.lgamma,
    partial="digamma(x)",
    reference="loggamma(abs(x)) if x > 0 else log(abs(gamma(x)))",
    singular=True,
    points=(*_AROUND_POLES, (1e5,), (1e-5,)),
    edges={(0.0,): (math.nan,), (-2.0,): (math.nan,)},
)
unary(kernels.digamma, partial="polygamma(1, x)", reference="digamma(x)", singular=True, points=_AROUND_POLES)
scalar(
    kernels.polygamma,
    params=("x", "y"),
    partials=(None, "polygamma(x + 1, y)"),
    singular=True,
    points=tuple((n, x) for n in (1, 2, 3) for (x,) in _AROUND_POLES if x != -1.5),
    reference="polygamma(int(x), y)",
)
unary(
    np.sinc,
    partial="sinc_derivative(1, x)",
    reference="sinc(pi * x)",
    points=(*LINE[1:], (1.0,), (20.3,), (1e-3,)),
    edges={(0.0,): (0.0,)},
)
scalar(
    kernels.sinc_derivative,
    params=("x", "y"),
    partials=(None, "sinc_derivative(x + 1, y)"),
    points=tuple((n, x) for n in (1, 2, 3) for x in (0.0, 0.1, 1.0, -2.3, 9.7)),
    reference="diff(lambda t: sinc(pi * t), y, int(x))",
)
register(
    RefusedRule(
        functions=(np.polynomial.polynomial.Polynomial,),
        reason="its coefficients live inside an object",
        way_out="keep the coefficients in an array and call np.polynomial.polynomial.polyval",
    )
)
