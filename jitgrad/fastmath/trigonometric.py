"""sin, cos and tan.

``x = n pi/2 + r`` with ``abs(r) <= pi/4``: pi/2 in four parts, whose products with n are exact up to the limit (Cody
and Waite). From there on the C library takes over, which knows pi to more digits (`rarely`). float32 is reduced in
float64.
"""

from __future__ import annotations

import math

import numpy as np

from jitgrad.fastmath.formats import DOUBLE, kernel
from jitgrad.fastmath.instructions import absolute, half_odd, mad, odd, polynomial, rarely, select

LIMIT = 2.0**20
# pi/2 in parts of 33 bits each
HALF_PI = ("0x1.921fb54400000p+0", "0x1.0b4611a600000p-34", "0x1.3198a2e000000p-69", "0x1.b839a252049c1p-104")

# (sin(r) - r) / r**3 and (cos(r) - 1 + r**2 / 2) / r**4 in r**2 on abs(r) <= pi/4; relative errors of the functions:
# 2**-57.9 and 2**-63.9, for float32 2**-27.9 and 2**-33
SINE64 = (
    -0.1666666666666663, 0.008333333333321901, -0.00019841269829439325, 2.755731357478803e-06, -2.5050741093561986e-08,
    1.5895871294953623e-10,
)  # fmt: skip
COSINE64 = (
    0.041666666666666595, -0.0013888888888873335, 2.480158728899486e-05, -2.7557314214218627e-07,
    2.0875704929646715e-09, -1.135872141846386e-11,
)  # fmt: skip
SINE32 = (-0.16666655242443085, 0.008332189172506332, -0.00019518277258612216)
COSINE32 = (0.04166664555668831, -0.0013887310633435845, 2.4432563805021346e-05)


def _kernels(real, sine_terms, cosine_terms) -> tuple:
    rounder, per_half_pi = DOUBLE.rounder, np.float64(2.0 / math.pi)
    first, second, third, fourth = (np.float64(float.fromhex(part)) for part in HALF_PI)
    limit, zero, half, one, next_quadrant = real(LIMIT), real(0), real(0.5), real(1), np.float64(1)
    sine_tail, cosine_tail = polynomial(sine_terms), polynomial(cosine_terms)
    rare_sin, rare_cos, rare_tan = (rarely(name, LIMIT) for name in ("sin", "cos", "tan"))

    @kernel
    def reduce(x):
        """``t, sin(r), cos(r)``, with the quadrant in the lowest bits of t; of 0 for what is not reduced."""
        wide = np.float64(select(absolute(x) >= limit, zero, x))
        t = mad(wide, per_half_pi, rounder)
        n = t - rounder
        r = real(mad(-n, fourth, mad(-n, third, mad(-n, second, mad(-n, first, wide)))))
        z = r * r
        sine = mad(sine_tail(z) * z, r, r)
        cosine = mad(cosine_tail(z), z * z, one - half * z)
        return t, sine, cosine

    def sin(x):
        t, sine, cosine = reduce(x)
        y = select(odd(t), cosine, sine)
        y = select(half_odd(t), -y, y)
        y = select(x == zero, x, y)
        return select(absolute(x) >= limit, rare_sin(x), y)

    def cos(x):
        t, sine, cosine = reduce(x)
        t += next_quadrant
        y = select(odd(t), cosine, sine)
        y = select(half_odd(t), -y, y)
        return select(absolute(x) >= limit, rare_cos(x), y)

    def tan(x):
        t, sine, cosine = reduce(x)
        turned = odd(t)
        y = select(turned, -cosine, sine) / select(turned, sine, cosine)
        y = select(x == zero, x, y)
        return select(absolute(x) >= limit, rare_tan(x), y)

    return sin, cos, tan


sin64, cos64, tan64 = _kernels(np.float64, SINE64, COSINE64)
sin32, cos32, tan32 = _kernels(np.float32, SINE32, COSINE32)
