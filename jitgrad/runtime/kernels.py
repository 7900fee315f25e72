"""Scalar helpers of generated code: zero-safe products, weights at ties, special functions.

Plain Python code, so that the front end can read and inline it. Where the code branches on a value
that its derivative depends on (``mul0`` returns early for a zero factor), the derivative of the code
is not the derivative of the function; those helpers have rules of their own (`rules.elementwise`,
`rules.special`), which makes derivatives of any order right.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from jitgrad.runtime.pipeline import HelperPipeline, helper

inline = njit(forceinline=True, error_model="numpy", pipeline_class=HelperPipeline)
compiled = helper


# ----- products that are zero where their first factor is ----------------------------------------


@inline
def mul0(x, y):
    """``x * y``, but zero where `x` is zero, also when `y` is infinite or nan."""
    if x == 0:
        return x
    return x * y


@inline
def div0(x, y):
    """``x / y``, but zero where `x` is zero, also when `y` is zero or nan."""
    if x == 0:
        return x
    return x / y


@inline
def ratio0(x, y):
    """``x / y``, but zero where `y` is zero: the slope ``x / norm(x)``."""
    if y == 0:
        return x * 0
    return x / y


# ----- ties ------------------------------------------------------------------------------------


@inline
def larger(x, y):
    """Weight of `x` in ``max(x, y)``: 1, 0, or a half in a tie; 1 where `x` is nan."""
    if x > y or x != x:
        return 1.0
    if x == y:
        return 0.5
    return 0.0


@inline
def smaller(x, y):
    """Weight of `x` in ``min(x, y)``."""
    if x < y or x != x:
        return 1.0
    if x == y:
        return 0.5
    return 0.0


@inline
def larger_number(x, y):
    """Weight of `x` in ``fmax(x, y)``, which prefers numbers to nan."""
    if x > y or y != y:
        return 1.0
    if x == y:
        return 0.5
    return 0.0


@inline
def smaller_number(x, y):
    """Weight of `x` in ``fmin(x, y)``."""
    if x < y or y != y:
        return 1.0
    if x == y:
        return 0.5
    return 0.0


@inline
def same(x, y):
    """1.0 where `x` equals `y` or both are nan, else 0.0."""
    if x == y or (x != x and y != y):
        return 1.0
    return 0.0


# ----- partials that need care at edges -----------------------------------------------------------


@inline
def pow_dx(x, y):
    """Derivative of ``x ** y`` in `x`: zero for ``y == 0``, whatever `x` is."""
    if y == 0:
        return 0.0
    return y * x ** (y - 1)


@inline
def pow_dy(x, y):
    """Derivative of ``x ** y`` in `y`: zero for ``0 ** y`` with ``y >= 0``, nan for negative `x`."""
    if x == 0 and y >= 0:
        return 0.0
    return x**y * math.log(x)


@inline
def pow_dxdy(x, y):
    """Mixed derivative of ``x ** y``."""
    if x == 0 and y > 1:
        return 0.0
    return x ** (y - 1) * (1.0 + y * math.log(x))


@inline
def lse_weight(x, y):
    """Derivative of ``logaddexp(x, y)`` in `x`; a half for equal operands, also infinite ones."""
    if x == y:
        return 0.5
    return 1.0 / (1.0 + math.exp(y - x))


@inline
def lse2_weight(x, y):
    """Derivative of ``logaddexp2(x, y)`` in `x`."""
    if x == y:
        return 0.5
    return 1.0 / (1.0 + 2.0 ** (y - x))


@inline
def over_norm2(x, y):
    """``x / (x * x + y * y)`` without overflow or underflow of the squares."""
    if abs(x) >= abs(y):
        r = y / x
        return 1.0 / (x * (1.0 + r * r))
    r = x / y
    return r / (y * (1.0 + r * r))


# ----- special functions -------------------------------------------------------------------------


@compiled
def sinc_derivative(n, x):
    """The derivative of order `n` of ``sin(pi x) / (pi x)``.

    Taylor series near zero; elsewhere the recurrence ``x s_n + n s_(n-1) = d^n/dx^n sin(pi x) / pi``,
    which is stable upward only where ``|pi x|`` exceeds n.
    """
    t = math.pi * x
    if abs(t) < n + 2.0:
        # s(x) = sum_k (-1)^k t^(2k) / (2k+1)!, differentiated n times in x
        k = (n + 1) // 2
        power = 1.0 if n % 2 == 0 else t
        term = power
        for j in range(2 * k - n + 1, 2 * k + 1):
            term *= j
        for j in range(1, 2 * k + 2):
            term /= j
        if k % 2 == 1:
            term = -term
        total = 0.0
        m = 2 * k
        while True:
            total += term
            ratio = t * t / ((m + 2.0) * (m + 3.0)) * ((m + 1.0) * (m + 2.0)) / ((m + 1.0 - n) * (m + 2.0 - n))
            term = -term * ratio
            m += 2
            if abs(term) <= 1e-18 * abs(total) or m > 200 + 2 * n:
                break
        return total * math.pi**n
    s = math.sin(t) / t
    for j in range(1, n + 1):
        s = (math.pi ** (j - 1) * math.sin(t + 0.5 * math.pi * j) - j * s) / x
    return s


@compiled
def digamma(x):
    """Derivative of ``lgamma``; nan at the poles.

    Recurrence to [1, 2], where the rational approximation of Boost is used (``(x - root) * (Y + P/Q)``
    with the root in three parts), or the asymptotic series from 10 on; reflection for negative `x`.
    """
    if x <= 0.0 and x == math.floor(x):
        return math.nan
    if x == math.inf:
        return math.inf
    result = 0.0
    if x < -1.0:
        # 1 - x is positive; the tangent of the fraction keeps precision for large arguments
        f = x - math.floor(x)
        if f > 0.5:
            f -= 1.0
        result = -math.pi / math.tan(math.pi * f)
        x = 1.0 - x
    if x >= 10.0:
        x -= 1.0
        z = 1.0 / (x * x)
        tail = z * (
            1.0 / 12
            - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12)))))
        )
        return result + math.log(x) + 0.5 / x - tail
    while x > 2.0:
        x -= 1.0
        result += 1.0 / x
    while x < 1.0:
        result -= 1.0 / x
        x += 1.0
    root1 = 1569415565.0 / 1073741824.0
    root2 = (381566830.0 / 1073741824.0) / 1073741824.0
    root3 = 0.9016312093258695918615325266959189453125e-19
    g = ((x - root1) - root2) - root3
    t = x - 1.0
    p = 0.25479851061131551 + t * (
        -0.32555031186804491
        + t
        * (-0.65031853770896507 + t * (-0.28919126444774784 + t * (-0.045251321448739056 + t * -0.0020713321167745952)))
    )
    q = 1.0 + t * (
        2.0767117023730469
        + t
        * (
            1.4606242909763515
            + t
            * (
                0.43593529692665969
                + t * (0.054151797245674225 + t * (0.0021284987017821144 + t * -0.55789841321675513e-6))
            )
        )
    )
    return result + (g * 0.99558162689208984 + g * (p / q))


@compiled
def polygamma(n, x):
    """The derivative of order `n` of `digamma` (n = 0, 1, 2, ...); nan at the poles.

    Recurrence upward, then the Euler-Maclaurin series of the Hurwitz zeta function.
    """
    if n == 0:
        return digamma(x)
    if x <= 0.0 and x == math.floor(x):
        return math.nan
    if x == math.inf:
        return 0.0
    # (-1)^(n+1) n! zeta(n + 1, x)
    s = n + 1.0
    total = 0.0
    while x < 10.0 + n:
        total += x ** (-n - 1)
        x += 1.0
    # sum_k (x + k)^-s = x^(1-s) / (s-1) + x^-s / 2 + sum_j B_2j / (2j)! s (s+1) .. (s+2j-2) x^(1-s-2j)
    power = x ** (-n - 1)
    total += power * x / (s - 1.0) + 0.5 * power
    term = power * s / x
    bernoulli = (
        1.0 / 12,
        -1.0 / 720,
        1.0 / 30240,
        -1.0 / 1209600,
        1.0 / 47900160,
        -691.0 / 1307674368000,
        1.0 / 74724249600,
        -3617.0 / 10670622842880000,
        43867.0 / 5109094217170944000,
        -174611.0 / 802857662698291200000,
    )
    for j in range(10):
        total += bernoulli[j] * term
        term *= (s + 2 * j + 1.0) * (s + 2 * j + 2.0) / (x * x)
    factorial = 1.0
    for j in range(2, n + 1):
        factorial *= j
    return total * factorial if n % 2 == 1 else -total * factorial


@inline
def ldexp1(n):
    """``2.0 ** n`` for an integer, exact."""
    return math.ldexp(1.0, n)


def namespace() -> dict:
    """The names that partial texts may use: every helper here, ``math``, ``np`` and ``fastmath``."""
    from jitgrad import fastmath  # where code is generated, not where it comes from the disk cache

    helpers = {name: obj for name, obj in globals().items() if hasattr(obj, "py_func")}
    return helpers | {"math": math, "np": np, "fastmath": fastmath}
