"""Prepared products: results, writing into given arrays, what allocates nothing, what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numba import njit

import jitgrad as jg
from tests.allocations import of_each_call


@njit
def energy(x, k):
    s = 0.0
    for i in range(x.size - 1):
        s += k * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


@njit
def rhs(t, y, dy):
    for i in range(y.size):
        dy[i] = t * np.sin(y[i]) * y[(i + 1) % y.size]


@njit
def in_place(y, c):
    for i in range(1, y.size):
        y[i] *= c * y[i - 1]


X, V = np.linspace(-0.5, 1.0, 4), np.array([1.0, -2.0, 0.5, 3.0])


def product_with_hessian(x, v, k):
    h = np.zeros((x.size, x.size))
    for i in range(x.size - 1):
        h[i, i] += 2.0 + k * (12.0 * x[i] ** 2 - 4.0 * x[i + 1])
        h[i + 1, i + 1] += 2.0 * k
        h[i, i + 1] -= 4.0 * k * x[i]
        h[i + 1, i] -= 4.0 * k * x[i]
    return h @ v


def product_with_jacobian(t, y, v):
    following = np.roll(y, -1)
    return t * (np.cos(y) * following * v + np.sin(y) * np.roll(v, -1))


def test_product_with_the_hessian():
    push = jg.pushforward(jg.grad(energy))
    gradient, product = push(V, X, 3.0)
    np.testing.assert_allclose(product, product_with_hessian(X, V, 3.0), rtol=1e-14)
    np.testing.assert_array_equal(gradient, jg.grad(energy)(X, 3.0))
    given = np.full(4, np.nan), np.full(4, np.nan)
    assert push.into(given, V, X, 3.0) is None
    np.testing.assert_array_equal(given, (gradient, product))
    assert of_each_call(push.into, given, V, X, 3.0) == 0.0


def test_product_with_the_jacobian_of_what_is_written():
    push = jg.pushforward(rhs, 1, outs=2)
    dy, dot = np.full(4, np.nan), np.full(4, np.nan)
    assert push.into(dot, V, 2.0, X, dy) is None
    np.testing.assert_allclose(dot, product_with_jacobian(2.0, X, V), rtol=1e-14)
    np.testing.assert_allclose(dy, 2.0 * np.sin(X) * np.roll(X, -1), rtol=1e-14)
    assert of_each_call(push.into, dot, V, 2.0, X, dy) == 0.0
    (value,), (tangent,) = push(V, 2.0, X, np.zeros(4))
    np.testing.assert_array_equal((value, tangent), (dy, dot))


@pytest.mark.slow
def test_several_arguments():
    push = jg.pushforward(rhs, (0, 1), outs=(2,))
    dy, dot = np.zeros(4), np.zeros(4)
    push.into((dot,), (0.5, V), 2.0, X, dy)
    np.testing.assert_allclose(dot, product_with_jacobian(2.0, X, V) + 0.5 * dy / 2.0, rtol=1e-14)


def test_a_function_that_updates_what_is_differentiated():
    push = jg.pushforward(in_place, 0, outs=0)
    y, dot = X.copy(), np.zeros(4)
    push.into(dot, V, y, 2.0)
    want = X.copy()
    tangent = V.copy()
    for i in range(1, 4):
        tangent[i] = 2.0 * (tangent[i] * want[i - 1] + want[i] * tangent[i - 1])
        want[i] *= 2.0 * want[i - 1]
    np.testing.assert_allclose(y, want)
    np.testing.assert_allclose(dot, tangent)


@pytest.mark.slow
def test_numbers_and_returned_arrays():
    value, dot = np.zeros(1), np.zeros(1)
    jg.pushforward(lambda x: x**3).into((value, dot), 2.0, 2.0)
    assert (value[0], dot[0]) == (8.0, 24.0)
    out = np.zeros(4), np.zeros(4)
    jg.pushforward(lambda x, n: x * x).into(out, V, X, 7)
    np.testing.assert_array_equal(out, (X * X, 2.0 * X * V))


@pytest.mark.slow
def test_nesting_and_pickling():
    push = jg.pushforward(jg.grad(lambda x: x**4))
    assert jg.pushforward(push, 1)(1.0, 1.0, 2.0)[1] == (48.0, 48.0)
    assert pickle.loads(pickle.dumps(jg.pushforward(energy))) is jg.pushforward(energy)


@pytest.mark.parametrize(
    ("out", "tangent", "x", "message"),
    [
        ((np.zeros(4), np.zeros(4)), V[:2], X, "shape of what it belongs to"),
        ((np.zeros(4), np.zeros(3)), V, X, "shape of what it belongs to"),
        ((np.zeros(3), np.zeros(3)), V, X, "shape of the argument"),
        ((np.zeros(4), V), V, X, "overlap"),
        ((X, np.zeros(4)), V, X, "overlap"),
        ((V, np.zeros(4)), V, X, "overlap"),
    ],
)
def test_what_does_not_fit(out, tangent, x, message):
    with pytest.raises(ValueError, match=message):
        jg.pushforward(jg.grad(energy)).into(out, tangent, x, 3.0)


def test_results_are_arrays_of_the_right_kind():
    into = jg.pushforward(jg.grad(energy)).into
    for out, message in ((np.zeros(4), "a tuple of 2 cannot be"), ((np.zeros(4), np.zeros(4, int)), "integer array")):
        with pytest.raises(jg.ArgumentError, match=f"into: .*{message}"):
            into(out, V, X, 3.0)


def test_results_and_tangents_are_apart():
    push, dy = jg.pushforward(rhs, 1, outs=2), np.zeros(4)
    for out, v, y in ((dy, V, X), (V, V, X), (np.zeros(4), V, dy)):
        with pytest.raises(ValueError, match="overlap"):
            push.into(out, v, 2.0, y, dy)
    with pytest.raises(ValueError, match="shape"):
        jg.pushforward(energy)(V[:2], X, 3.0)
    with pytest.raises(jg.ArgumentError, match="out of range"):
        jg.pushforward(energy, 4)
    with pytest.raises(jg.ArgumentError, match="writes into given arrays already"):
        push.into.into
