"""What is computed or loaded once, and what must be loaded again."""

import math

import numpy as np
import pytest

from jitgrad.optimize import share_common_values
from tests.optimize.passes import after, check_bits, lines

A = np.array([1.0, 2.0, 3.0, 4.0])
K = np.array([3, 1, 0, 2])


def loads(function, *args) -> int:
    return len(lines(after(share_common_values, function, *args), r"= \w+\["))


def test_arithmetic_and_calls_are_shared():
    def f(x, y):
        return math.sin(x * y) + math.sin(x * y)

    text = after(share_common_values, f, 1.0, 2.0)
    assert len(lines(text, "math.sin")) == 1 and len(lines(text, r"x \* y")) == 1


def test_operands_are_not_exchanged():
    def f(x, y):
        return (x * y) - (y * x)

    assert len(lines(after(share_common_values, f, 1.0, 2.0), r"\*")) == 2


def test_literals_of_other_types_and_zeros_differ():
    def f(x):
        return (x * 1) + (x * 1.0) + (x * 0.0) + (x * -0.0)

    assert len(lines(after(share_common_values, f, 1.0), r"x \*")) == 4

    def g(x):
        return (x * np.float32(0.1)) + (x * 0.1)

    text = after(share_common_values, g, np.float32(1.0))
    assert len(lines(text, r"\*")) == 2
    check_bits(g, np.float32(3.3), compiled=True)


def test_a_load_is_shared_until_a_store():
    def shared(a, k):
        return a[k] * a[k]

    def stored(a, k):
        s = a[k]
        a[0] = 2.0
        return s * a[k]

    def by_a_view(a, k):
        b = a[1:]
        s = a[k]
        b[0] = 2.0
        return s * a[k]

    def by_an_update(a, k):
        s = a[k]
        a *= 2.0
        return s * a[k]

    def by_a_method(a, k):
        s = a[k]
        a.fill(2.0)
        return s * a[k]

    def by_a_function(a, k):
        s = a[k]
        np.random.shuffle(a)
        return s * a[k]

    def by_fancy_store(a, k):
        s = a[k]
        a[np.array([0, 1])] = 7.0
        return s * a[k]

    assert loads(shared, A, 1) == 1
    for function in (stored, by_a_view, by_an_update, by_a_method, by_a_function, by_fancy_store):
        assert len(lines(after(share_common_values, function, A, 1), r"= a\[k\]")) == 2, function


def test_arguments_may_be_the_same_array_new_arrays_are_not():
    def arguments(a, b):
        s = a[0]
        b[0] = 5.0
        return s * a[0]

    def fresh(a):
        b = np.zeros(3)
        s = a[0]
        b[0] = 5.0
        return s * a[0] + b[0]

    def picked(a, c):
        b = np.zeros(4)
        if c > 0:
            b = a
        s = a[0]
        b[0] = 5.0
        return s * a[0]

    def through_a_list(a):
        items = [a, a]
        s = a[0]
        items[1][0] = 5.0
        return s * a[0]

    def through_a_tuple(a, k):
        pair = (a, a)
        s = a[0]
        pair[k][0] = 5.0
        return s * a[0]

    assert len(lines(after(share_common_values, fresh, A), r"= a\[0\]")) == 1
    for function, args in [
        (arguments, (A, A)), (picked, (A, 1)), (through_a_list, (A,)), (through_a_tuple, (A, 1)),
    ]:  # fmt: skip
        assert len(lines(after(share_common_values, function, *args), r"= a\[0\]")) == 2, function


def test_not_across_iterations():
    def f(a):
        s = 0.0
        for i in range(3):
            s += a[0]
            a[i] = s
        return s + a[0]

    def g(a):
        s = a[0]
        for i in range(3):
            s += a[0]
        return s

    assert len(lines(after(share_common_values, f, A), r"= a\[0\]")) == 2
    assert len(lines(after(share_common_values, g, A), r"= a\[0\]")) == 1


def test_not_across_arms_nor_after_them():
    def f(a, c):
        if c > 0:
            s = a[0] * 2.0
        else:
            s = a[0] * 3.0
        return s + a[0]

    def stores_in_one_arm(a, c):
        s = a[0]
        if c > 0:
            a[0] = c
        return s + a[0]

    assert len(lines(after(share_common_values, f, A, 1.0), r"= a\[0\]")) == 3
    assert len(lines(after(share_common_values, stores_in_one_arm, A, 1.0), r"= a\[0\]")) == 2


def test_copies_are_made_twice():
    """Two gathers are two arrays: of floats and of integers, by places and by a mask."""

    def floats(a, k):
        b = a[k]
        c = a[k]
        b[0] = 9.0
        return c[0]

    def integers(k, j):
        b = k[j]
        k[0] = 1
        c = k[j]
        c[1] = 7
        return b[0] * 100 + b[1] * 10 + c[0]

    def masked(k):
        b = k[k > 1]
        b[0] = 7
        return k[k > 1][0]

    for function, args in [(floats, (A, K)), (integers, (K, K)), (masked, (K,))]:
        check_bits(function, *args)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_same_bits(dtype):
    def f(a, b, n):
        s = a[0] * b[0]
        for i in range(n):
            b[i] = a[i] + a[i] * b[i - 1]
            s += a[i] * b[i - 1] + a[0] * b[0]
            if s > 10:
                a[0] = s + a[0]
            else:
                b[0] = s - a[0]
            s -= a[0] * b[0]
        return s

    check_bits(f, A.astype(dtype), A[::-1].astype(dtype), 4)


def test_draws_are_not_shared():
    def f(x):
        return x * np.random.random() + x * np.random.random()

    assert len(lines(after(share_common_values, f, 1.0), "random")) == 2
