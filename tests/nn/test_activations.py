"""Activations against SciPy and mpmath, their slopes at kinks and extremes, and differences."""

import math

import mpmath
import numpy as np
import pytest
import scipy.special

import jitgrad
from jitgrad import nn
from tests.nn.checking import check, draw, gradients, keeps_float32

INF = float("inf")
X = np.array([-7.5, -2.0, -0.3, 0.4, 1.5, 5.7, 7.25])

# name, function, the same of mpmath numbers
SMOOTH = {
    "sigmoid": (nn.sigmoid, lambda x: 1 / (1 + mpmath.exp(-x))),
    "tanh": (nn.tanh, mpmath.tanh),
    "softplus": (nn.softplus, lambda x: mpmath.log(1 + mpmath.exp(x))),
    "softsign": (nn.softsign, lambda x: x / (1 + abs(x))),
    "silu": (nn.silu, lambda x: x / (1 + mpmath.exp(-x))),
    "silu 2": (lambda x: nn.silu(x, 2.0), lambda x: x / (1 + mpmath.exp(-2 * x))),
    "gelu": (nn.gelu, lambda x: x * mpmath.ncdf(x)),
    "gelu tanh": (
        lambda x: nn.gelu(x, approximate=True),
        lambda x: x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mpmath.pi) * (x + mpmath.mpf("0.044715") * x**3))),
    ),
    "relu": (nn.relu, lambda x: max(x, 0)),
    "relu6": (nn.relu6, lambda x: min(max(x, 0), 6)),
    "leaky_relu": (nn.leaky_relu, lambda x: x if x > 0 else x / 5),
    "elu": (nn.elu, lambda x: x if x > 0 else mpmath.expm1(x)),
    "selu": (
        nn.selu,
        lambda x: (
            mpmath.mpf("1.0507009873554805") * (x if x > 0 else mpmath.mpf("1.6732632423543772") * mpmath.expm1(x))
        ),
    ),
}
EACH = pytest.mark.parametrize("name", SMOOTH)


@EACH
def test_values_are_exact(name):
    f, reference = SMOOTH[name]
    with mpmath.workdps(40):
        want = [float(reference(mpmath.mpf(x))) for x in X]
        slopes = [float(mpmath.diff(reference, mpmath.mpf(x))) for x in X]
    np.testing.assert_allclose(f(X), want, rtol=5e-15)
    np.testing.assert_allclose(gradients(f, X)[0], slopes, rtol=1e-12, atol=5e-16)


@EACH
def test_derivatives(name):
    check(SMOOTH[name][0], X)


@EACH
def test_float32(name):
    keeps_float32(SMOOTH[name][0], X)


@EACH
def test_takes_what_numpy_takes(name):
    f = SMOOTH[name][0]
    want = f(X)
    for same in (X.tolist(), jitgrad.constant(X), jitgrad.Variable(X)):
        np.testing.assert_array_equal(f(same), want)
    assert isinstance(f(X.tolist()), np.ndarray)
    np.testing.assert_allclose(f(0.4), want[3], rtol=1e-15)


@EACH
def test_extremes_are_finite_and_silent(name):
    f = SMOOTH[name][0]
    for x in (np.array([-1000.0, 1000.0]), np.array([-1000.0, 1000.0], np.float32)):
        with np.errstate(all="raise", under="ignore"):
            y, g = f(x), gradients(f, x)[0]
        assert np.isfinite(y).all() and np.isfinite(g).all()
    bounded = {"sigmoid": 1, "tanh": 1, "softsign": 1000 / 1001, "relu6": 6}
    assert y[1] == pytest.approx(bounded.get(name, 1050.7009873554805 if name == "selu" else 1000))


@pytest.mark.parametrize(
    ("f", "at", "slope"),
    [
        (nn.relu, [-1.0, 0.0, -0.0, 2.0], [0, 0, 0, 1]),
        (nn.relu6, [0.0, 3.0, 6.0, 7.0], [0, 1, 0, 0]),
        (nn.leaky_relu, [-1.0, 0.0, 1.0], [0.2, 0.2, 1]),
        (lambda x: nn.leaky_relu(x, alpha=0.5), [-1.0, 0.0, 1.0], [0.5, 0.5, 1]),
        (nn.elu, [0.0, 1.0], [1, 1]),
        (nn.selu, [0.0, 1.0], [1.0507009873554805] * 2),
        (nn.softsign, [0.0], [1]),
        (nn.softplus, [-INF, 0.0, INF], [0, 0.5, 1]),
        (nn.sigmoid, [-INF, 0.0, INF], [0, 0.25, 0]),
        (nn.relu, [-INF, INF], [0, 1]),
        (nn.elu, [-INF, INF], [0, 1]),
    ],
)
def test_slopes_at_kinks_and_infinities(f, at, slope):
    np.testing.assert_array_equal(gradients(f, np.array(at))[0], slope)


def test_a_blocked_infinite_cotangent_counts_nothing():
    x, ct = np.array([-1.0, 0.0, 2.0]), np.array([INF, math.nan, 3.0])
    np.testing.assert_array_equal(gradients(nn.relu, x, ct=ct)[0], [0, 0, 3])


def test_relu_passes_nan_on():
    assert np.isnan(nn.relu(np.array([np.nan]))).all()


def test_slope_and_beta_have_derivatives_too():
    check(nn.leaky_relu, X, np.array(0.3))
    check(nn.silu, X, np.array(1.7))


def test_small_values_keep_their_digits():
    x = np.array([-30.0, -100.0, -700.0])
    np.testing.assert_allclose(nn.sigmoid(x), scipy.special.expit(x), rtol=1e-15)
    np.testing.assert_allclose(nn.softplus(x), np.exp(x), rtol=1e-12)
    np.testing.assert_allclose(gradients(nn.softplus, x)[0], np.exp(x), rtol=1e-12)
    np.testing.assert_allclose(nn.gelu(-20.0), -20 * scipy.special.ndtr(-20.0), rtol=1e-13)
    u = 0.7978845608028654 * (9 + 0.044715 * 9**3)
    np.testing.assert_allclose(nn.gelu(-9.0, approximate=True), -9 * scipy.special.expit(-2 * u), rtol=1e-13)


@EACH
def test_complex_numbers(name):
    f, z = SMOOTH[name][0], np.array([1.0 + 2.0j])
    if name == "tanh":
        np.testing.assert_array_equal(f(z), np.tanh(z))
    else:
        with pytest.raises(jitgrad.UnsupportedError, match="real numbers, not complex128"):
            f(z)


def test_relu_and_dense_in_compiled_code():
    @jitgrad.grad
    def slope(w, x):
        return np.sum(nn.relu(nn.dense(x, w, np.zeros(2))))

    w, x = draw(3, 2), draw(4, 3, seed=1)
    want = gradients(lambda w: np.sum(nn.relu(nn.dense(x, w, np.zeros(2)))), w)[0]
    np.testing.assert_allclose(slope(w, x), want, rtol=1e-13)
