"""Vectors in compiled code, against NumPy arrays with a last axis."""

import re

import numpy as np
import pytest
from numba import float32, float64, njit, uint64

from jitgrad.runtime import vectors
from jitgrad.runtime.vectors import Vector

N = 3  # no power of two: LLVM arrays in memory have no padding
ZERO, SINGLE = vectors.zero(float64, N), vectors.zero(float32, N)
SETS = vectors.zero(uint64, 2)


def test_zero_is_one_object():
    assert vectors.zero(float64, N) is ZERO
    assert ZERO._numba_type_ == Vector(float64, N) != SINGLE._numba_type_


@njit(error_model="numpy")
def arithmetic(array, x, k):
    v = vectors.vectors(array, ZERO)
    total = ZERO
    for i in range(v.size):
        total = total + v[i] * x - k * v[i] / x
    total -= -v[0]
    return total, v[1] * np.float32(0.5), v[1] * True


def test_arithmetic():
    array = np.random.default_rng(0).normal(size=(4, N))
    total, half, same = arithmetic(array, 2.0, 3)
    np.testing.assert_allclose(total, (array * 2.0 - 3 * array / 2.0).sum(0) + array[0], rtol=1e-15)
    np.testing.assert_array_equal(half, 0.5 * array[1])
    np.testing.assert_array_equal(same, array[1])


@njit(error_model="numpy")
def products(array, factor, divisor):
    v = vectors.vector(array, ZERO)
    return vectors.mul0(v, factor), vectors.div0(v, divisor), vectors.select0(0.0, v), vectors.select0(2.0, v)


def test_products_that_are_zero_where_a_factor_is():
    array = np.array([0.0, 1.0, -2.0])
    times, over, unselected, selected = products(array, np.inf, 0.0)
    np.testing.assert_array_equal(times, [0.0, np.inf, -np.inf])
    np.testing.assert_array_equal(over, [0.0, np.inf, -np.inf])
    assert not products(np.array([np.nan, np.inf, 1.0]), 1.0, 1.0)[2].any()
    np.testing.assert_array_equal(selected, 2.0 * array)


@njit
def memory(array, y):
    v = vectors.vectors(array, ZERO)
    new = vectors.empty_like(y, ZERO)
    for i in range(y.size):
        new[i] = v[-1 - i]
    new[::2] = new[::2][::-1]
    picked = new[np.array([1, 0, 1])].copy()
    picked[0] = vectors.with_lane(picked[0], 1, 7.0)
    new[1:2] = ZERO
    return (
        vectors.numbers(new),
        vectors.numbers(picked),
        vectors.lane(v[0], 2),
        vectors.numbers(vectors.full_like(y, v[1])),
    )


def test_memory():
    """Stores, slices that overlap, indexing with an array, a constant broadcast."""
    array = np.arange(4.0 * N).reshape(4, N)
    new, picked, last, full = memory(array, np.zeros(4))
    expected = array[::-1].copy()
    expected[[0, 2]] = expected[[2, 0]]
    chosen = expected[[1, 0, 1]]
    chosen[0, 1] = 7.0
    expected[1] = 0.0
    np.testing.assert_array_equal(new, expected)
    np.testing.assert_array_equal(picked, chosen)
    assert last == array[0, 2]
    np.testing.assert_array_equal(full, np.tile(array[1], (4, 1)))


@njit
def passed(array):
    return vectors.numbers(vectors.vectors(array, ZERO))


def test_views_where_memory_allows():
    """The same memory for C order; other layouts and dtypes are converted."""
    array = np.arange(24.0).reshape(2, 4, N)
    assert np.shares_memory(passed(array), array)
    for other in (array[:, ::2], np.asfortranarray(array), array.astype(np.float32)):
        np.testing.assert_array_equal(passed(other), other)
    with pytest.raises(
        ValueError, match="the last axis of a tangent is the axis of directions: it has 3 elements here"
    ):
        passed(array[..., :2])


@njit
def mixed(flag, x):
    v = vectors.vectors(x, SINGLE)[0]
    if flag:
        v = v * 2.0
    return v, vectors.single(v * 2.0), v * np.float32(2.0)


def test_dtypes():
    """A float32 vector times a float64 is float64, also where branches meet."""
    x = np.ones((1, N), np.float32)
    for flag in (True, False):
        v, single, _ = mixed(flag, x)
        assert v.dtype == np.float64 and single.dtype == np.float32
        np.testing.assert_array_equal(v, np.full(N, 2.0 if flag else 1.0))


def test_sets_of_bits():
    @njit
    def union(a):
        v = vectors.vectors(a, SETS)
        return (v[0] | v[1]) & v[2]

    array = np.array([[1, 2], [4, 8], [5, 12]], np.uint64)
    np.testing.assert_array_equal(union(array), [5, 8])


def test_one_instruction_for_many_directions():
    """The loop loads, multiplies, adds and stores whole vectors."""
    zero = vectors.zero(float64, 8)

    @njit
    def scale(array, y):
        v = vectors.vectors(array, zero)
        for i in range(y.size):
            v[i] = v[i] * y[i] + v[0]

    scale.compile((float64[:, ::1], float64[::1]))
    (text,) = scale.inspect_llvm().values()
    for instruction in ("load", "fmul", "fadd", "store"):
        assert re.search(rf"\b{instruction} (contract )?<8 x double>", text)
    assert not re.search(r"extractelement <8 x double>", text)
