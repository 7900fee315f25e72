"""log and log1p.

``x = 2**k (1 + f)`` with ``1 + f`` between ``sqrt(1/2)`` and ``sqrt(2)``. With ``s = f / (2 + f)``, ``log(1 + f)``
is ``2 artanh(s) = f - (f**2 / 2 - s (f**2 / 2 + R(s**2)))``, where the large terms are exact: the arrangement
of fdlibm's ``e_log.c`` (Sun Microsystems, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jitgrad.fastmath.formats import DOUBLE, SINGLE, Format, kernel
from jitgrad.fastmath.instructions import exponent, mad, mantissa, polynomial, power_of_two, select

# (2 artanh(s) - 2 s) / s**3 in s**2 on abs(s) <= (sqrt(2) - 1) / (sqrt(2) + 1); absolute error of it times
# s**2 / 2: 2**-59.5, 2**-35.2
DOUBLE_TERMS = (
    0.6666666666666734, 0.39999999999416497, 0.2857142874208581, 0.22222198596905238, 0.1818356337794785,
    0.15314068911289547, 0.14795816352918756,
)  # fmt: skip
SINGLE_TERMS = (0.6666666269302368, 0.40000972151756287, 0.28498783707618713, 0.24279342591762543)


def _kernels(form: Format, terms: Sequence[float]) -> tuple:
    real, high, low = form.real, form.ln2_high, form.ln2_low
    rounder, far = form.rounder, real(2) * form.lifted
    least_normal, lift, lifted = form.least_normal, form.lift, form.lifted
    zero, half, one, two = real(0), real(0.5), real(1), real(2)
    infinity, nan = real(math.inf), real(math.nan)
    tail = polynomial(terms)

    @kernel
    def combine(k, f):
        """``k log(2) + log(1 + f)``."""
        s = f / (two + f)
        z = s * s
        square = half * f * f
        return mad(k, high, f - (square - mad(s, mad(tail(z), z, square), k * low)))

    def log(x):
        small = x < least_normal
        normal = select(small, x * lift, x)
        k = exponent(normal) - select(small, lifted, zero)
        y = combine(k, mantissa(normal) - one)
        y = select(x == infinity, x, y)
        y = select(x == zero, -infinity, y)
        return select(x >= zero, y, nan)

    def log1p(x):
        """``log(u)`` of the rounded ``u = 1 + x``, with the rounding error added to f."""
        u = one + x
        v = u - one
        error = (x - v) + (one - (u - v))
        k = exponent(u)
        error = select(k > far, zero, error * power_of_two(rounder - k))  # of 1.0, which counts no more
        f = (mantissa(u) - one) + error
        y = combine(k, f)
        y = select(x == infinity, x, y)
        y = select(x == -one, -infinity, y)
        y = select(x == zero, x, y)
        return select(x >= -one, y, nan)

    return log, log1p


log64, log1p_64 = _kernels(DOUBLE, DOUBLE_TERMS)
log32, log1p_32 = _kernels(SINGLE, SINGLE_TERMS)
