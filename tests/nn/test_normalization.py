"""Normalizations against their formulas and differences; dropout by its draws."""

import numpy as np
import pytest

import jitgrad
from jitgrad import nn
from tests.nn.checking import check, draw, gradients, keeps_float32

X = draw(4, 3, 2)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", [0, -1, (0, 1), [0, 2], None])
def test_moments(axes, keepdims):
    numpy_axes = tuple(axes) if isinstance(axes, list) else axes
    mean, variance = nn.moments(X, axes, keepdims=keepdims)
    np.testing.assert_allclose(mean, X.mean(numpy_axes, keepdims=keepdims), rtol=1e-12)
    np.testing.assert_allclose(variance, X.var(numpy_axes, keepdims=keepdims), rtol=1e-12)
    for k in (0, 1):
        check(lambda x: nn.moments(x, axes, keepdims=keepdims)[k], X)


def test_batch_normalization():
    mean, variance, offset, scale = draw(2, seed=1), np.array([0.3, 2.0]), draw(2, seed=2), draw(2, seed=3)
    want = scale * (X - mean) / np.sqrt(variance + 0.01) + offset
    np.testing.assert_allclose(nn.batch_normalization(X, mean, variance, offset, scale, 0.01), want, rtol=1e-13)
    check(lambda *a: nn.batch_normalization(*a, 0.01) ** 2, X, mean, variance, offset, scale, rtol=1e-6)
    got = nn.batch_normalization(X, mean, variance, None, None, variance_epsilon=0.01)
    np.testing.assert_allclose(got, (X - mean) / np.sqrt(variance + 0.01), rtol=1e-13)
    check(lambda x: nn.batch_normalization(x, *nn.moments(x, (0, 1)), offset, scale, 0.01), X, rtol=1e-6)
    keeps_float32(lambda x, m, v, o, s: nn.batch_normalization(x, m, v, o, s, 1e-3), X, mean, variance, offset, scale)


def test_batch_normalization_of_a_large_mean_keeps_its_digits():
    x = 1e8 + np.array([1.0, 2.0, 4.0])
    mean, variance = nn.moments(x, 0)
    want = (np.array([1.0, 2.0, 4.0]) - 7 / 3) / np.sqrt(14 / 9)
    np.testing.assert_allclose(nn.batch_normalization(x, mean, variance, None, None, 0.0), want, rtol=1e-7)


@pytest.mark.parametrize("axis", [-1, 1, (1, 2), [-2, -1]])
def test_layer_normalization(axis):
    axes = tuple(a % 3 for a in np.atleast_1d(axis))
    lengths = tuple(X.shape[a] for a in axes)
    gamma, beta = draw(*lengths, seed=1), draw(*lengths, seed=2)
    mean, std = X.mean(axes, keepdims=True), np.sqrt(X.var(axes, keepdims=True) + 0.001)
    shape = [X.shape[k] if k in axes else 1 for k in range(3)]
    want = (X - mean) / std * gamma.reshape(shape) + beta.reshape(shape)
    np.testing.assert_allclose(nn.layer_normalization(X, gamma, beta, axis=axis), want, rtol=1e-12)
    np.testing.assert_allclose(nn.layer_normalization(X, axis=axis), (X - mean) / std, rtol=1e-12)
    check(lambda *a: nn.layer_normalization(*a, axis=axis, epsilon=0.1), X, gamma, beta, rtol=1e-6)


@pytest.mark.parametrize("axis", [None, -1, (0, 2), [1]])
def test_l2_normalize(axis):
    axes = tuple(axis) if isinstance(axis, list) else axis
    norm = np.sqrt((X**2).sum(axes, keepdims=True))
    np.testing.assert_allclose(nn.l2_normalize(X, axis), X / norm, rtol=1e-13)
    check(lambda x: nn.l2_normalize(x, axis), X, rtol=1e-6)


def test_l2_normalize_of_zero():
    np.testing.assert_array_equal(nn.l2_normalize(np.zeros(2)), [0, 0])
    np.testing.assert_allclose(gradients(nn.l2_normalize, np.zeros(2))[0], [1e6, 1e6])
    np.testing.assert_allclose(gradients(lambda x: nn.l2_normalize(x, epsilon=0.25), np.zeros(2))[0], [2, 2])


# ----- dropout --------------------------------------------------------------------------------------
def test_dropout_keeps_the_mean_and_scales_what_stays():
    x = np.full((200, 300), 3.0)
    y = nn.dropout(x, 0.25, seed=1)
    np.testing.assert_array_equal(np.unique(y), [0, 4])
    assert (y == 0).mean() == pytest.approx(0.25, abs=0.01)
    assert nn.dropout(x.astype(np.float32), 0.25).dtype == np.float32


def test_dropout_seeds():
    x = np.ones(100)
    first = nn.dropout(x, 0.5, seed=3)
    np.testing.assert_array_equal(nn.dropout(x, 0.5, seed=3), first)
    assert (nn.dropout(x, 0.5, seed=4) != first).any()
    assert (nn.dropout(x, 0.5) != nn.dropout(x, 0.5)).any()
    generator = np.random.default_rng(3)
    np.testing.assert_array_equal(nn.dropout(x, 0.5, seed=generator), first)
    assert (nn.dropout(x, 0.5, seed=generator) != first).any()


def test_dropout_gradient_is_its_mask():
    x = draw(6, 5)
    y = nn.dropout(x, 0.4, seed=7)
    np.testing.assert_allclose(gradients(lambda x: nn.dropout(x, 0.4, seed=7), x)[0], y / x)
    check(lambda x: nn.dropout(x, 0.4, seed=7) ** 2, x, rtol=1e-6)
    # what is dropped does not count, even if it is no number
    dropped = np.where(y == 0, np.nan, x)
    np.testing.assert_array_equal(nn.dropout(dropped, 0.4, seed=7), y)


def test_dropout_shapes_and_switches():
    x = draw(4, 5)
    rows = nn.dropout(x, 0.5, noise_shape=(None, 1), seed=2)
    assert all((row == 0).all() or (row != 0).all() for row in rows) and (rows == 0).any() and (rows != 0).any()
    for same in (nn.dropout(x, 0.5, training=False), nn.dropout(x, 0.0)):
        np.testing.assert_array_equal(same, x)
    for rate in (1.0, -0.1, 2, float("nan")):
        with pytest.raises(jitgrad.ArgumentError, match="rate must be at least 0 and below 1"):
            nn.dropout(x, rate)
    with pytest.raises(jitgrad.ArgumentError, match="not int64"):
        nn.dropout(np.arange(3), 0.5)
