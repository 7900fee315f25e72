"""Branches and loops backwards, and the arrays that they hand on."""

import math

import numpy as np
import pytest

from jitgrad.errors import UnsupportedError
from tests.transforms.reverse.harness import Cases, check, generated, in_python, some, source

cases = Cases()


@cases(some(4), 0.7)
def swapped_buffers(a, c):
    b = a * c
    a = a + 0.0
    for i in range(4):
        for j in range(3):
            b[j] = a[j + 1] * c + b[j]
        for j in range(4):
            a[j] += b[j] * b[j]
        a, b = b, a
    return a[0] * a[1] + b[2]


@cases(some(4), 0.7)
def swapped_buffers_written_first(a, c):
    b = a * c
    a = a + 0.0
    s = 0.0
    for i in range(4):
        for j in range(3):
            b[j] = c + j * c * i
        for j in range(4):
            s += a[j] * a[j]
        a, b = b, a
    return a[0] * a[1] + b[2] + s


@cases(some(4), 0.7)
def buffer_written_by_a_view(a, c):
    b = a * c
    a = a + 0.0
    s = 0.0
    for i in range(4):
        w = a[1:]
        w[0] = c * i
        for j in range(4):
            s += a[j] * a[j]
        a, b = b, a
    return a[0] * a[1] + b[2] + s


@cases(some(4), 0.7)
def rebound_to_a_fresh_array(a, c):
    b = a * c
    s = 0.0
    for i in range(4):
        new = np.empty(4)
        for j in range(4):
            new[j] = b[j] * b[j - 1] + c
        for j in range(4):
            s += b[j] * b[j] * new[j]
        b = new
    return s


@cases(some(4), 0.7)
def rebound_and_written_outside(a, c):
    b = a * c
    s = 0.0
    for e in range(2):
        for i in range(2):
            new = np.empty(4)
            for j in range(4):
                new[j] = b[j] * b[j - 1] + c
            for j in range(4):
                s += b[j] * b[j] * new[j]
            b = new
        b[0] = s * c
    return s


@cases(some(4), 0.7)
def conditional_swap(a, c):
    b = a * c
    a = a * 1.0
    s = 0.0
    for i in range(4):
        if a[0] > b[0]:
            a, b = b, a
        a[i] = b[i] * c + a[i - 1]
        for j in range(4):
            s += a[j] * a[j] * b[j]
    return s + a[0] * b[1]


@cases(some(6), 0.7)
def swaps_in_both_loops(x, c):
    a = x * 1.0
    b = x * 2.0
    for i in range(3):
        a, b = b, a
        for j in range(2):
            a, b = b, a
            a[j] = a[j] * b[j + 1] + c
    return a[0] * b[1] + a[1]


@cases(some(5).reshape(5), 3)
def previous_and_current(x, n):
    prev = x
    cur = x * 0.5
    for k in range(n):
        new = np.empty_like(x)
        for i in range(x.size):
            new[i] = 2.0 * cur[i] - prev[i] * cur[i - 1]
        prev = cur
        cur = new
    return np.sum(cur * prev)


@cases(some(5).reshape(5), 3)
def previous_and_current_written_after(x, n):
    prev = x * 1.0
    cur = x * 0.5
    for k in range(n):
        new = np.empty_like(x)
        for i in range(x.size):
            new[i] = 2.0 * cur[i] - prev[i] * cur[i - 1]
        new[0] = 0.3
        prev = cur
        cur = new
    cur[1] = prev[2] * cur[0]
    return np.sum(cur * prev)


@cases(some(4), 0.7)
def one_of_two_arrays_is_written(a, c):
    b = a * c
    s = 0.0
    for i in range(4):
        if i % 2 == 0:
            v = a
        else:
            v = b
        v[i] = v[i - 1] * c
        for j in range(4):
            s += v[j] * v[j] * c
    return s


@cases(some(4), 0.7)
def carried_result_is_written(a, c):
    a = a * c
    for i in range(4):
        a[1] = a[0] * c
        y = np.exp(a * c)
        a = y
    return a[0] * a[1] + a[2]


@cases(some(9).reshape(3, 3), some(3))
def carried_vector(m, v):
    y = v * 1.0
    s = 0.0
    for i in range(3):
        z = m @ y
        y = z + v
        s += np.dot(y, z)
    return s


