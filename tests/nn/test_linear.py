"""Dense layers, biases, embeddings and one-hot rows."""

import numpy as np
import pytest

import jitgrad
from jitgrad import nn
from tests.nn.checking import check, draw, gradients, keeps_float32


def test_dense():
    x, w, b = draw(4, 3), draw(3, 2, seed=1), draw(2, seed=2)
    np.testing.assert_array_equal(nn.dense(x, w, b), x @ w + b)
    check(lambda *a: nn.dense(*a) ** 2, x, w, b, rtol=1e-6)
    keeps_float32(nn.dense, x, w, b)


def test_bias_add():
    x, b = draw(2, 3, 4, 3), draw(3, seed=1)
    np.testing.assert_array_equal(nn.bias_add(x, b), x + b)
    np.testing.assert_array_equal(nn.bias_add(x, b, data_format="NCHW"), x + b[:, None, None])
    check(lambda x, b: nn.bias_add(x, b, "NCHW") ** 2, x[:1, :, :2], b, rtol=1e-6)
    for bias in (draw(4), draw(3, 1), np.array(1.0)):
        with pytest.raises(jitgrad.ShapeError, match="one number for each channel"):
            nn.bias_add(x, bias)


def test_embedding_lookup():
    params, ids = draw(5, 3), np.array([[1, 1], [4, 0]])
    np.testing.assert_array_equal(nn.embedding_lookup(params, ids), params[ids])
    g = gradients(lambda p: nn.embedding_lookup(p, ids), params)[0]
    np.testing.assert_array_equal(g, np.array([1.0, 2, 0, 0, 1])[:, None] * np.ones(3))
    check(lambda p: nn.embedding_lookup(p, ids) ** 2, params, rtol=1e-6)
    for bad in (5, -1):
        with pytest.raises(jitgrad.ArgumentError, match="ids must lie between 0 and 4"):
            nn.embedding_lookup(params, [bad])


def test_one_hot():
    indices = np.array([[2, 0], [-1, 3]])
    want = (indices[..., None] == np.arange(3)).astype(np.float32)
    got = nn.one_hot(indices, 3)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(nn.one_hot(indices, 3, axis=0), np.moveaxis(want, -1, 0))
    np.testing.assert_array_equal(nn.one_hot(indices, 3, axis=1), np.moveaxis(want, -1, 1))
    np.testing.assert_array_equal(nn.one_hot(2, 3), [0, 0, 1])
    assert nn.one_hot(indices, 3, dtype=np.int8).dtype == np.int8
    np.testing.assert_array_equal(nn.one_hot(indices, 3, on_value=5.0, off_value=-1.0), np.where(want, 5.0, -1.0))
    assert nn.one_hot(indices, 3, on_value=5.0, dtype=np.float32).dtype == np.float32
    assert isinstance(nn.one_hot(jitgrad.constant([0]), 2), jitgrad.Tensor)
    check(lambda on, off: nn.one_hot(indices, 3, on, off), np.array(2.0), np.array(-1.0))
    with pytest.raises(jitgrad.ArgumentError, match="indices must be integers"):
        nn.one_hot([0.5], 3)


def test_l2_loss():
    x = draw(3, 4)
    np.testing.assert_allclose(nn.l2_loss(x), (x**2).sum() / 2)
    check(nn.l2_loss, x)
    keeps_float32(nn.l2_loss, x)
