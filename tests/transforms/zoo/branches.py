"""Branches, ternaries, maxima, and code that did not run."""

import math

import numpy as np
from numba import njit

from tests.transforms.zoo import program

A = np.array


@program(lambda: (0.4, 1.2))
@njit
def elif_chain(x, y):
    if x > 1.0:
        z = x * y
    elif x > 0.3:
        z = x * x * y
    elif x > 0.0:
        z = y
    else:
        z = 0.0
    return z + x


@program(lambda: (0.4, -1.2))
@njit
def ternaries(x, y):
    z = x * y if x > y else x / y
    return (z if z > 0 else -z * z) + (x if y > 0 else y * y if x > 1 else x * x)


@program(lambda: (0.4, -1.2))
@njit
def short_circuit(x, y):
    if y > 0.0 and math.log(y) > 0.0:
        return x
    if x > 0.0 or math.log(y) > 0.0:
        return x * x * y
    return y


@program(lambda: (1.5, 2.5, 0.5), expected=(0.0, 5.0, 0.0))
@njit
def max_of_three(x, y, z):
    m = max(x, y, z)
    return m * m


@program(lambda: (1.5, 2.5, 0.5, 4.0), expected=(5.0, 0.0, 4.0, 0.5))
@njit
def min_and_max_mixed(x, y, z, w):
    return min(x, y, w) ** 2 + y * 0.0 + max(z, min(x, z)) * w + 2.0 * x


@program(lambda: (0.5, 2.0))
@njit
def partly_assigned(x, y):
    z = x
    if x < 1.0:
        if y > 1.0:
            z = z * y
        w = z * z
    else:
        w = y
    return w * z


@program(lambda: (A([1.0, 2.0]), A([3.0, 4.0]), 0.5))
@njit
def branch_picks_an_array(a, b, c):
    v = a if c > 1.0 else b
    v[0] = c * v[1]
    return a[0] * b[0] + v[1]


@program(lambda: (A([1.0, 2.0]), 0.5), wrt=(0, 1))
@njit
def branch_picks_view_or_copy(a, c):
    v = a[:] if c < 1.0 else a.copy()
    v[0] = c * v[1]
    return a[0] * a[1]


@program(lambda: (A([1.0, 2.0]), 1.5))
@njit
def branch_picks_copy(a, c):
    v = a[:] if c < 1.0 else a.copy()
    v[0] = c * v[1]
    return a[0] * a[1] + v[0]


@program(lambda: (0.7, 0.2))
@njit
def chained_compare(x, y):
    if 0.1 < y < 0.3 < x:
        return x * y
    return x + y


@program(lambda: (0.0, 2.0), expected=(2.0, 0.0))
@njit
def untaken_logarithm(x, y):
    if x > 0.0:
        return math.log(x) * y
    return x * y


@program(lambda: (A([0.0, 4.0]),), expected=(A([0.0, 0.25]),))
@njit
def untaken_root(x):
    s = 0.0
    for v in x:
        s += math.sqrt(v) if v > 0.0 else 0.0
    return s


@program(lambda: (A([0.0, 4.0, -1.0]),), expected=(A([0.0, 0.25, 0.0]),))
@njit
def where_guards_a_root(x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))


@program(lambda: (0.0, 3.0), expected=(0.0, 0.0))
@njit
def power_zero(x, y):
    return x**0 + y**0.0


@program(lambda: (1.3, -2.0, 2))
@njit
def branch_on_an_integer(x, y, n):
    if n == 1:
        return x
    elif n == 2:
        return x * y * y
    return y


@program(lambda: (A([0.5, np.nan, 2.0]),), expected=(A([1.0, 0.0, 4.0]),))
@njit
def skips_nan(x):
    s = 0.0
    for v in x:
        if not np.isnan(v):
            s += v * v
    return s


@program(lambda: (A([0.5, -1.0, 2.0]), 0.3))
@njit
def boolean_index(x, t):
    chosen = x[x > t]
    return np.sum(chosen * chosen) * t


@program(lambda: (2.6,), expected=(2.0,))
@njit
def rounding_has_no_slope(x):
    return x * math.floor(x) + int(x) + round(x) + np.sign(x) - x * (x > 100.0)


@program(lambda: (-7.3, 2.1))
@njit
def remainders(x, y):
    return x % y + (x // y) * y * y + np.fmod(x, y) * x


@program(lambda: (0.8, None), wrt=(0,))
@njit
def optional_argument(x, scale):
    if scale is None:
        return x * x
    return x * scale


@program(lambda: (0.8,))
@njit
def nested_conditions(x):
    y = 0.0
    for i in range(4):
        if x > 0.5:
            if i % 2 == 0:
                y += x * i
            else:
                y = y * x
                if y > 1.0:
                    y -= x * x
        elif i > 2:
            y += 1.0
    return y


@program(lambda: (0.5, 0.5), expected=(0.5, 0.5))
@njit
def tie_of_two(x, y):
    return max(x, y)


@program(lambda: (0.0,), expected=(0.0,))
@njit
def abs_at_the_kink(x):
    return abs(x) + x * x


CAPTURED = A([1.0, 2.0, 4.0])


@program(lambda: (A([0.5, -1.0, 2.0]), True), expected=(A([1.0, 4.0, 16.0]),))
@njit
def a_captured_array_or_the_argument(x, flag):
    picked = CAPTURED if flag else x
    return np.sum(picked * picked * x)
