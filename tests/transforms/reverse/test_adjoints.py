"""Adjoint variables: births, sums, precision, tuples."""

import math
from collections import namedtuple

import numpy as np

from tests.transforms.reverse.harness import Cases, some, source

cases = Cases()
T2 = namedtuple("T2", "a b")


@cases(some(4), 0.3)
def tuple_carried(x, c):
    t = (c, x[0])
    for i in range(4):
        t = (t[1] * x[i], t[0] + c * t[1])
    return t[0] * t[1]


@cases(some(4), 0.3)
def tuple_runtime_index(x, c):
    t = (c, x[0], x[1] * c)
    s = 0.0
    for i in range(3):
        s += t[i] * t[i - 1]
    return s


@cases(some(4), 0.3)
def tuple_arrays_carried(x, c):
    t = (x * c, x)
    for i in range(3):
        t = (t[1] * c, t[0] + x)
    return np.sum(t[0] * t[1])


@cases(some(4), 0.3)
def namedtuple_carried(x, c):
    t = T2(c, x[0])
    for i in range(4):
        t = T2(t.b * x[i], t.a + c * t.b)
    return t.a * t.b


@cases((0.3, 0.4), 0.5)
def tuple_argument(t, c):
    a, b = t
    return a * b * c + t[0]


@cases(T2(some(3), 0.4), 0.5)
def named_tuple_argument(t, c):
    return np.sum(t.a) * t.b * c + t[0][1] ** 2


@cases(some(4), 0.3)
def tuple_branch(x, c):
    if c > 0:
        t = (x[0] * c, x * c)
    else:
        t = (c, x)
    return t[0] * np.sum(t[1] * t[1])


@cases(some(4), 0.3)
def tuple_taped(x, c):
    s = 1.0
    for i in range(3):
        t = (s * c, x[i] * s)
        u = (t, s)
        s = math.sin(u[0][0] * u[0][1]) + u[1]
    return s


@cases(0.7, 2)
def complex_inside(x, n):
    z = complex(x, 2.0 * x)
    for i in range(n):
        z = z * z + x * 1j
    return z.real * z.imag + abs(z)


@cases(0.7 + 0.2j, 0.5)
def complex_argument(z, x):
    w = z * z.conjugate() * x + z * 2.0
    return w.real * w.imag + abs(w)


@cases(np.array([0.7 + 0.2j, 0.1 - 0.4j]), 0.5)
def complex_array(z, x):
    s = 0j
    for i in range(2):
        s = s * z[i] + z[i] * x
        z[i] = s
    return s.real + s.imag * (z[0] * z[1]).real


@cases(np.float32(0.7), some(3).astype(np.float32), rtol=3e-3)
def single_precision(x, a):
    s = np.float32(0.0)
    for i in range(3):
        s += x * a[i]
        a[i] = s
    return s * x + a[0] * a[1]


@cases(np.zeros(0), 0.4)
def no_element(a, c):
    s = c
    for i in range(a.size):
        s = s * a[i]
    b = a * c
    a[:] = b
    return s + np.sum(b)


@cases(some(6), 0.3)
def one_value_in_both_arms(v, c):
    s = 0.0
    if c > 0.1:
        s = c * c * v[0]
    else:
        s = v[0] * 2
    t = c * c * v[0]
    v[0] = t
    return t * v[0] + s


@cases.each
def test_against_differences(case):
    case.check()


def test_single_precision_stays():
    def f(x, a):
        s = x
        for i in range(a.size):
            s = s * a[i] + a[i]
        return s

    text = source(f, np.float32(0.7), some(3).astype(np.float32))
    assert "np.float64" not in text


def test_one_contribution_needs_no_zero():
    def f(x):
        return math.sin(x) * 2.0

    lines = [line.split("  #")[0].strip() for line in source(f, 0.7).splitlines()]
    assert lines[1:] == [
        "t_1 = sin(x)",
        "t = t_1 * 2.0",
        "t_bar = 1.0",
        "t_bar_1 = t_bar * 2.0",
        "x_bar = t_bar_1 * np.cos(x)",
        "return (x_bar,)",
    ]


def test_contributions_from_an_arm_start_at_zero():
    def f(x, c):
        s = x
        if c > 0.0:
            s = x * c
        return s

    text = source(f, 0.7, 0.3, wrt=(0,))
    assert "x_bar = 0.0" in text and "x_bar +=" in text
