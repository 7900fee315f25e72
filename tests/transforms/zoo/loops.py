"""Loops of every kind."""

import math

import numpy as np
from numba import njit

from tests.transforms.zoo import program

A = np.array


def some(n=5):
    return np.sin(1.0 + np.arange(n) * 1.7)


@program(lambda: (A([2.0, 3.0, 4.0]),), expected=(A([12.0, 8.0, 6.0]),))
@njit
def product_of_unknown_length(x):
    p = 1.0
    for i in range(x.size):
        p *= x[i]
    return p


@program(lambda: (1.7,), expected=(16.0 * 1.7**15,))
@njit
def squaring_while(v):
    while v < 100.0:
        v = v * v
    return v


@program(lambda: (A([0.5, -2.0, 3.0, -0.1]), 0.7))
@njit
def branch_in_loop(x, c):
    s = 0.0
    for i in range(x.size):
        if x[i] > 0:
            s += x[i] * x[i] * c
        else:
            s -= x[i] * s
    return s


@program(lambda: (some(8), 1.1))
@njit
def breaks(x, limit):
    s = 0.0
    for v in x:
        s += v * v
        if s > limit:
            break
        s *= 1.5
    return s * limit


@program(lambda: (some(8),))
@njit
def continues(x):
    s = 1.0
    for i in range(x.size):
        if x[i] < -0.5:
            continue
        s *= 1.0 + x[i]
    return s


@program(lambda: (some(6),))
@njit
def inner_break_outer_goes_on(x):
    s = 0.0
    for i in range(x.size):
        t = x[i]
        for j in range(x.size):
            if j > i and t > 1.0:
                break
            t = t * 0.9 + x[j] * x[j]
        s += math.sin(t)
    return s


@program(lambda: (some(6), 2.3))
@njit
def return_inside_nested_loops(x, limit):
    s = 0.1
    for i in range(x.size):
        for j in range(i):
            s += x[i] * x[i] + x[j] * s
            if s > limit:
                return s * x[j] * limit
    return s


@program(lambda: (some(6), 100.0))
@njit
def return_not_reached(x, limit):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** 3
        if s > limit:
            return limit * x[0]
    return s


@program(lambda: (7.3,))
@njit
def while_true(a):
    x = a
    k = 0
    while True:
        y = 0.5 * (x + a / x)
        k += 1
        if abs(y - x) < 1e-14 or k > 40:
            break
        x = y
    return x * x * x


@program(lambda: (some(5),))
@njit
def else_after_full_loop(x):
    s = 0.0
    for v in x:
        if v > 10.0:
            break
        s += v * v
    else:
        s *= x[0]
    return s


@program(lambda: (some(5),))
@njit
def else_skipped_by_break(x):
    s = 1.0
    for v in x:
        if v < 0.0:
            s *= v
            break
        s += v
    else:
        s = 0.0
    return s


@program(lambda: (1.3, 4))
@njit
def while_with_else(x, n):
    k = 0
    y = x
    while k < n:
        y = math.sin(y) * x
        k += 1
    else:
        y = y * y
    return y


@program(lambda: (some(7),))
@njit
def counts_down(x):
    y = 0.0
    for i in range(x.size - 1, -1, -1):
        y = y * 0.8 + x[i] * x[i]
    return y


@program(lambda: (some(9), 1, 8, 3))
@njit
def steps_from_arguments(x, start, stop, step):
    s = 1.0
    for i in range(start, stop, step):
        s = s * x[i] + i * x[i - 1]
    return s


@program(lambda: (some(9), 7, -1, -2))
@njit
def negative_step_from_arguments(x, start, stop, step):
    s = 1.0
    for i in range(start, stop, step):
        s = s * x[i] + i
    return s


@program(lambda: (2.0, 0))
@njit
def no_iteration(x, n):
    y = x * x
    for _ in range(n):
        y = y * y
    return y


@program(lambda: (2.0, -3))
@njit
def negative_count(x, n):
    y = x
    for _ in range(n):
        y = y * 7.0
    return y * x


@program(lambda: (some(4).reshape(2, 2), some(2)))
@njit
def over_rows(m, v):
    s = 0.0
    for row in m:
        s += math.sin(row[0] * v[0] + row[1] * v[1])
    return s


