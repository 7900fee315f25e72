"""Recursive functions backwards: each call by its own vjp."""

import math

import numpy as np
import pytest
from numba import njit

import jitgrad
from jitgrad.errors import UnsupportedError
from tests import numeric
from tests.transforms.reverse.harness import compare, some


@njit
def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1) + n


@njit
def chain(a, i):
    if i >= a.size:
        return 0.0
    return a[i] * a[i] + 0.5 * chain(a, i + 1) * a[i]


@njit
def squared(a, n):
    if n == 0:
        return a
    return squared(a * a + 1.0, n - 1) * 0.5


@njit
def tree(x, a, n):
    if n == 0:
        return x
    return tree(x * a[n], a, n - 1) + math.sin(tree(x, a, n - 2 if n > 1 else 0))


@njit
def product(items, n):
    if n == 0:
        return items[0]
    return items[n] * product(items, n - 1)


@njit
def every_kind(a, x):
    s = power(x, 4) * x + chain(a, 0) + product([v * v for v in a], 3) + np.sum(squared(a * 1.0, 2))
    for i in range(3):
        s = tree(s, a, i) * a[0]
    return s


def test_against_differences():
    args = (some(4), 0.7)
    every_kind(*args)  # recursion has to be compiled before it is read
    compare(jitgrad.value_and_grad(every_kind, (0, 1)), every_kind, args, (0, 1))


@pytest.mark.slow
def test_hessian():
    @njit
    def f(x):
        return tree(x[0], x, 2)

    x = some(3)
    expected = numeric.gradient(jitgrad.grad(f), x)
    np.testing.assert_allclose(jitgrad.hessian(f)(x), expected, rtol=1e-6, atol=1e-7)


@njit
def halves(a, i):
    if i == a.size:
        return 1.0
    a[i] *= 0.5
    return a[i] * halves(a, i + 1)


@njit
def writes(a):
    return halves(a, 0) * a[0]


@njit
def written_by_the_caller(a):
    s = chain(a, 0)
    a[0] = s
    return s * a[0] + chain(a, 1)


def test_a_callee_that_writes_is_refused():
    with pytest.raises(UnsupportedError, match="recursive function writes"):
        jitgrad.grad(writes)(some(3))


def test_a_callee_that_only_reads_is_not_blamed():
    """The caller may write before and after; right, or an error that says so."""
    try:
        compare(jitgrad.value_and_grad(written_by_the_caller, (0,)), written_by_the_caller, (some(4),), (0,))
    except UnsupportedError as error:
        assert "recursive function writes" not in str(error)


@njit
def rest(a, n):
    if n == 0:
        return a
    return rest(a[1:], n - 1)


@njit
def writes_into_what_it_got(a, n):
    v = rest(a, n)
    v[0] = a[0] * a[1]
    return np.sum(a * a)


def test_a_result_that_is_a_part_of_the_argument_is_not_written():
    with pytest.raises(UnsupportedError, match="may be a part of its argument, and is written in place"):
        jitgrad.grad(writes_into_what_it_got)(some(4), 2)


@njit
def grown(x, i, product):
    if i == x.size:
        return product
    return grown(x, i + 1, product + x[i] * product)


@njit
def grown_from_the_first(x):
    return grown(x, 0, x[0])


def test_the_second_derivative_comes_before_the_first():
    """Reading the gradient compiles the recursive callee too: for each type of its arguments with the same flags."""
    x = np.array([0.5, 2.0, -3.0])
    expected = np.zeros((3, 3))  # of x0 (1 + x0) (1 + x1) (1 + x2)
    expected[0, 0] = 2.0 * (1.0 + x[1]) * (1.0 + x[2])
    expected[0, 1] = expected[1, 0] = (1.0 + 2.0 * x[0]) * (1.0 + x[2])
    expected[0, 2] = expected[2, 0] = (1.0 + 2.0 * x[0]) * (1.0 + x[1])
    expected[1, 2] = expected[2, 1] = x[0] + x[0] ** 2
    np.testing.assert_allclose(jitgrad.jacrev(jitgrad.grad(grown_from_the_first))(x), expected, rtol=1e-14)
