"""Numbers of a field and of the descents in it."""

import math

import numpy as np
import pytest

from jitgrad.cli.expression import differentiated, read
from jitgrad.cli.field import descend, sample
from jitgrad.optim import OPTIMIZERS, SGD, Adam


def both(text):
    function = read(text)
    return function, differentiated(function, text)


def test_sample_has_values_and_gradients():
    field = sample(*both("x**2 + 3*y"), (-1.0, 3.0), (0.0, 2.0), 4)
    np.testing.assert_array_equal(field.xs[[0, -1]], [-1.0, 3.0])
    np.testing.assert_allclose(field.values, field.xs[None, :] ** 2 + 3 * field.ys[:, None])
    np.testing.assert_allclose(field.x, [[-0.5, 0.5, 1.5, 2.5]] * 4)
    np.testing.assert_allclose(field.y[:, 0], [0.25, 0.75, 1.25, 1.75])
    np.testing.assert_allclose(field.dx, 2 * field.x)
    np.testing.assert_allclose(field.dy, 3.0)
    np.testing.assert_allclose(field.magnitude, np.hypot(2 * field.x, 3.0))


def test_what_is_not_finite_is_masked():
    field = sample(*both("log(x) + 1/y"), (-1.0, 1.0), (-1.0, 1.0), 3)
    assert (np.isnan(field.values) == np.isnan(np.where(field.xs > 0, 0, np.nan))[None, :]).all()
    # The slope of log(x) is finite left of 0, but there is nothing that has it. In the middle, 1/0.
    expected = (field.x <= 0) | (field.y == 0)
    np.testing.assert_array_equal(np.isnan(field.dx), expected)
    np.testing.assert_array_equal(np.isnan(field.dy), expected)


def test_function_that_raises_is_masked():
    def function(x, y):
        if x < 0:
            raise IndexError("left of the table")
        return math.sqrt(y)

    def gradient(x, y):
        return function(x, y), (0.0, 0.5 / math.sqrt(y))

    field = sample(function, gradient, (-1.0, 1.0), (-1.0, 1.0), 2)
    np.testing.assert_array_equal(np.isnan(field.dx), [[True, True], [True, False]])
    assert np.isfinite(field.values[-1, -1]) and np.isnan(field.values[0]).all()


def test_descent_is_the_optimizers():
    _, gradient = both("x**2 + 2*y**2")
    path = descend(gradient, "sgd", SGD(0.25), (1.0, 1.0), 3, 100.0)
    np.testing.assert_allclose(path.points, [[1.0, 1.0], [0.5, 0.0], [0.25, 0.0], [0.125, 0.0]])
    np.testing.assert_allclose(path.values, [3.0, 0.25, 0.0625, 0.015625])
    assert (path.optimizer, path.rate) == ("sgd", 0.25)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_descends(name):
    _, gradient = both("(x - 1)**2 + y**2")
    path = descend(gradient, name, OPTIMIZERS[name](learning_rate=0.05), (2.0, -1.0), 50, 100.0)
    assert len(path.points) == 51 and path.values[-1] < path.values[0]


def test_descent_ends_where_it_leaves():
    _, gradient = both("-x**2")
    path = descend(gradient, "sgd", SGD(1.0), (1.0, 0.0), 100, 50.0)
    np.testing.assert_allclose(path.points[:, 0], [1.0, 3.0, 9.0, 27.0, 81.0])


def test_descent_ends_where_there_is_no_gradient():
    _, gradient = both("log(x)")
    path = descend(gradient, "sgd", SGD(1.0), (0.5, 0.0), 100, 50.0)
    np.testing.assert_allclose(path.points, [[0.5, 0.0], [-1.5, 0.0]])
    assert path.values[0] == math.log(0.5) and np.isnan(path.values[1])
    nowhere = descend(gradient, "adam", Adam(1.0), (-1.0, 0.0), 100, 50.0)
    assert len(nowhere.points) == 1 and np.isnan(nowhere.values).all()