@cases(some(9).reshape(3, 3), some(3))
def carried_array_grows(m, v):
    y = m[0] * 1.0
    s = 0.0
    for i in range(3):
        y = np.concatenate((y, v[:i]))
        z = y * y
        s += z[0] * z[-1] + y[i]
    return s + np.sum(y)


@cases(some(6), 0.3)
def carried_array_shrinks(v, c):
    y = v * 1.0
    s = 0.0
    for i in range(3):
        y = y[1:] * y[:-1] + c
        s += y[0] * y[-1]
    return s + np.sum(y)


@cases(some(6), 0.3)
def carried_view(v, c):
    y = v * 1.0
    s = 0.0
    for i in range(3):
        s += y[0] * y[-1] * c
        y = y[1:]
    return s + np.sum(y)


@cases(some(6), 0.3)
def carried_view_of_what_is_written(v, c):
    y = v * 1.0
    w = y
    s = 0.0
    for i in range(3):
        s += w[0] * w[-1] * c
        w = w[1:]
        y[5] = s
    return s + np.sum(y) + np.sum(w)


@cases(some(6), 0.3)
def loops_in_arms(v, c):
    s = c
    for e in range(2):
        if v[e] > 0:
            for i in range(3):
                s = math.sin(s * v[i])
        else:
            for i in range(e + 3):
                s = math.cos(s * v[i]) + s
    return s


@cases(some(6), 0.3)
def invariant_arithmetic(v, c):
    s = 0.0
    for i in range(3):
        k = c * c + 1.0
        for j in range(3):
            m = k * i
            s = s * 0.1 + m * v[j] * (c + k)
    return s


@cases.each
def test_against_differences(case):
    case.check()


def header(function, *args):
    """The header of the first backward loop."""
    lines = source(function, *args).split("_bar = 1.0")[1].splitlines()
    return next(line.strip() for line in lines if line.strip().startswith("for "))


def test_plain_sums_go_in_the_natural_order():
    def f(x):
        s = 0.0
        for i in range(x.size):
            s += x[i] * x[i]
        return s

    assert header(f, some(3)) == "for i in range(t):"


def test_the_order_is_reversed_where_it_matters():
    def product(x):
        s = 1.0
        for i in range(x.size):
            s *= x[i]
        return s

    def negated_sum(x):
        s = 0.0
        for i in range(x.size):
            s = x[i] - s
        return s

    def both_sides(x):
        s = x[0]
        for i in range(x.size):
            s = s + s
        return s

    def read_beside(x):
        s = 0.0
        for i in range(x.size):
            s += x[i]
            x[i] = s
        return s

    for function in (product, negated_sum, both_sides, read_beside):
        assert header(function, some(3)).endswith("- 1, -1, -1):"), function


def test_a_swap_hands_the_buffers_back():
    def f(x):
        a = x * 1.0
        b = x * 2.0
        for i in range(x.size):
            b[i] = a[i] * a[i]
            a, b = b, a
        return a[0] * b[0]

    text = source(f, some(3))
    assert "tape_a" not in text and "copy" not in text


def test_two_names_for_one_written_array_are_refused():
    def f(x):
        a = x * 1.0
        b = a
        for i in range(x.size):
            b[i] = a[i - 1] * x[i]
            a = b
        return a[0] * b[1]

    # right or an error, never wrong
    try:
        check(f, some(3))
    except UnsupportedError as error:
        assert "written in place" in str(error)


def test_an_array_of_a_tuple_that_is_written_after_a_check():
    def f(p, k):
        x, v = p
        if k < 0:
            raise ValueError("negative")
        x[0] = x[1] * v
        return x[0] * x[1]

    run = in_python(generated(f, (some(3), 0.5), 1, wrt=(0,)))
    x = some(3)
    ((x_bar, v_bar),) = run((x.copy(), 0.5), 1)
    np.testing.assert_allclose(x_bar, [0.0, 2.0 * x[1] * 0.5, 0.0])
    np.testing.assert_allclose(v_bar, x[1] ** 2)


def test_an_error_names_place_and_way_out():
    def f(x, n):
        a = x * 1.0
        b = x * 2.0
        for _ in range(n):
            a[0] = b[1]
            b = a
        return a[0] * b[1]

    with pytest.raises(UnsupportedError, match=r"test_control.py:\d+: `for _ in range.*written in place.*copy"):
        source(f, some(3), 3)
