"""checkpoint: the same derivatives, with less memory."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numba import njit

import jitgrad as jg
from tests.peak import peak


@njit
def plain(x, a):
    for k in range(5):
        x = x - 0.1 * a * np.sin((k + 1.0) * x)
    return x


settle = jg.checkpoint(plain)


@njit
def twice(x, a):
    return settle(settle(x, a), a) * x


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def complex_step(f, *at):
    """The gradient of a function of numbers."""
    h = 1e-30j
    return [f(*(x + h * (k == j) for k, x in enumerate(at))).imag / 1e-30 for j in range(len(at))]


def test_every_mode_and_order():
    at = 0.7, 1.3
    assert settle(*at) == plain(*at)
    expected = complex_step(lambda x, a: plain.py_func(plain.py_func(x, a), a) * x, *at)
    gradient = jg.grad(twice, (0, 1))
    close(gradient(*at), expected)
    close(jg.jvp(twice, at, (1.0, 0.5))[1], expected[0] + 0.5 * expected[1])
    hessian = jg.hessian(twice, (0, 1))(*at)
    h = 1e-5
    for row, e in zip(hessian, ((h, 0.0), (0.0, h)), strict=True):
        plus, minus = (gradient(at[0] + s * e[0], at[1] + s * e[1]) for s in (1.0, -1.0))
        np.testing.assert_allclose(row, np.subtract(plus, minus) / (2.0 * h), rtol=1e-7)
    close(jg.jacrev(gradient, (0, 1))(*at), hessian)


@jg.checkpoint
def layer(weight, x, power):
    """A decorator; arrays, an integer, and a tuple as the result."""
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = weight[i] * x[i] ** power
    return y, y.sum()


@jg.checkpoint
def layers(weight, x):
    y, s = layer(weight, x, 2)
    z, t = layer(weight, y, 3)
    return z.sum() + s * t


def test_nested_with_arrays_that_are_overwritten_afterwards():
    @njit
    def loss(weight, x):
        y = x.copy()
        first = layers(weight, y)
        y[0] = 2.0
        return first + layers(weight, y)

    w, x = np.array([1.5, 0.5]), np.array([0.3, 2.0])

    def closed_form(w, x):
        def f(x):
            y = w * x**2
            return (w * y**3).sum() + y.sum() * (w * y**3).sum()

        return f(x) + f(np.array([2.0 + 0.0 * x[0], x[1]]))

    step = 1e-30j
    expected = (
        [closed_form(w + step * e, x).imag / 1e-30 for e in np.eye(2)],
        [closed_form(w, x + step * e).imag / 1e-30 for e in np.eye(2)],
    )
    for found, exact in zip(jg.grad(loss, (0, 1))(w, x), expected, strict=True):
        close(found, exact)


def test_only_the_arguments_are_kept():
    """20 calls, each of which fills 8 arrays of a megabyte."""

    def busy(x):
        for _ in range(8):
            x = np.sin(x)
        return x

    def chain(f):
        def run(x):
            for _ in range(20):
                x = f(x)
            return x.sum()

        return jg.grad(njit(run))

    x = np.linspace(0.0, 1.0, 2**17)
    megabytes = []
    for f in (njit(busy), jg.checkpoint(njit(busy))):
        gradient = chain(f)
        gradient(x[:8])  # compiles
        megabytes.append(peak(lambda g=gradient: g(x)) / 2**20)
    assert megabytes[0] > 100.0
    assert megabytes[1] < 60.0


def test_one_object_and_pickle():
    assert jg.checkpoint(plain) is settle
    assert pickle.loads(pickle.dumps(settle))(0.7, 1.3) == plain(0.7, 1.3)


def test_functions_that_cannot_run_again():
    @jg.checkpoint
    def scale(x):
        x *= 2.0
        return x.sum()

    with pytest.raises(jg.UnsupportedError, match="scale writes into its argument x, so that it cannot run again"):
        jg.grad(lambda x: scale(1.0 * x))(np.ones(2))
    assert jg.jvp(lambda x: scale(1.0 * x), (np.ones(2),), (np.ones(2),)) == (4.0, 4.0)


def test_memory_of_an_argument_is_returned_as_a_copy():
    @jg.checkpoint
    def first(x):
        return x[:1], 2.0

    @njit
    def overwrites(x):
        y = first(x)[0]
        y[0] *= x[1]
        return y[0] * x[0]

    x = np.array([3.0, 5.0])
    assert not np.shares_memory(first(x)[0], x)
    np.testing.assert_array_equal(jg.grad(overwrites)(x), [30.0, 9.0])
    assert jg.jvp(overwrites, (x,), (np.ones(2),)) == (45.0, 39.0)


def test_star_parameters():
    with pytest.raises(jg.ArgumentError, match=r"has the parameter \*x; give its parameters names"):
        jg.checkpoint(lambda *x: x[0])


def test_a_parameter_named_as_the_result_is_in_rules():
    scaled = jg.checkpoint(njit(lambda x, out: x * out**2))
    assert jg.grad(scaled, (0, 1))(2.0, 3.0) == (9.0, 12.0)
    assert jg.grad(lambda x: scaled(x, out=3.0))(2.0) == 9.0
    assert jg.hessian(scaled, 1)(2.0, 3.0) == 4.0

    unclear = jg.checkpoint(njit(lambda out, out_: out * out_))
    with pytest.raises(jg.ArgumentError, match="parameters out and out_, which its rule cannot tell apart; rename one"):
        jg.grad(unclear)(2.0, 3.0)
