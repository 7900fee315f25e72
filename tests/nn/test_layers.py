"""Layers and the loss against plain NumPy; their gradients against hand-written ones."""

import numpy as np
import pytest
from scipy.signal import correlate
from scipy.special import log_softmax

import jitgrad
from jitgrad.nn import layers as nn

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def draw(shape, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def close(got, want, dtype):
    assert got.dtype == dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12 if dtype == np.float64 else 1e-4, atol=1e-5)


@DTYPES
def test_dense(dtype):
    x, w, b = draw((4, 3), dtype), draw((3, 2), dtype, 1), draw(2, dtype, 2)
    close(nn.dense(x, w, b), x @ w + b, dtype)


@DTYPES
def test_relu(dtype):
    x = np.array([[-1.5, 0.0, 2.0], [3.0, -0.0, np.nan]], dtype)
    close(nn.relu(x), np.array([[0.0, 0.0, 2.0], [3.0, 0.0, np.nan]]), dtype)


def test_relu_has_slope_zero_at_zero():
    def total(x):
        return nn.relu(x).sum()

    np.testing.assert_array_equal(jitgrad.grad(total)(np.array([-1.0, 0.0, -0.0, 2.0])), [0.0, 0.0, 0.0, 1.0])


@DTYPES
@pytest.mark.parametrize("shape", [(2, 6, 5, 3), (1, 3, 2, 1), (3, 4, 4, 2)])
def test_conv2d(dtype, shape):
    x, w, b = draw(shape, dtype), draw((3, 2, shape[3], 4), dtype, 1), draw(4, dtype, 2)
    n, rows, columns, _ = shape
    want = np.empty((n, rows - 2, columns - 1, 4))
    for i in range(n):
        for k in range(4):
            want[i, :, :, k] = correlate(x[i], w[:, :, :, k], "valid")[:, :, 0] + b[k]
    close(nn.conv2d(x, w, b), want, dtype)


@DTYPES
@pytest.mark.parametrize(("rows", "columns"), [(4, 6), (5, 3), (2, 2), (1, 4)])
def test_max_pool2d(dtype, rows, columns):
    x = draw((2, rows, columns, 3), dtype)
    r, c = rows // 2, columns // 2
    want = x[:, : 2 * r, : 2 * c].reshape(2, r, 2, c, 2, 3).max(axis=(2, 4)) if r and c else np.empty((2, r, c, 3))
    close(nn.max_pool2d(x), want, dtype)


@DTYPES
def test_softmax_cross_entropy(dtype):
    z, labels = draw((6, 4), dtype) * 5, np.array([0, 1, 2, 3, 1, 0], np.uint8)
    want = -log_softmax(z.astype(float), axis=1)[np.arange(6), labels].mean()
    assert nn.softmax_cross_entropy(z, labels) == pytest.approx(want, rel=1e-12 if dtype == np.float64 else 1e-5)


def test_softmax_cross_entropy_survives_large_logits():
    z = np.array([[1000.0, -1000.0], [-1e4, 0.0]])
    assert nn.softmax_cross_entropy(z, np.array([1, 1])) == 1000.0
    np.testing.assert_array_equal(
        jitgrad.grad(nn.softmax_cross_entropy)(z, np.array([1, 1])), [[0.5, -0.5], [0.0, 0.0]]
    )


def test_gradient_of_the_cross_entropy_is_softmax_minus_one_hot():
    z, labels = draw((6, 4)), np.array([0, 1, 2, 3, 1, 0])
    want = (np.exp(log_softmax(z, axis=1)) - np.eye(4)[labels]) / 6
    np.testing.assert_allclose(jitgrad.grad(nn.softmax_cross_entropy)(z, labels), want, rtol=1e-12, atol=1e-16)


def test_gradient_of_conv2d_is_correlation_with_the_cotangent():
    x, w, b = draw((2, 5, 6, 2)), draw((3, 2, 2, 4), seed=1), draw(4, seed=2)
    ct = draw((2, 3, 5, 4), seed=3)

    def total(x, w, b, ct):
        return (nn.conv2d(x, w, b) * ct).sum()

    gx, gw, gb = jitgrad.grad(total, argnums=(0, 1, 2))(x, w, b, ct)
    np.testing.assert_allclose(gb, ct.sum(axis=(0, 1, 2)), rtol=1e-12)
    want_w = np.einsum(
        "nrcabk,nrco->abko",
        np.lib.stride_tricks.sliding_window_view(x, (3, 2), (1, 2)).transpose(0, 1, 2, 4, 5, 3),
        ct,
    )
    np.testing.assert_allclose(gw, want_w, rtol=1e-12)
    want_x = np.zeros_like(x)
    for a in range(3):
        for c in range(2):
            want_x[:, a : a + 3, c : c + 5] += ct @ w[a, c].T
    np.testing.assert_allclose(gx, want_x, rtol=1e-12)


def test_gradient_of_max_pool2d_goes_to_the_largest():
    x = np.array([1.0, 5.0, 2.0, 3.0, 4.0, 0.0, -1.0, -2.0, 9.0, 9.5]).reshape(1, 2, 5, 1)

    def total(x):
        return nn.max_pool2d(x).sum()

    np.testing.assert_array_equal(jitgrad.grad(total)(x)[0, :, :, 0], [[0, 1, 0, 0, 0], [0, 0, 0, 1, 0]])
