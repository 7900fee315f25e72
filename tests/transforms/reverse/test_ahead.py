"""Kernels that run ahead of the sum over them."""

import math

import numpy as np
import pytest
from numba import njit

import jitgrad as jg


@njit
def logsumexp(x):
    m = x[0]
    for i in range(1, x.size):
        m = max(m, x[i])
    s = 0.0
    for v in x:
        s += math.exp(v - m)
    return m + math.log(s)


@njit
def rows(x):
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += math.exp(x[i, j]) * math.tanh(x[i, j])
        total += math.log(s)
    return total


@njit
def feedback(x):
    s = 0.0
    for i in range(x.size):
        s += math.exp(x[i] - s)
    return s


@njit
def writes(x):
    y = x.copy()
    s = 0.0
    for i in range(1, x.size):
        s += math.exp(y[i])
        y[i] = s
    return s + y[1]


def fast(f, x):
    with jg.options(math="fast"):
        g = jg.value_and_grad(f)
    return jg.source(g, x), g(x)


@pytest.mark.parametrize("f, x, loops", [
    (logsumexp, np.array([0.3, 1.2, -0.7, 2.0]), 2),
    (rows, np.array([[0.3, 1.2, 0.7], [0.1, 0.2, 0.3]]), 2),
    (feedback, np.array([0.3, 1.2, -0.7]), 1),
    (writes, np.array([0.3, 0.2, -0.7]), 1),
])  # fmt: skip
def test_a_loop_in_two_where_the_kernels_need_nothing_that_it_carries(f, x, loops):
    source, (value, gradient) = fast(f, x)
    forward, kernel = source.split("_bar")[0], next(n for n in ("exp", "tanh") if f"fast_{n}(" in source)
    at = forward.index(f"fast_{kernel}(")
    header = forward[:at].rindex("for ")
    header = forward[header : forward.index(":", header)]
    assert forward.count(header) == loops
    assert value == pytest.approx(f(x), rel=1e-14)
    with jg.options(math="libm"):
        np.testing.assert_allclose(gradient, jg.grad(f)(x), rtol=1e-13)


def test_no_iteration():
    _, (value, gradient) = fast(feedback, np.empty(0))
    assert value == 0.0 and gradient.shape == (0,)
