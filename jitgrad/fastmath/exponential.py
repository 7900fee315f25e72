"""exp, expm1, tanh and sigmoid.

``x = n log(2) + r`` with ``abs(r) <= log(2) / 2``; ``exp(r) - 1`` is a polynomial, ``2**n`` is put into the exponent.
The difference ``exp(r) - 1`` is kept as long as it can be, so that expm1 and tanh lose nothing near zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jitgrad.fastmath.formats import DOUBLE, SINGLE, Format, kernel
from jitgrad.fastmath.instructions import absolute, copysign, mad, polynomial, power_of_two, scale, select

# (exp(r) - 1 - r) / r**2 on abs(r) <= log(2) / 2, least relative error of exp(r) - 1: 2**-55.6 and 2**-26.1
DOUBLE_TERMS = (
    0.5000000000000006, 0.16666666666666627, 0.04166666666657391, 0.00833333333336338, 0.0013888888932228453,
    0.0001984126977837016, 2.4801504663152154e-05, 2.7557353101638913e-06, 2.7626232541404096e-07,
    2.5071269999612274e-08,
)  # fmt: skip
SINGLE_TERMS = (
    0.4999999701976776,
    0.1666654646396637,
    0.04166746139526367,
    0.008366248570382595,
    0.0013868138194084167,
)


def _kernels(form: Format, terms: Sequence[float]) -> tuple:
    real, rounder, high, low = form.real, form.rounder, form.ln2_high, form.ln2_low
    overflow, underflow, no_more, tiny = form.overflow, form.underflow, form.no_more, form.tiny
    per_ln2, zero, half, one, two, twenty = real(1.0 / math.log(2.0)), real(0), real(0.5), real(1), real(2), real(20)
    tail = polynomial(terms)

    @kernel
    def reduce(x):
        """``t, q`` with ``exp(x) = 2**n (1 + q)`` and the integer n in the lowest bits of t."""
        t = mad(x, per_ln2, rounder)
        n = t - rounder
        r = mad(-n, low, mad(-n, high, x))
        return t, mad(tail(r), r * r, r)

    def exp(x):
        x = select(x > overflow, overflow, x)
        x = select(x < underflow, underflow, x)
        t, q = reduce(x)
        return scale(q + one, t)

    def expm1(x):
        """``2**n (1 + q) - 1``, of halves lest the power overflow."""
        a = select(x > overflow, overflow, x)
        a = select(a < -no_more, -no_more, a)
        t, q = reduce(a)
        power = power_of_two(t - one)
        y = mad(q, power, power - half) * two
        return select(absolute(x) < tiny, x, y)

    def tanh(x):
        """With ``e = exp(2 abs(x)) - 1``, ``e / (e + 2)``."""
        a = absolute(x)
        t, q = reduce(select(a > twenty, twenty, a) * two)
        power = power_of_two(t)
        e = mad(q, power, power - one)
        return copysign(e / (e + two), x)

    def sigmoid(x):
        """With ``e = exp(-abs(x))``, ``e / (1 + e)`` for negative x, else ``1 / (1 + e)``."""
        a = -absolute(x)
        t, q = reduce(select(a < underflow, underflow, a))
        e = scale(q + one, t)
        return select(x >= zero, one, e) / (one + e)

    return exp, expm1, tanh, sigmoid, reduce


exp64, expm1_64, tanh64, sigmoid64, reduce64 = _kernels(DOUBLE, DOUBLE_TERMS)
exp32, expm1_32, tanh32, sigmoid32, reduce32 = _kernels(SINGLE, SINGLE_TERMS)
