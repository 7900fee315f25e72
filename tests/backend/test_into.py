"""`into` of Jacobians and Hessians; that of gradients is in the tests of reverse mode."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

import jitgrad as jg
from tests.allocations import of_each_call


@njit
def rhs(t, y, dy):
    for i in range(y.size):
        dy[i] = t * y[i] * y[(i + 1) % y.size]


def jacobian(t, y):
    n = y.size
    return t * (np.diag(np.roll(y, -1)) + np.roll(np.eye(n), 1, axis=1) * y[:, None])


@pytest.mark.parametrize("mode", ["forward", pytest.param("reverse", marks=pytest.mark.slow)])
def test_jacobian_of_what_is_written(mode):
    d = jg.jacobian(rhs, 1, outs=2, mode=mode)
    for n in (3, 40):
        y, dy, block = np.linspace(1.0, 2.0, n), np.zeros(n), np.full((n, n), np.nan)
        assert d.into((block,), 2.0, y, dy) is None
        np.testing.assert_allclose(block, jacobian(2.0, y), rtol=1e-14)
        np.testing.assert_array_equal(dy, 2.0 * y * np.roll(y, -1))
    if mode == "forward":  # the seeds, and the tangents of each sweep; no block, no copy of an argument
        assert of_each_call(d.into, (np.zeros((3, 3)),), 2.0, np.ones(3), np.zeros(3)) == 2.0


def test_hessian_with_blocks():
    @njit
    def f(x, k):
        s = 0.0
        for v in x:
            s += k * k * v**3
        return s

    x = np.array([1.0, 2.0])
    blocks = (np.zeros((2, 2)), np.zeros(2)), (np.zeros(2), np.zeros(1))
    jg.hessian(f, (0, 1)).into(blocks, x, 2.0)
    np.testing.assert_allclose(blocks[0][0], np.diag(24.0 * x))
    np.testing.assert_allclose(blocks[0][1], 12.0 * x**2)
    np.testing.assert_allclose(blocks[1][0], 12.0 * x**2)
    np.testing.assert_allclose(blocks[1][1], 2.0 * (x**3).sum())


@pytest.mark.slow
def test_mode_auto_and_a_result_of_several_parts():
    @njit
    def f(x):
        return x * x, x.sum()

    x = np.array([1.0, 2.0])
    blocks = np.zeros((2, 2)), np.zeros(2)
    jg.jacobian(f).into(blocks, x)
    np.testing.assert_array_equal(blocks[0], np.diag(2.0 * x))
    np.testing.assert_array_equal(blocks[1], np.ones(2))


def test_blocks_must_fit():
    d = jg.jacobian(lambda x: x * x, mode="forward")
    with pytest.raises(ValueError, match="shape of the result followed by the argument's"):
        d.into(np.zeros((3, 2)), np.ones(2))
    for bad, message in (
        (np.zeros(4), "2 axes"), (np.zeros((2, 2), order="F"), "C-contiguous"), (np.zeros((2, 2), np.float32), "dtype"),
    ):  # fmt: skip
        with pytest.raises(jg.ArgumentError, match=message):
            d.into(bad, np.ones(2))


@pytest.mark.slow
def test_results_that_are_copied():
    value, gradient = np.zeros(()), np.zeros(2, complex)
    d = jg.grad(lambda z: (z * np.conj(z)).real.sum())
    d.into(gradient, np.array([1.0 + 2.0j, 3.0]))
    np.testing.assert_array_equal(gradient, [2.0 - 4.0j, 6.0])
    jg.jacobian(lambda x: x * x).into(value, 3.0)
    assert value[()] == 6.0
    with pytest.raises(ValueError, match="shape of the result"):
        d.into(np.zeros(3, complex), np.array([1.0 + 2.0j, 3.0]))
    with pytest.raises(jg.ArgumentError, match="tuple of 2"):
        jg.grad(lambda z, w: (z * w).real, (0, 1)).into(np.zeros(1, complex), 1.0j, 2.0j)
    with pytest.raises(jg.ArgumentError, match="pass a writable array of size one of dtype complex128"):
        jg.grad(lambda z: (z * z).real).into(1.0, 1.0j)


def test_blocks_are_apart():
    x, block, number = np.ones(2), np.ones((2, 2)), np.ones(2)
    d = jg.jacobian(lambda x, k: (x * x[0], k * k), (0, 1), mode="forward", chunk=1)
    blocks = (block, np.ones(2)), (np.ones(2), number[:1])
    d.into(blocks, x, 3.0)
    np.testing.assert_array_equal(block, [[2.0, 0.0], [1.0, 1.0]])
    assert number.tolist() == [6.0, 1.0]
    for bad, at in ((blocks, block[0]), ((blocks[0], (block[1], number[:1])), x), (((block, number), blocks[1]), x)):
        with pytest.raises(ValueError, match="the array for a Jacobian overlaps an argument, or another one"):
            d.into(bad, at, 3.0)
    with pytest.raises(jg.ArgumentError, match="into float64; pass a writable array of size one"):
        d.into((blocks[0], (blocks[1][0], 1.0)), x, 3.0)


def test_gradients_must_fit():
    d = jg.value_and_grad(lambda x, k: k * x[0] ** 2, (0, 1))
    x, dx, dk, frozen = np.ones(2), np.zeros(2), np.zeros(1), np.zeros(2)
    frozen.flags.writeable = False
    assert d.into((dx, dk), x, 3.0) == 3.0
    assert dx.tolist() == [6.0, 0.0] and dk.tolist() == [1.0]
    for out, message in (
        (dx, "a tuple of 2 cannot be written into an array"),
        ((dx, dk, dk), "a tuple of 2 cannot be written into a tuple"),
        ((dx, 0.0), "into float64; pass a writable array of size one of dtype float64"),
        ((np.zeros(2, int), dk), "into an integer array .*; pass a writable array with 1 axis of dtype float64"),
        ((np.zeros((2, 1)), dk), "with 1 axis"),
        ((frozen, dk), "readonly"),
    ):
        with pytest.raises(jg.ArgumentError, match=f"into: .*{message}"):
            d.into(out, x, 3.0)
    with pytest.raises(ValueError, match="the array for the gradient of k overlaps an argument, or another gradient"):
        d.into((dx, dx[:1]), x, 3.0)
