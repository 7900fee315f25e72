"""Pullbacks of operators and calls by their rules."""

import numpy as np
import pytest
from numba import njit

import jitgrad
from jitgrad.errors import NoRuleError
from tests.transforms.reverse.harness import Cases, compare, copied, some, source

cases = Cases()


@njit
def square_or_none(x):
    if x > 0:
        return x * x
    return None


@cases(0.7)
def optional_value(x):
    y = square_or_none(x)
    if y is None:
        return x
    return y * 3.0


@cases(-0.7)
def optional_none(x):
    y = square_or_none(x)
    if y is None:
        return x
    return y * 3.0


@cases(some(6).reshape(2, 3), some(3))
def many_functions(m, v):
    w = np.dot(m, v)
    u = np.concatenate((w, v[:1]))
    s = np.sum(u * u) + np.outer(v, w)[1, 0] + np.cumsum(v)[1] + m.T.copy()[2, 1]
    return s * np.mean(m) + np.max(v) * np.min(v) + np.full(2, v[0])[1]


@cases.each
def test_against_differences(case):
    case.check()


@jitgrad.custom_vjp
@njit
def added(a, b):
    return a + b


added.defvjp(lambda a, b: (a + b, ()), lambda residuals, ct: (ct, ct))


@jitgrad.custom_vjp
@njit
def total(a, b):
    return np.sum(a * b)


total.defvjp(lambda a, b: (np.sum(a * b), (a, b)), lambda residuals, ct: (residuals[1], residuals[0]))


def test_one_array_returned_for_two_arguments():
    def plain(x, y):
        a, b = x * 2.0, y * 3.0
        return np.sum((a + b) ** 2) + np.sum(a * a * y) + np.sum(a * y)

    @njit
    def f(x, y):
        a = x * 2.0
        b = y * 3.0
        w = a * a
        c = added(a, b)
        return np.sum(c * c) + np.sum(w * y) + np.sum(a * y)

    compare(jitgrad.value_and_grad(f, (0, 1)), plain, (some(3), some(3) + 1), (0, 1))


def test_a_residual_returned_is_not_added_to():
    @njit
    def f(x, y):
        s = np.sum(x * x * y)
        return total(x, y) + s

    args = (some(3), some(3) + 1)
    mine = copied(args)
    gradients = jitgrad.grad(f, (0, 1))(*mine)
    np.testing.assert_array_equal(mine, args)  # the caller's arrays
    x, y = args
    np.testing.assert_allclose(gradients, (y + 2 * x * y, x + x * x))


def test_no_rule_names_function_and_place():
    def f(x):
        return np.sum(np.partition(x, 1) * x)

    try:
        source(f, some(4))
    except NoRuleError as error:
        assert "test_calls.py" in str(error) and "custom_vjp" in str(error)


def test_unfollowed_mutation_is_refused():
    def f(x):
        np.fill_diagonal(x, x[0, 1])
        return np.sum(x * x)

    with pytest.raises(jitgrad.JitgradError):
        source(f, some(4).reshape(2, 2))
