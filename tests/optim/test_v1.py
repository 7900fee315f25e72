"""Optimizers of TensorFlow 1 against trajectories of TensorFlow 2.21, and what their interface has of its own."""

import warnings

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError
from jitgrad.optim import GradientDescentOptimizer, MomentumOptimizer, NoGradientError


@pytest.mark.parametrize(
    ("nesterov", "want"), [(False, [-0.00390625, 0.2265625]), (True, [0.028564453125, -0.00634765625])]
)
def test_momentum_equals_tensorflow(nesterov, want):
    v, optimizer = jg.Variable([1.0, -2.0]), MomentumOptimizer(0.125, 0.5, use_nesterov=nesterov)
    for _ in range(4):
        optimizer.minimize(lambda: np.sum(v * v * np.array([1.0, 3.0])), var_list=[v])
    np.testing.assert_allclose(v.numpy(), want, rtol=1e-6)


def test_the_velocity_does_not_contain_the_learning_rate():
    v, optimizer = jg.Variable([0.0]), MomentumOptimizer(0.125, 0.5)
    optimizer.apply_gradients([(np.ones(1), v)])
    optimizer.learning_rate = 1.0
    optimizer.apply_gradients([(np.ones(1), v)])
    assert optimizer.get_slot_names() == ["momentum"]
    assert optimizer.get_slot(v, "momentum") == 1.5 and v.numpy() == -1.625


def test_gradients_can_be_changed_on_the_way():
    v, unused = jg.Variable([1.0, -2.0]), jg.Variable([3.0])
    optimizer = GradientDescentOptimizer(0.125)
    with pytest.warns(jg.UnconnectedGradientWarning):
        pairs = optimizer.compute_gradients(lambda: np.sum(v * v * v), var_list=[v, unused])
    assert [variable for _, variable in pairs] == [v, unused] and pairs[1][0] is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # in version 1, a missing gradient is passed over in silence
        optimizer.apply_gradients([(2.0 * pairs[0][0], v), (None, unused)])
    np.testing.assert_array_equal(v.numpy(), [0.25, -5.0])
    assert unused.numpy() == 3.0
    with pytest.raises(NoGradientError, match="there is no gradient to apply"):
        optimizer.apply_gradients([(None, unused)])


def test_global_step_counts():
    v, steps = jg.Variable([1.0]), jg.Variable(0, trainable=False)
    optimizer = GradientDescentOptimizer(0.5)
    optimizer.minimize(lambda: np.sum(v * v), global_step=steps)
    optimizer.apply_gradients([(np.ones(1), v)], global_step=steps)
    assert steps.numpy() == 2


def test_the_loss_must_be_a_function():
    v = jg.Variable([1.0])
    with pytest.raises(ArgumentError, match="loss of GradientDescentOptimizer must be callable .* not Tensor; write"):
        GradientDescentOptimizer(0.5).minimize(np.sum(v * v), var_list=[v])


def test_names():
    assert GradientDescentOptimizer(0.5).name == "GradientDescent"
    assert MomentumOptimizer(0.5, 0.9, False, "Mine").name == "Mine"
