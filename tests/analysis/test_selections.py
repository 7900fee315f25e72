"""Partials that may be infinite, of results that may be left out."""

import math

import numpy as np
import pytest
from numba import njit

import jitgrad as jg
from tests.transforms.reverse.harness import source


def where_of_a_product(x):
    return np.sum(np.where(x > 0.0, x * np.log(x), 0.0))


def masked_afterwards(x):
    y = x * np.log(x)
    y[x <= 0.0] = 0.0
    return y.sum()


def chosen_by_a_branch(x):
    s = 0.0
    for i in range(x.size):
        t = x[i] * math.log(x[i])
        s += t if x[i] > 0.0 else 0.0
    return s


def stored_in_between(x):
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = x[i] * math.log(x[i])
    return np.sum(np.where(x > 0.0, y, 0.0))


@pytest.mark.parametrize("f", [where_of_a_product, masked_afterwards, chosen_by_a_branch, stored_in_between])
def test_what_is_not_selected_has_no_slope(f):
    np.testing.assert_allclose(jg.grad(njit(f))(np.array([0.0, 0.5, -1.0])), [0.0, math.log(0.5) + 1.0, 0.0])


def test_overflow_that_is_not_selected():
    @njit
    def softplus(x):
        return np.sum(np.where(x > 20.0, x, np.log1p(np.exp(x))))

    np.testing.assert_array_equal(jg.grad(softplus)(np.array([1000.0, 0.0, -1000.0])), [1.0, 0.5, 0.0])
    np.testing.assert_array_equal(jg.hessian(softplus)(np.array([1000.0, 0.0])), [[0.0, 0.0], [0.0, 0.25]])


def finite(x):
    return np.sum(np.where(x > 0.0, x * np.sin(x) * 2.0, 0.0))


def nothing_left_out(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * math.log(x[i]) * x[i]
    return s


def selected_before(x):
    return np.sum(np.maximum(x, 1.0) * np.log(x))


def step_size(x):
    h = 2.0 / x.size
    y = np.zeros(x.size)
    for i in range(1, x.size):
        y[i] = y[i - 1] + h * x[i] * y[i - 1]
    return y[-1]


@pytest.mark.parametrize("f", [finite, nothing_left_out, selected_before, step_size])
def test_products_are_plain_where_nothing_can_happen(f):
    assert "mul0(" not in source(f, np.ones(3)).replace("mul0(larger", "")
