"""Gradient descent against trajectories of Keras 3.15 and against its definition."""

import numpy as np
import pytest

from jitgrad.errors import ArgumentError
from jitgrad.optim import SGD
from tests.optim.problem import after, check_definition

GOLDEN = {
    "default": (
        lambda: SGD(),
        [0.249512581, 0.315500673, 0.456426039, 0.409276645, 0.516991331, -0.919006995, 2.344584029],
    ),
    "plain": (
        lambda: SGD(0.03125),
        [0.341367361, 0.421427852, 0.49475258, 0.49824204, 0.549434937, -0.751235616, 1.659616389],
    ),
    "momentum": (
        lambda: SGD(learning_rate=0.015625, momentum=0.75),
        [0.351595158, 0.470378129, 0.490228273, 0.546977936, 0.55593367, -0.727363804, 1.130477321],
    ),
    "nesterov": (
        lambda: SGD(learning_rate=0.015625, momentum=0.75, nesterov=True),
        [0.410128494, 0.429463419, 0.540305032, 0.49036921, 0.565284635, -0.672830311, 1.150318069],
    ),
}


def definition(w, grads, rate, momentum=0.0, nesterov=False):
    velocity = np.zeros_like(w)
    for g in grads:
        velocity = momentum * velocity - rate * g
        w = w + momentum * velocity - rate * g if nesterov else w + velocity
    return w


@pytest.mark.parametrize("case", GOLDEN)
def test_equals_keras(case):
    make, want = GOLDEN[case]
    np.testing.assert_allclose(after(make()), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"momentum": 1.0}])
def test_equals_its_definition(options, dtype):
    check_definition(lambda: SGD(0.1, **options), lambda w, g: definition(w, g, 0.1, **options), dtype)


def test_by_hand():
    w = np.array([1.0])
    optimizer = SGD(0.5, momentum=0.5)
    optimizer.update([w], [np.array([2.0])])
    optimizer.update([w], [np.array([0.0])])
    assert w[0] == 1.0 - 1.0 - 0.5


def test_nesterov_without_momentum_is_plain():
    np.testing.assert_array_equal(after(SGD(0.1, nesterov=True)), after(SGD(0.1)))


def test_momentum_can_be_changed_later_but_not_begun():
    optimizer = SGD(0.5)
    optimizer.momentum = 0.9  # it has no slots for a velocity
    np.testing.assert_array_equal(after(optimizer), after(SGD(0.5)))


@pytest.mark.parametrize("momentum", [-0.1, 1.1, np.nan])
def test_momentum_out_of_range(momentum):
    with pytest.raises(ArgumentError, match="momentum must be between 0 and 1, not"):
        SGD(momentum=momentum)
