"""Clipping against trajectories of Keras 3.15 and against its definition."""

import numpy as np
import pytest

from jitgrad.errors import ArgumentError
from jitgrad.optim import SGD
from jitgrad.optim.clipping import Clipping
from tests.optim.problem import after

GOLDEN = {
    "clipnorm": (1.0, [0.402367973, -0.12882726, 0.667053898, -0.091242364, 0.505161224, -0.975906129, 2.751222866]),
    "clipvalue": (0.5, [0.341631027, -0.15371655, 0.621870815, -0.138091974, 0.578568677, -0.875, 2.875]),
    "global_clipnorm": (
        1.0,
        [0.40793097, -0.141931221, 0.67399377, -0.106253139, 0.502026972, -0.990564796, 2.898348735],
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_equals_keras(name):
    limit, want = GOLDEN[name]
    np.testing.assert_allclose(after(SGD(0.125, **{name: limit}), steps=2), want, rtol=1e-6)


def clipped(grads, **limits):
    grads = [np.array(grad) for grad in grads]
    Clipping(**limits).apply(grads)
    return grads


def test_by_hand():
    grads = [[3.0, 4.0], [0.0, 12.0]]
    np.testing.assert_allclose(clipped(grads, clipnorm=10.0), [[3.0, 4.0], [0.0, 10.0]])
    np.testing.assert_allclose(clipped(grads, clipvalue=3.5), [[3.0, 3.5], [0.0, 3.5]])
    np.testing.assert_allclose(clipped(grads, global_clipnorm=6.5), [[1.5, 2.0], [0.0, 6.0]])
    np.testing.assert_array_equal(clipped(grads), grads)


@pytest.mark.parametrize("limits", [{"clipnorm": 5.0}, {"clipvalue": 4.0}, {"global_clipnorm": 5.0}])
def test_within_the_limit_nothing_changes(limits):
    for grads in ([[3.0, 4.0]], [[0.0, 0.0]], [[]]):
        np.testing.assert_array_equal(clipped(grads, **limits), grads)


def test_float32_norms_do_not_overflow():
    (grad,) = clipped([np.array([3e30, 4e30], np.float32)], clipnorm=1.0)
    assert grad.dtype == np.float32
    np.testing.assert_allclose(grad, [0.6, 0.8], rtol=1e-6)


def test_what_is_not_finite_is_not_hidden():
    for limits in ({"clipnorm": 1.0}, {"clipvalue": 1.0}, {"global_clipnorm": 1.0}):
        assert np.isnan(clipped([[np.nan, 1.0]], **limits)[0][0])
    # Of one infinite gradient, a common scale would leave zeros.
    assert np.isnan(clipped([[1.0, 2.0], [np.inf, 0.0]], global_clipnorm=1.0)).all()


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"clipnorm": 1.0, "clipvalue": 1.0}, "clipnorm and clipvalue exclude each other; pass one of them"),
        ({"clipnorm": 0.0}, "clipnorm must be above 0, not 0.0"),
        ({"global_clipnorm": -1.0}, "global_clipnorm must be at least 0"),
        ({"clipvalue": "small"}, "clipvalue must be a number, not 'small'"),
    ],
)
def test_wrong_arguments(limits, words):
    with pytest.raises(ArgumentError, match=words):
        SGD(**limits)
