"""Pullbacks of operators and calls by their rules."""

import math

import numpy as np
import pytest
from numba import literal_unroll, njit

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


CAPTURED = np.array([1.0, 2.0, 4.0])


@cases(some(3), True)
@cases(some(3), False)
def of_a_captured_array(x, flag):
    picked = CAPTURED if flag else x
    return np.sum(CAPTURED * x * x) * np.sum(picked * x)


@cases(0.7, 0)
@cases(0.7, 1)
def picked_from_tuples_with_constants(x, i):
    t = ((x, x * x), (2.0, x))
    return t[i][0] * t[i][1]


@cases(some(3))
def finite_and_conjugate(x):
    y = x.conj() * 1.0
    y[1] = np.nan
    return np.sum(np.nan_to_num(y) * x.conjugate() * np.nan_to_num(x))


@cases(some(3))
def clipped_by_name(x):
    return np.sum(np.clip(x, a_max=0.9, a_min=-0.5) * x.clip(-0.2, 2.0) * np.sinc(x) * np.clip(x[::-1], None, x))


@cases(some(3), some(6).reshape(2, 3))
def between_points(x, m):
    areas = np.trapezoid(m, x) + np.trapezoid(m, m * m) + np.trapezoid(m, dx=x[0])
    return (
        np.trapezoid(x * x, x) * np.sum(areas)
        + np.sum(np.arange(x[0], 2.0 + x[1], 0.75))
        + np.sum(np.arange(3.0 + x[2]))
    )


@cases(some(6).reshape(2, 3), some(3))
def many_functions(m, v):
    w = np.dot(m, v)
    u = np.concatenate((w, v[:1]))
    s = np.sum(u * u) + np.outer(v, w)[1, 0] + np.cumsum(v)[1] + m.T.copy()[2, 1]
    return s * np.mean(m) + np.max(v) * np.min(v) + np.full(2, v[0])[1]


@njit
def sum_of_squares(x, *more):
    s = x * x
    for v in more:
        s += v * x
    return s


@njit
def applied(f, x, *args):
    return f(x, *args) * x


@cases(0.7, 1.2)
def star_arguments_passed_on(x, y):
    t = (x, y) + (x * y,)
    return applied(sum_of_squares, x, y, x * y) + sum_of_squares(*t) * t[2]


@cases(0.7, 1.2, 1)
def tuple_of_tuples_with_an_index_of_data(x, y, k):
    t = ((x, y), (y * y, x * y), (x, x))
    s = 0.0
    for i in range(3):
        p, q = t[(i + k) % 3]
        s += p * q * (i + 1)
    return s


@cases(some(3), some(4).reshape(2, 2), 0.7)
def unrolled_over_types(x, m, c):
    s = 0.0
    for t in literal_unroll((x, c, m, x * c, 2)):
        s += np.sum(np.sin(x[0] * t) * c)
    return s


@cases(some(9).reshape(3, 3) + 2.0 * np.eye(3), some(3))
def matrix_powers(m, v):
    p = np.linalg.matrix_power(m, 5)
    return np.sum(p @ v) + p[0, 1] * np.sum(p.T * v)


@cases(some(3))
def numbers_of_a_dictionary(x):
    rates, best, s = {0: 2.0, 1: 0.5}, None, 0.0
    for i in range(3):
        rate = rates.get(i)
        if rate is not None:
            s += math.sin(x[i] * rate)
        c = x[i] * rates.get(i, 0.3)
        if best is None or c > best:
            best = c
    return s * math.exp(best)


@cases(some(4), some(3))
def complex_conjugates(x, y):
    z = np.exp(1j * x) * (y[0] + 2j)
    w = z * z.conjugate()
    z.real[0] = y[1]  # after w was computed
    return np.sum((w * 2.0 + z.conj()).real * np.angle(z))


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
    def f(x, k):
        np.fill_diagonal(x, x[0, 1])
        return np.sum(x * x)

    with pytest.raises(jitgrad.JitgradError):
        source(f, some(8).reshape(2, 2, 2), 1)
