"""batched: a function run over a leading axis."""

from __future__ import annotations

import pickle
from collections import namedtuple

import numpy as np
import pytest
from numba import njit

import jitgrad as jg

X = np.array([[1.0, 3.0], [2.0, 0.5], [0.1, 0.2]])


@njit
def energy(x, a):
    return a * x[0] ** 2 * x[1]


def test_derivatives_over_a_batch():
    found = jg.batched(jg.value_and_grad(energy, (0, 1)), in_axes=(0, None))(X, 2.0)
    each = [jg.value_and_grad(energy, (0, 1))(x, 2.0) for x in X]
    np.testing.assert_array_equal(found[0], [value for value, _ in each])
    np.testing.assert_array_equal(found[1][0], [gradient for _, (gradient, _) in each])
    np.testing.assert_array_equal(found[1][1], [slope for _, (_, slope) in each])
    assert found[0].shape == (3,) and found[1][0].shape == (3, 2)


Point = namedtuple("Point", "position label")


def test_structures_and_layouts_in_nopython_code():
    @njit
    def moved(p, by, scale):
        return Point(p.position * scale + by, p.label + 1), None, by > 1.5

    run = jg.batched(moved, in_axes=(0, 0, None))

    @njit
    def caller(positions, labels, by):
        return run(Point(positions, labels), by, 2.0)

    points, none, larger = caller(np.asfortranarray(X), np.arange(3), np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(points.position, 2.0 * X + np.array([[1.0], [2.0], [3.0]]))
    np.testing.assert_array_equal(points.label, [1, 2, 3])
    np.testing.assert_array_equal(larger, [False, True, True])
    assert none is None and points.label.dtype == np.int64


def test_derivative_of_a_batch():
    run = jg.batched(energy, in_axes=(0, None))
    gradient = jg.grad(lambda x, a: np.sum(run(x, a)), (0, 1))(X, 2.0)
    np.testing.assert_allclose(gradient[0], [jg.grad(energy)(x, 2.0) for x in X])
    assert gradient[1] == pytest.approx(sum(energy(x, 1.0) for x in X))


@njit
def fussy(x, a):
    if x[0] < 0.0:
        raise ValueError("negative", 1)
    return a * x


@pytest.mark.parametrize("parallel", [False, True])
def test_serial_and_parallel(parallel):
    """The same bits, the exception of the first item that raises, and nothing from an empty batch."""
    run = jg.batched(fussy, in_axes=(0, None), parallel=parallel)
    many = np.linspace(0.0, 1.0, 400).reshape(200, 2)
    np.testing.assert_array_equal(run(many, 3.0), 3.0 * many)
    for bad in ([0], [7, 150]):
        wrong = many.copy()
        wrong[bad] -= 5.0
        with pytest.raises(ValueError, match="negative"):
            run(wrong, 3.0)
    assert run(np.empty((0, 2)), 3.0).shape == (0, 0)
    np.testing.assert_array_equal(jg.jvp(lambda a: run(many, a), (3.0,), (1.0,))[1], many)


def test_shapes_that_do_not_fit():
    run = jg.batched(njit(lambda n, x: np.zeros(n) + x))
    with pytest.raises(ValueError, match="the shape of the result differs from item to item"):
        run(np.array([1, 2]), np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="the leading axes of the arguments differ in length"):
        run(np.array([2, 2]), np.array([1.0]))


def test_wrong_arguments():
    with pytest.raises(jg.ArgumentError, match=r"in_axes has 1 entries, but energy has 2 parameters \(x, a\)"):
        jg.batched(energy, (0,))
    with pytest.raises(jg.ArgumentError, match="in_axes must be 0 or None for each argument, not 1; move the axis"):
        jg.batched(energy, (1, None))
    with pytest.raises(jg.ArgumentError, match="nothing to run over"):
        jg.batched(energy, None)
    with pytest.raises(jg.ArgumentError, match=r"argument 1 \(a\) of energy is float64, which has no leading axis"):
        jg.batched(energy)(X, 2.0)
    with pytest.raises(jg.ArgumentError, match="the result of <lambda> holds a string .*, which cannot be stacked"):
        jg.batched(lambda x: "a")(np.ones(2))


def test_items_that_write_into_what_they_share():
    def count(x, total):
        total[0] += x
        return x

    total = np.zeros(1)
    jg.batched(count, (0, None))(np.ones(4), total)
    assert total[0] == 4.0
    with pytest.raises(jg.ArgumentError, match="count writes into total, which all items share"):
        jg.batched(count, (0, None), parallel=True)(np.ones(4), total)


def test_one_object_and_pickle():
    run = jg.batched(energy, (0, None))
    assert run is jg.batched(energy, [0, None])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(run))(X, 2.0), run(X, 2.0))