@program(lambda: (some(4), some(4) + 2.0))
@njit
def enumerate_and_zip(x, y):
    s = 0.0
    for i, v in enumerate(x):
        s += (i + 1) * v * v
    for a, b in zip(x, y):
        s += a / b
    return s


@program(lambda: (some(4),))
@njit
def counter_after_the_loop(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
        if s > 0.9:
            break
    return s * x[i] * i


@program(lambda: (0.3, 0.7, 6))
@njit
def carried_scalars_swap(a, b, n):
    for _ in range(n):
        a, b = b, a + 0.5 * b * a
    return a * b


@program(lambda: (4.6, 0.3))
@njit
def trips_from_data(x, y):
    s = y
    for _ in range(int(x)):
        s = s * y + x
    return s


@program(lambda: (some(5),))
@njit
def triangle(x):
    s = 0.0
    for i in range(x.size):
        for j in range(i):
            for k in range(j, i):
                s += x[i] * x[j] * x[k]
    return s


@program(lambda: (A([1.0, 0.5]), 0.4, 5))
@njit
def rebinds_an_array(y0, rate, n):
    y = y0
    for _ in range(n):
        k = np.array([-rate * y[0] * y[1], rate * y[0] - y[1]])
        y = y + 0.1 * k
    return y[0] * y[1]


@program(lambda: (some(5),))
@njit
def integer_becomes_float(x):
    s = 0
    for v in x:
        s += v * v
    return s * 1.0


@program(lambda: (1.1, 7))
@njit
def continue_in_while(x, n):
    k = 0
    y = 1.0
    while k < n:
        k += 1
        if k % 3 == 0:
            continue
        y = y * x + k
    return y


@program(lambda: (some(6),))
@njit
def counter_is_rebound(x):
    s = 0.0
    for i in range(x.size):
        i = (i * 2) % x.size
        s += x[i] ** 2 * (i + 1)
    return s


@program(lambda: (0.31, 1.9))
@njit
def whiles_in_a_while(x, limit):
    s = x
    k = 0
    while s < 20.0 and k < 8:
        t = x
        while t < limit:
            t = t * 1.7 + 0.1 * s
        while t > 0.5:
            t = t * 0.6
        s = s + t * limit
        k += 1
    return s * t


@program(lambda: (some(6),))
@njit
def running_best(x):
    best = -np.inf
    where = -1
    for i in range(x.size):
        if x[i] * x[i] > best:
            best = x[i] * x[i]
            where = i
    return best * where + x[where]


@program(lambda: (some(5), 0.8))
@njit
def horner(c, x):
    y = 0.0
    for k in range(c.size - 1, -1, -1):
        y = y * x + c[k]
    return y


@program(lambda: (some(5),))
@njit
def list_grows(x):
    seen = [x[0]]
    for i in range(1, x.size):
        seen.append(seen[-1] * x[i] + 1.0)
    s = 0.0
    for v in seen:
        s += v * v
    return s


@program(lambda: (some(5), 0.4))
@njit
def comprehension(x, c):
    values = [math.sin(v * c) for v in x if v > -0.7]
    return sum(values) * c


@program(lambda: (0.7, 3))
@njit
def value_from_the_loop_before(x, n):
    for i in range(n):
        y = x * (i + 1)
        for _ in range(2):
            y = y * math.cos(x)
    return y


@program(lambda: (some(7), 0.05))
@njit
def two_exits(x, small):
    s = 1.0
    for i in range(x.size):
        s *= x[i]
        if abs(s) < small:
            s = s * 100.0
            break
        if s < -0.2:
            s = s * s
            break
    return s


@program(lambda: (A([1.5, 0.5, -0.5, 2.0]), -3, 4, 6))
@njit
def continues_under_a_test_of_two_conditions(x, a, b, c):
    s, fuel = 0.0, 12
    while a > -2 or c <= b + 3:
        fuel -= 1
        a += 1
        s += x[fuel % 4] * x[a % 4]
        if fuel < 0:
            return s * s
        if a != c:
            if (x[a % 4] <= 1.0 or b <= -2) and a <= c:
                s *= x[0]
                continue
        else:
            continue
        s += x[1] * s
    return s
