"""Indexing: derivatives by tapes against central differences for items of every kind, and gathers."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

(X,) = inputs((3, 4, 2), low=-1.5)
(M,) = inputs((3, 4), low=-1.5)
(V,) = inputs(5, low=-1.5)
MASK = np.array([True, False, True])
GRID = np.array([[True, False, True, True], [False, True, False, False], [True, True, False, True]])
TWICE = np.array([0, 0, 2, -1, 0])
PAIRS = np.array([[1, 1], [0, -3]])

INDICES = {
    "item": (1, 2, 0), "row": 1, "negative": -1, "last": (..., 0), "slices": (slice(1, None), slice(None, None, 2)),
    "backwards": (slice(None, None, -1), ..., slice(1, None, -1)),
    "new": (None, 1, ..., None), "nothing": (slice(0, 0),),
    "ellipsis": ..., "empty_tuple": (), "mask": MASK, "mask_second": (slice(None), GRID[0]), "grid": GRID,
    "grid_and_last": (GRID, 1), "mask_and_integers": (MASK, [0, 1]), "true": True, "no_rows": np.zeros(3, bool),
    "mask_list": [True, False, True], "integers": [2, 0, 0], "repeated": np.array([1, 1, 1]), "pairs": PAIRS,
    "two_arrays": (np.array([0, 2, 0]), np.array([1, 1, 1])), "broadcast_arrays": (PAIRS[:, :1], np.array([0, 3])),
    "array_and_slice": (np.array([1, 1]), slice(1, 3)), "slice_and_array": (slice(None), np.array([3, 3, 0])),
    "split_arrays": (np.array([0, 0]), slice(None), np.array([1, 1])), "array_new": (None, np.array([1, 1]), 0),
    "integer_and_array": (0, slice(None), np.array([1, 1, 0])), "no_integers": np.zeros(0, int),
    "unsigned": np.array([1, 1], np.uint8), "zero_d": np.array(2), "numpy_integer": np.int32(-2),
}  # fmt: skip


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_items(index):
    check(lambda a: a[index], (X,))


@cases(
    {
        "many": (lambda a: a[0] * a[1] + a[0, 1:] * 2.0 if a.ndim == 1 else (a[0] * a[1], a[1:] - a[:-1]), M),
        "take": (
            lambda a: (np.take(a, TWICE), np.take(a, TWICE, axis=0), np.take(a, PAIRS, axis=1), np.take(a, 1, axis=-1)),
            M,
        ),
        "take_modes": (
            lambda a: (np.take(a, [7, -5, 1], 1, mode="wrap"), np.take(a, [7, -5, 1], axis=0, mode="clip")),
            M,
        ),
        "take_methods": (lambda a: (a.take([1, 1]), np.take(a, indices=[[0], [0]], axis=0)), M),
        "take_scalar": (lambda a: np.take(a, [0, 0]), np.array(0.7)),
        "take_along_axis": (
            lambda a: (np.take_along_axis(a, PAIRS, 1), np.take_along_axis(a, PAIRS[:, :1] % 2, axis=0)),
            M[:2],
        ),
        "take_along_flat": (lambda a: np.take_along_axis(a, TWICE, None), M),
        "compress": (
            lambda a: (np.compress(MASK, a, axis=0), np.compress([False, True], a, axis=1), np.compress(MASK, a)),
            M,
        ),
        "extract": (lambda a: np.extract(GRID, a), M),
        "delete": (
            lambda a: (np.delete(a, 1), np.delete(a, [0, -1], axis=1), np.delete(a, slice(None, None, 2), 0)),
            M,
        ),
        "insert": (
            lambda a, b: (np.insert(a, 1, b, axis=1), np.insert(a, [0, 2], 5.0, axis=0), np.insert(a, 3, b)),
            M,
            *inputs(3),
        ),
        "choose": (lambda a, b: np.choose([[0, 1], [2, 1]], [a, b, a * b]), *inputs((2, 2), 2)),
        "choose_rows": (lambda a: np.choose(np.array([2, 0, 1, 1]), a), M),
        "choose_wrap": (lambda a, b: np.choose([3, -1, 0], [a, b], mode="wrap"), *inputs(3, 3)),
        "select": (lambda a: np.select([a > 0.7, a > -0.2], [a * a, np.exp(a)], -a), M),
        "select_default": (lambda a: np.select([a > 0.2], [a * a]), M),
        "select_scalar": (lambda a, b: np.select([GRID[:, 0], MASK], [a[:, 0], 2.0], b), M, np.array(0.3)),
        "piecewise": (lambda a: np.piecewise(a, [a < -0.2, a > 0.6], [np.exp, lambda v: v * v, 3.0]), M),
        "piecewise_one": (lambda a: np.piecewise(a, a > 0, [lambda v, k: v**k, lambda v, k: -k * v], 3.0), V),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


def test_tensors_as_index():
    x = jg.constant(V)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x[x > 0] ** 2) + x[np.argmax(x)] + np.sum(x[jg.constant([0, 0])]) + np.sum(x[: jg.constant(2)])
    expected = 2 * np.maximum(V, 0) + (V == V.max()) + [3, 1, 0, 0, 0]
    np.testing.assert_allclose(tape.gradient(y, x), expected)


def test_indices_are_copied():
    x, index, mask = jg.constant(V), np.array([0, 0]), np.array([True, False, False, False, True])
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x[index]) + np.sum(x[mask]) + np.sum(np.take(x, index)) + np.sum(np.take_along_axis(x, index, 0))
    index[:], mask[:] = 3, False
    np.testing.assert_array_equal(tape.gradient(y, x), [7, 0, 0, 0, 1])


def test_iteration_and_unpacking():
    x = jg.constant([2.0, 3.0])
    with jg.GradientTape() as tape:
        tape.watch(x)
        a, b = x
        y = a * a * b
    np.testing.assert_array_equal(tape.gradient(y, x), [12.0, 4.0])


@pytest.mark.parametrize(
    "f", [lambda a: a[[0, 0]], lambda a: a[1:], lambda a: np.take(a, [1, 1]), lambda a: np.delete(a, 0)]
)
def test_single_precision_stays(f):
    (gradient,) = taped_gradient(lambda v: np.sum(f(v)), [jg.constant(V, dtype=np.float32)])
    assert gradient.dtype == np.float32


def test_select_and_choose_keep_single_precision():
    x = jg.constant(V, dtype=np.float32)
    assert np.select([x > 0], [x], 0.0).dtype == np.float32
    assert np.piecewise(x, [x > 0], [np.exp, 0.0]).dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: x[7], IndexError),
        (lambda x: x[0, 0], IndexError),
        (lambda x: np.take(x, 9), IndexError),
        (lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]), ValueError),
        (lambda x: np.take(x, [0], 0, np.zeros(1)), UnsupportedError),
        (lambda x: np.put(x, [0], 1.0), UnsupportedError),
        (lambda x: np.put(np.zeros(2), [0], x), UnsupportedError),
    ],
)
def test_errors(call, error):
    with pytest.raises(error):
        call(jg.constant(V))
