"""pow.

``exp(y log(x))`` with log(x) as the unevaluated sum of two numbers, since a relative error of the logarithm is
multiplied by up to 745: Muller et al., Handbook of Floating-Point Arithmetic (2018), chapters 4 (exact sums) and 5
(exact products by fma). float32 computes in float64, where none of that is needed.
"""

from __future__ import annotations

import math

import numpy as np

from jitgrad.fastmath.exponential import reduce64
from jitgrad.fastmath.formats import DOUBLE, kernel
from jitgrad.fastmath.instructions import absolute, copysign, exponent, fma, mad, mantissa, polynomial, scale, select

# (2 artanh(s) - 2 s - 2/3 s**3) / s**5 in s**2; absolute error of it times s**4 / 2: 2**-73.4
TERMS = (
    0.3999999999999998, 0.28571428571443847, 0.22222222217787485, 0.18181818844347206, 0.15384558400498227,
    0.13336265690272844, 0.11675754736829519, 0.11981982036464223,
)  # fmt: skip
# (2 artanh(s) - 2 s) / s**3 in s**2, for float32: 2**-44.9
SINGLE_TERMS = (0.6666666667581029, 0.399999956186709, 0.2857210949664679, 0.22176174345993965, 0.19584357431132912)

_real = DOUBLE.real
_ZERO, _HALF, _ONE, _TWO = _real(0), _real(0.5), _real(1), _real(2)
_LN2_HIGH, _LN2_LOW = DOUBLE.ln2_high, DOUBLE.ln2_low
_LEAST_NORMAL, _LIFT, _LIFTED = DOUBLE.least_normal, DOUBLE.lift, DOUBLE.lifted
_TWO_THIRDS, _TWO_THIRDS_LOW = _real(2.0 / 3.0), _real(float.fromhex("0x1.5555555555555p-55"))
_INFINITY, _NAN = _real(math.inf), _real(math.nan)
_FAR = _real(800.0)  # exp is zero or infinite beyond
_WHOLE = _real(2.0**52)
_tail, _single_tail = polynomial(TERMS), polynomial(SINGLE_TERMS)


@kernel
def _split(x):
    """``k, f`` with ``x = 2**k (1 + f)``, for positive x."""
    small = x < _LEAST_NORMAL
    normal = select(small, x * _LIFT, x)
    return exponent(normal) - select(small, _LIFTED, _ZERO), mantissa(normal) - _ONE


@kernel
def _log(x):
    """log(x) as the sum of two numbers."""
    k, f = _split(x)
    d = _TWO + f
    d_low = f - (d - _TWO)
    s = f / d
    s_low = (fma(-s, d, f) - s * d_low) / d
    z = s * s
    z_low = fma(s, s, -z) + _TWO * s * s_low
    tail = _tail(z) * z
    c = _TWO_THIRDS + tail
    c_low = (_TWO_THIRDS - c) + tail + _TWO_THIRDS_LOW
    u = z * c
    u_low = fma(z, c, -u) + z * c_low + z_low * c
    v = s * u
    v_low = fma(s, u, -v) + s * u_low + s_low * u
    high = _TWO * s + v
    low = (_TWO * s - high) + v + (_TWO * s_low + v_low)
    scaled = k * _LN2_HIGH
    total = scaled + high
    back = total - scaled
    rest = (scaled - (total - back)) + (high - back) + (low + k * _LN2_LOW)
    log = total + rest
    return log, (total - log) + rest


@kernel
def _exp(p, p_low):
    p_low = select(absolute(p) < _FAR, p_low, _ZERO)
    p = select(p > _FAR, _FAR, p)
    p = select(p < -_FAR, -_FAR, p)
    t, q = reduce64(p)
    return scale(mad(q + _ONE, p_low, q + _ONE), t)


@kernel
def _is_integer(y):
    """Of y that is not negative; from `_WHOLE` on all numbers are."""
    return (y >= _WHOLE) | ((y + _WHOLE) - _WHOLE == y)


@kernel
def _at_the_edges(x, y, power):
    """`power`, the power of the absolute value of x, for every x and y as C's standard has it."""
    size, y_size = absolute(x), absolute(y)
    upward = select(y > _ZERO, _INFINITY, _ZERO)  # of an infinite x
    power = select(size == _INFINITY, upward, power)
    power = select(size == _ZERO, select(y > _ZERO, _ZERO, _INFINITY), power)
    power = select(y_size == _INFINITY, select((size > _ONE) == (y > _ZERO), _INFINITY, _ZERO), power)
    whole = _is_integer(y_size)
    is_odd = whole & (not _is_integer(_HALF * y_size))
    power = select((copysign(_ONE, x) < _ZERO) & is_odd, -power, power)
    power = select((x < _ZERO) & (size != _INFINITY) & (y_size != _INFINITY) & (not whole), _NAN, power)
    power = select((x != x) | (y != y), _NAN, power)
    return select((x == _ONE) | (y == _ZERO) | ((x == -_ONE) & (y_size == _INFINITY)), _ONE, power)


def pow64(x, y):
    log, log_low = _log(absolute(x))
    p = y * log
    return _at_the_edges(x, y, _exp(p, fma(y, log, -p) + y * log_low))


def pow32(x, y):
    wide, exponent_ = np.float64(x), np.float64(y)
    k, f = _split(absolute(wide))
    s = f / (_TWO + f)
    z = s * s
    log = mad(k, _LN2_HIGH + _LN2_LOW, s * mad(_single_tail(z), z, _TWO))
    return np.float32(_at_the_edges(wide, exponent_, _exp(exponent_ * log, _ZERO)))
