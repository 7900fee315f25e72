"""Sparse Jacobians and Hessians are the dense ones, or say why not."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import sparse

import jitgrad as jg
from jitgrad.errors import PatternError

U = np.array([0.3, -0.7, 1.1, 2.0, 0.5, -1.2, 0.9])


@njit
def ring(u):
    """Each element with its right neighbour, and all with the first in the last row."""
    out = np.empty_like(u)
    for i in range(u.size - 1):
        out[i] = u[i] ** 2 * u[i + 1]
    out[-1] = np.sum(u) * u[0]
    return out


def ring_by_hand(u):
    matrix = np.diag(2.0 * u * np.roll(u, -1)) + np.diag(u[:-1] ** 2, 1)
    matrix[-1] = u[0]
    matrix[-1, 0] += u.sum()
    return matrix


RING = ring_by_hand(U) != 0


@njit
def energy(x, k):
    s = 0.0
    for i in range(x.size - 1):
        s += k * (x[i + 1] - x[i] ** 2) ** 2
    return s


@njit
def several(a, n, b, out):
    """Arguments of every kind; the result is the returned number and what is written into the last argument."""
    for i in range(a.shape[0]):
        out[i] = a[i, 0] * a[i, 1] * b * n
        a[i, 0] = 0.0
    return b * b


@pytest.mark.parametrize("mode, sweeps", [("auto", 7), ("reverse", 3), ("both", 3)])
def test_a_jacobian_in_every_mode(mode, sweeps):
    derivative = jg.jacobian(ring, mode=mode, sparsity=RING)
    found = derivative(U)
    assert isinstance(found, sparse.csr_array)
    assert found.has_canonical_format
    assert found.nnz == RING.sum()
    np.testing.assert_allclose(found.toarray(), ring_by_hand(U), rtol=1e-14)
    np.testing.assert_array_equal(derivative.unchecked(U).toarray(), found.toarray())
    assert derivative.sweeps == sweeps
    assert derivative.mode == ("forward" if mode == "auto" else mode)


def test_results_share_no_memory():
    derivative = jg.jacobian(ring, mode="reverse", sparsity=RING)
    first = derivative(U)
    first.data[:] = 0.0
    first.eliminate_zeros()
    np.testing.assert_allclose(derivative(U).toarray(), ring_by_hand(U), rtol=1e-14)


def test_more_entries_than_needed_do_no_harm():
    found = jg.jacobian(ring, mode="reverse", sparsity=np.ones((7, 7)))(U)
    assert found.nnz == 49
    np.testing.assert_allclose(found.toarray(), ring_by_hand(U), rtol=1e-14)


@pytest.mark.parametrize("mode, place", [("forward", "row 2"), ("reverse", "column 3")])
def test_a_missing_entry_is_noticed(mode, place):
    wrong = RING.copy()
    wrong[2, 3] = False
    derivative = jg.jacobian(ring, mode=mode, sparsity=wrong)
    message = f"^the sparsity pattern for ring misses entries, in {place} at least: .* pass sparsity='detect'$"
    with pytest.raises(PatternError, match=message):
        derivative(U)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_shapes_that_do_not_fit(mode):
    derivative = jg.jacobian(ring, mode=mode, sparsity=RING)
    with pytest.raises(jg.ShapeError, match="sparsity has 7 columns, but the arguments of ring .* have 5 elements"):
        derivative(U[:5])
    derivative = jg.jacobian(ring, mode=mode, sparsity=np.ones((3, 7)))
    with pytest.raises(jg.ShapeError, match="sparsity has 3 rows, but the result of ring has 7 elements"):
        derivative(U)


def test_values_that_are_not_finite_are_no_missing_entries():
    u = U.copy()
    u[2] = np.nan
    found = jg.jacobian(ring, mode="forward", sparsity=RING)(u).toarray()
    by_hand = ring_by_hand(u)
    bad = np.isnan(by_hand).any(axis=1)
    np.testing.assert_allclose(found[~bad], by_hand[~bad], rtol=1e-14)
    np.testing.assert_array_equal(np.isnan(found).any(axis=1), bad)


def test_arguments_and_results_of_several_parts():
    a, out = np.arange(1.0, 5.0).reshape(2, 2), np.full(2, 7.0)
    derivative = jg.jacobian(several, argnums=(0, 2), outs=3, sparsity="detect")
    found = derivative(a, 3, 2.0, out)
    by_hand = [[0, 0, 0, 0, 4.0], [12.0, 6.0, 0, 0, 6.0], [0, 0, 24.0, 18.0, 36.0]]
    np.testing.assert_allclose(found.toarray(), by_hand, rtol=1e-14)
    assert found.nnz == 7
    # the arguments are left as the function leaves them
    np.testing.assert_array_equal(a, [[0.0, 2.0], [0.0, 4.0]])
    np.testing.assert_array_equal(out, [12.0, 72.0])


@pytest.mark.slow
def test_single_precision():
    found = jg.jacobian(ring, mode="forward", sparsity=RING)(U.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), ring_by_hand(U), rtol=1e-5)


@pytest.mark.parametrize("given", ["detect", "lower"])
def test_a_hessian(given):
    by_hand = np.diag(3.0 * np.append(12.0 * U[:-1] ** 2 - 4.0 * U[1:], 0.0) + 6.0 * (np.arange(7) > 0))
    by_hand += np.diag(-12.0 * U[:-1], 1) + np.diag(-12.0 * U[:-1], -1)
    derivative = jg.hessian(energy, sparsity=given if given == "detect" else np.tril(by_hand))
    found = derivative(U, 3.0)
    np.testing.assert_allclose(found.toarray(), by_hand, rtol=1e-13)
    assert (found.nnz, derivative.sweeps, derivative.mode) == (19, 3, "forward")
    np.testing.assert_array_equal(derivative.pattern.toarray(), by_hand != 0)


def test_arguments_that_are_refused():
    with pytest.raises(jg.ArgumentError, match="sparsity must be a matrix or 'detect', not 'auto'"):
        jg.jacobian(ring, sparsity="auto")
    with pytest.raises(jg.ArgumentError, match="leave out parallel or sparsity"):
        jg.jacobian(ring, sparsity=RING, parallel=True)
    with pytest.raises(jg.ArgumentError, match="mode must be one of 'auto', 'forward', 'reverse', not 'both'"):
        jg.jacobian(ring, mode="both")
    with pytest.raises(jg.ArgumentError, match="the pattern of a Hessian is square"):
        jg.hessian(energy, sparsity=np.ones((2, 3)))
    for call in (jg.jacobian(ring, sparsity="detect"), jg.jacobian(ring, sparsity=RING).unchecked):
        with pytest.raises(TypeError, match="ring: missing a required argument: 'u'"):
            call()
    with pytest.raises(jg.ArgumentError, match="detected at the first call"):
        _ = jg.jacobian(ring, sparsity="detect").pattern
    with pytest.raises(jg.UnsupportedError, match="a sparse Jacobian is one of real numbers and arrays"):
        jg.jacobian(lambda z: z * z, sparsity=np.eye(2))(np.ones(2) * 1j)
