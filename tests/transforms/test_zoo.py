"""The zoo, reverse and forward, against derivatives by hand or by differences."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import jitgrad
from jitgrad.errors import JitgradError
from tests import numeric
from tests.corpus.corpuslib import flat, unflat
from tests.transforms.zoo import Animal, zoo

pytestmark = pytest.mark.filterwarnings("ignore::numba.NumbaPerformanceWarning")


def result(animal: Animal, args) -> np.ndarray:
    """The function's result as one vector: its value, then what it left in its outputs."""
    returned = animal.function(*args)
    if not animal.outs:
        return flat(returned)
    return np.concatenate([flat(returned), flat(tuple(args[i] for i in animal.outs))])


def with_point(animal: Animal, point: np.ndarray, double: bool = False) -> list:
    """Fresh arguments with the differentiated ones taken from a vector, in the layout they had."""
    args = list(animal.args())
    start = 0
    for i in animal.wrt:
        size = flat(args[i]).size
        part = point[start : start + size]
        start += size
        if isinstance(args[i], np.ndarray):
            dtype = np.float64 if double else args[i].dtype
            array = np.empty_like(args[i], dtype=dtype) if double else args[i].copy(order="K")
            array[...] = part.reshape(args[i].shape)
            args[i] = array
        else:
            args[i] = float(part[0]) if double and not isinstance(args[i], tuple) else unflat(args[i], part)
    return args


def point_of(animal: Animal) -> np.ndarray:
    args = animal.args()
    return flat(tuple(args[i] for i in animal.wrt))


def jacobian(animal: Animal) -> np.ndarray:
    """By differences in double precision, or the gradient given by hand."""
    if animal.expected is not None:
        return flat(animal.expected)[None, :]
    return numeric.gradient(lambda x: result(animal, with_point(animal, x, double=True)), point_of(animal))


def close(got, want, scale: float, rtol: float) -> None:
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * max(scale, 1e-3))


def options(animal: Animal) -> dict:
    return {"argnums": animal.wrt} | ({"outs": animal.outs} if animal.outs else {})


@pytest.fixture(params=zoo(), ids=lambda animal: animal.name)
def animal(request) -> Animal:
    return request.param


def attempt(animal: Animal, call):
    """The call's result; an error of jitgrad counts where the animal says so, and nowhere else."""
    try:
        return call()
    except JitgradError as error:
        if not animal.loud_is_fine:
            raise
        pytest.skip(f"refused: {error}")


def same_arguments(animal: Animal, args) -> None:
    """The derivative leaves its arguments as the program would."""
    after = animal.args()
    animal.function(*after)
    np.testing.assert_array_equal(flat(tuple(args)), flat(tuple(after)))


def test_reverse(animal: Animal):
    want = jacobian(animal)
    args = animal.args()
    value = result(animal, animal.args())
    like = animal.function(*animal.args())
    if not animal.outs and isinstance(like, (float, np.floating)):
        got_value, got = attempt(animal, lambda: jitgrad.value_and_grad(animal.function, **options(animal))(*args))
        assert got_value == pytest.approx(value[0], rel=1e-12 if animal.rtol < 1e-6 else 1e-5)
        expected = want[0]
        same_arguments(animal, args)
    else:
        cotangent = np.random.default_rng(0).uniform(0.5, 1.5, value.size)
        got_value, pullback = attempt(animal, lambda: jitgrad.vjp(animal.function, *args, **options(animal)))
        np.testing.assert_allclose(flat(got_value), value, rtol=1e-12)
        structured = unflat(got_value, cotangent)
        got = pullback(structured)
        again = pullback(structured)  # a pullback can be called many times
        np.testing.assert_array_equal(flat(again), flat(got))
        expected = cotangent @ want
    originals = animal.args()
    for one, i in zip(got, animal.wrt, strict=True):
        if isinstance(originals[i], np.ndarray):
            assert one.shape == originals[i].shape and one.dtype == originals[i].dtype
    close(flat(got), expected, np.abs(want).max(initial=0.0), animal.rtol)


def test_forward(animal: Animal):
    want = jacobian(animal)
    args = animal.args()
    direction = np.random.default_rng(1).uniform(-1.5, 1.5, want.shape[1])
    tangents = unflat(tuple(args[i] for i in animal.wrt), direction)
    value, got = attempt(animal, lambda: jitgrad.jvp(animal.function, args, tangents, **options(animal)))
    np.testing.assert_allclose(flat(value), result(animal, animal.args()), rtol=1e-12 if animal.rtol < 1e-6 else 1e-5)
    got = flat(got)
    if got.size != want.shape[0]:
        # integer leaves of the result have a float zero as tangent, which is no output
        got = flat(unflat_like_value(value, got))
    close(got, want @ direction, np.abs(want).max(initial=0.0), animal.rtol)
    same_arguments(animal, args)


def unflat_like_value(value, tangents: np.ndarray):
    """Drop the zeros that stand for the tangents of a tuple's integers."""
    kept, position = [], 0
    for leaf in value:
        size = np.size(leaf)
        if np.asarray(leaf).dtype.kind == "f":
            kept.append(tangents[position : position + size])
        else:
            assert not np.any(tangents[position : position + size])
        position += size
    return tuple(kept)


@njit
def multiplied(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@njit
def doubled_then_multiplied(a, b):
    for i in range(a.size):
        a[i] = 2.0 * a[i]
    return multiplied(a, b)


def test_one_array_passed_twice():
    """``f(x, x)``: together the gradients of both arguments are the derivative by the one array."""
    x = np.array([1.0, 2.0, 3.0])
    first, second = jitgrad.grad(multiplied, argnums=(0, 1))(x, x)
    np.testing.assert_allclose(first + second, 2.0 * np.array([1.0, 2.0, 3.0]))


@pytest.mark.parametrize("split", [lambda x: (x, x), lambda x: (x[:2], x[1:])])
def test_arguments_that_overlap_and_are_written_are_refused(split):
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="a and b of doubled_then_multiplied overlap in memory"):
        jitgrad.grad(doubled_then_multiplied, argnums=(0, 1))(*split(x))
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_one_array_passed_twice_forward():
    x, t = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, -1.0])
    with pytest.raises(ValueError, match="a and b of doubled_then_multiplied overlap in memory"):
        jitgrad.jvp(doubled_then_multiplied, (x, x), (t, t), argnums=(0, 1))
