"""What is one structure and what is not: a collision in the cache would be a wrong number."""

from __future__ import annotations

import numpy as np
import pytest

import jitgrad
from jitgrad import GradientTape, Variable, constant
from jitgrad.tape import compile_after
from jitgrad.tape.compiled import cache, clear, known


@pytest.fixture(autouse=True)
def at_once():
    clear()
    with compile_after(1):
        yield
    clear()


def slope(function, *arrays):
    values = [constant(a) for a in arrays]
    with GradientTape() as tape:
        tape.watch(values)
        target = function(*values)
    return [g.numpy() for g in tape.gradient(target, values)]


M = np.arange(9.0).reshape(3, 3)

PAIRS = {
    "axis": (lambda x: np.sum(x * np.sum(x, axis=0)), lambda x: np.sum(x * np.sum(x, axis=1))),
    "keyword": (lambda x: np.sum(x * x[0], axis=0), lambda x: np.sum(x * x[0], axis=0, keepdims=True)),
    "index": (lambda x: x[1] * x[2], lambda x: x[2] * x[2]),
    "slice": (lambda x: x[0:2] * 2.0, lambda x: x[1:3] * 2.0),
    "operands": (lambda x: (x * x) - (x + x), lambda x: (x + x) - (x * x)),
    "exponent": (lambda x: x**2, lambda x: x**3),
    "function": (np.sin, np.cos),
    "constant on the other side": (lambda x: 2.0 - x, lambda x: x - 2.0),
    "truth and one": (lambda x: x * True, lambda x: x * 1),
    "order of shape": (lambda x: np.reshape(x, (9, 1))[0:3], lambda x: np.reshape(x, (1, 9))[:, 0:3]),
}


@pytest.mark.parametrize("name", PAIRS)
def test_differences_that_count(name):
    for function in PAIRS[name]:
        found = slope(function, M)
        with compile_after(None):
            expected = slope(function, M)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
    assert len(known()) == 2


def test_which_value_is_used_counts():
    (of_x, _), (_, of_y) = slope(lambda x, y: x * x + 0.0 * y, M, 2 * M), slope(lambda x, y: 0.0 * x + y * y, M, 2 * M)
    np.testing.assert_array_equal(of_x, 2 * M)
    np.testing.assert_array_equal(of_y, 4 * M)
    assert len(known()) == 2


@pytest.mark.parametrize(
    "other", [M.astype(np.float32), M[:, :1], M[:1], np.asfortranarray(M), np.array(2.0)], ids=repr
)
def test_dtypes_shapes_and_layouts_count(other):
    for y in (M, other):
        of_x, of_y = slope(lambda x, y: x * y, M, y)
        np.testing.assert_allclose(of_x, np.broadcast_to(y, (3, 3)))
        assert of_y.shape == y.shape and of_y.dtype == y.dtype
        summed = tuple(k for k in range(2) if y.ndim == 0 or y.shape[k] == 1)
        np.testing.assert_allclose(of_y, M.sum(summed).reshape(y.shape))
    assert len(known()) == 2


def test_floats_do_not_count():
    for factor in (2.0, 3.0, 0.5):
        np.testing.assert_array_equal(slope(lambda x: factor * x, M)[0], np.full((3, 3), factor))
    assert len(known()) == 1


def test_arrays_do_not_count():
    for weights in (M, M + 1.0, -M):
        np.testing.assert_array_equal(slope(lambda x: np.sum(weights * x), M)[0], weights)
    for rows in ([0, 1], [2, 2]):
        (found,) = slope(lambda x: x[np.array(rows)], M)
        np.testing.assert_array_equal(found[:, 0], np.bincount(rows, minlength=3))
    assert len(known()) == 2


def test_masks_of_other_counts():
    for mask in (M > 2.0, M > 7.0, M < 3.0):
        (found,) = slope(lambda x: x[mask] * 2.0, M)
        np.testing.assert_array_equal(found, 2.0 * mask)


def test_sizes_share_what_was_compiled():
    def loss(x, y):
        return np.mean(np.tanh(x @ y) ** 2)

    functions = set()
    for batch in (7, 9, 11):
        x, y = np.linspace(-1, 1, batch * 4).reshape(batch, 4), np.linspace(0, 1, 12).reshape(4, 3)
        found = slope(loss, x, y)
        with compile_after(None):
            expected = slope(loss, x, y)
        for f, e in zip(found, expected, strict=True):
            np.testing.assert_allclose(f, e, rtol=1e-13, atol=1e-15)
        functions.add(known()[-1].function)
    assert len(known()) == 3 and len(functions) == 1


