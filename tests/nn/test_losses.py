"""Keras's losses against their formulas, and their derivatives against differences."""

import numpy as np
import pytest

from jitgrad import nn
from tests.nn.checking import check, draw, gradients, keeps_float32

T, Y = draw(3, 4), draw(3, 4, seed=1)
P, Q = (np.random.default_rng(k).uniform(0.05, 0.95, (3, 4)) for k in (2, 3))


def huber(t, y, delta):
    e = abs(y - t)
    return np.where(e <= delta, e * e / 2, delta * (e - delta / 2)).mean(-1)


CASES = {
    "mse": (nn.mse, T, Y, ((T - Y) ** 2).mean(-1)),
    "mae": (nn.mae, T, Y, abs(T - Y).mean(-1)),
    "huber": (nn.huber, T, Y, huber(T, Y, 1.0)),
    "huber 0.4": (lambda t, y: nn.huber(t, y, delta=0.4), T, Y, huber(T, Y, 0.4)),
    "binary": (nn.binary_crossentropy, P, Q, -(P * np.log(Q) + (1 - P) * np.log(1 - Q)).mean(-1)),
    "binary, logits": (
        lambda t, y: nn.binary_crossentropy(t, y, from_logits=True),
        P,
        Y,
        (np.logaddexp(0, Y) - P * Y).mean(-1),
    ),
    "binary, smooth, axis 0": (
        lambda t, y: nn.binary_crossentropy(t, y, label_smoothing=0.2, axis=0),
        P,
        Q,
        -((0.8 * P + 0.1) * np.log(Q) + (0.9 - 0.8 * P) * np.log(1 - Q)).mean(0),
    ),
    "categorical": (
        nn.categorical_crossentropy,
        P,
        Q,
        -(P * np.log(Q / Q.sum(-1, keepdims=True))).sum(-1),
    ),
    "categorical, smooth, logits": (
        lambda t, y: nn.categorical_crossentropy(t, y, from_logits=True, label_smoothing=0.2),
        P,
        Y,
        -((0.8 * P + 0.05) * (Y - np.log(np.exp(Y).sum(-1, keepdims=True)))).sum(-1),
    ),
    "sparse": (
        lambda t, y: nn.sparse_categorical_crossentropy(np.array([1, 0, 3]), y),
        P,
        Q,
        -np.log(Q / Q.sum(-1, keepdims=True))[range(3), [1, 0, 3]],
    ),
    "sparse, logits": (
        lambda t, y: nn.sparse_categorical_crossentropy([[1], [0], [3]], y, from_logits=True),
        P,
        Y,
        -(Y - np.log(np.exp(Y).sum(-1, keepdims=True)))[range(3), [1, 0, 3]],
    ),
}
EACH = pytest.mark.parametrize("name", CASES)


@EACH
def test_values_and_derivatives(name):
    f, t, y, want = CASES[name]
    np.testing.assert_allclose(f(t, y), want, rtol=1e-13)
    check(lambda y: f(t, y), y)
    if not name.startswith("sparse"):
        check(f, t, y)


@EACH
def test_float32(name):
    f, t, y, _ = CASES[name]
    keeps_float32(lambda y: f(t, y), y)


def test_aliases():
    assert nn.mse is nn.mean_squared_error and nn.mae is nn.mean_absolute_error


def test_probabilities_are_clipped():
    t, y = np.array([[1.0, 0.0, 1.0]]), np.array([[0.0, 1.0, 1.0]])
    with np.errstate(all="raise"):
        np.testing.assert_allclose(
            nn.binary_crossentropy(t, y), [-(2 * np.log(1e-7) + np.log(1 - 1e-7)) / 3], rtol=1e-9
        )
        np.testing.assert_allclose(nn.sparse_categorical_crossentropy([0], [[0.0, 1.0]]), [-np.log(1e-7)], rtol=1e-8)
        np.testing.assert_allclose(nn.categorical_crossentropy([[1.0, 0.0]], [[0.0, 1.0]]), [-np.log(1e-7)])
        np.testing.assert_array_equal(gradients(lambda y: nn.binary_crossentropy(t, y), y)[0], [[0, 0, 0]])


def test_kinks():
    t, y = np.zeros((1, 3)), np.array([[0.0, 1.0, -1.0]])
    np.testing.assert_allclose(gradients(lambda y: nn.mae(t, y), y)[0], [[0, 1 / 3, -1 / 3]])
    np.testing.assert_allclose(gradients(lambda y: nn.huber(t, y), y)[0], [[0, 1 / 3, -1 / 3]])


def test_one_more_axis_of_length_one_is_not_broadcast():
    y = draw(5)
    for a, b in ((np.zeros(5), y[:, None]), (np.zeros((5, 1)), y)):
        np.testing.assert_allclose(nn.mse(a, b), y**2)
    np.testing.assert_allclose(nn.mse(T, Y[..., None]), nn.mse(T, Y))
    np.testing.assert_allclose(nn.mse(T[..., None], Y), nn.mse(T, Y))
    np.testing.assert_allclose(nn.mse(0.0, y), (y**2).mean())


def test_integer_targets_and_predictions():
    np.testing.assert_allclose(nn.mse([1, 2], [2, 4]), 2.5)
    assert nn.binary_crossentropy([1, 0], np.array([0.5, 0.5], np.float32)).dtype == np.float32