def test_watching_counts():
    x, y = constant(M), constant(M + 1.0)
    for watched in ([x], [x, y], [y]):
        with GradientTape() as tape:
            tape.watch(watched)
            z = np.sum(x * y)
        gradients = tape.gradient(z, [x, y], unconnected_gradients="zero")
        expected = [
            (M + 1.0) * any(w is x for w in watched),
            M * any(w is y for w in watched),
        ]
        for g, e in zip(gradients, expected, strict=True):
            np.testing.assert_array_equal(g.numpy(), e)


def test_watching_late():
    for late in (False, True):
        x = constant([1.0, 2.0])
        y = constant([3.0, 4.0])
        with GradientTape() as tape:
            tape.watch(x)
            if not late:
                tape.watch(y)
            first = x * y
            if late:
                tape.watch(y)
            z = first + y * x
        g = tape.gradient(z, y).numpy()
        np.testing.assert_array_equal(g, [1.0, 2.0] if late else [2.0, 4.0])


def test_assignment_between_reads():
    for assigned in (False, True, True):
        v = Variable([1.0, 2.0])
        with GradientTape() as tape:
            first = v * v
            if assigned:
                v.assign([10.0, 20.0])
            second = v * first
        gradient = tape.gradient(second, v).numpy()
        old, new = np.array([1.0, 2.0]), np.array([10.0, 20.0]) if assigned else np.array([1.0, 2.0])
        np.testing.assert_allclose(gradient, old**2 + new * 2 * old)


@pytest.mark.parametrize("late", [False, True], ids=["never watched", "watched late"])
def test_assignment_to_what_is_not_watched(late):
    """The compiled program must not take the two values for one, nor may the structure be told by the node alone."""
    for new in (None, [10.0, 20.0], None, [3.0, 5.0]):
        x, factor = Variable([1.0, 2.0]), Variable([3.0, 4.0], trainable=False)
        with GradientTape() as tape:
            first = np.sin(x) * factor
            if new is not None:
                factor.assign(new)
            if late:
                tape.watch(factor)
            second = first * factor
        gradient = tape.gradient(second, x).numpy()
        then = [3.0, 4.0] if new is None else new
        np.testing.assert_allclose(gradient, np.cos([1.0, 2.0]) * [3.0, 4.0] * then)
    assert [type(k) for k in known()] == [cache.Compiled]


def test_assignment_in_between_at_first():
    for new in (None, 2.0):
        x, factor = Variable(1.0), Variable(3.0, trainable=False)
        with GradientTape() as tape:
            first = x * factor
            factor.assign(factor if new is None else new)
            second = first * factor
        assert tape.gradient(second, x).numpy() == 3.0 * (3.0 if new is None else new)
    (refused,) = known()
    assert "assigned" in refused.reason


def test_arrays_in_lists_are_not_told_from_each_other():
    for sign in (1.0, -1.0):
        conditions = [sign * M > 3.0, M > 5.0]
        (found,) = slope(lambda x: np.select(conditions, [2.0 * x, x]), M)
        np.testing.assert_array_equal(found, np.select(conditions, [2.0, 1.0]))
    for places in (np.array([0, 1]), np.array([1, 2])):
        (found,) = slope(lambda x: np.choose(places, [x, 2.0 * x, 3.0 * x]), M[0, :2])
        np.testing.assert_array_equal(found, places + 1.0)
    assert not known()


def test_output_gradients_that_are_numpy_scalars():
    x = Variable(2.0)
    with GradientTape() as tape:
        y = np.sin(x)
    gradient = tape.gradient([y], x, output_gradients=[[3.0]])
    np.testing.assert_allclose(gradient.numpy(), 3.0 * np.cos(2.0), rtol=1e-15)
    assert [type(k) for k in known()] == [cache.Compiled]


def test_gradients_of_the_user_stay_with_numpy():
    scale = 1.0

    @jitgrad.custom_gradient
    def scaled(x):
        factor = scale
        return x * 1.0, lambda upstream: factor * upstream

    for scale in (2.0, 3.0, 4.0):
        np.testing.assert_array_equal(slope(lambda x: scaled(x) * x, M)[0], M + scale * M)
    assert not known()


def test_overrides_stay_with_numpy():
    name = "test_overrides_stay_with_numpy"
    jitgrad.RegisterGradient(name)(lambda op, upstream: 7.0 * upstream)
    with jitgrad.gradient_override_map({"Sin": name}):
        overridden = [slope(np.sin, M)[0] for _ in range(3)]
    np.testing.assert_array_equal(overridden, np.full((3, 3, 3), 7.0))
    np.testing.assert_allclose(slope(np.sin, M)[0], np.cos(M))


def test_a_program_that_cannot_be_compiled_is_refused_once():
    for _ in range(3):
        (found,) = slope(lambda x: np.linalg.solve(x, np.ones(3)), np.eye(3) + 0.1 * M)
        assert np.all(np.isfinite(found))
    (refused,) = known()
    assert isinstance(refused, cache.Refused) and refused.reason == "Untraceable: solve"
