"""Colourings are valid by their definition, as small as known ones, and what is read from them is the matrix."""

import numpy as np
import pytest
from scipy import sparse

from jitgrad.errors import ArgumentError
from jitgrad.sparse import as_pattern, colour
from jitgrad.sparse.plan import plan


def random_pattern(m, n, density, seed):
    return np.random.default_rng(seed).random((m, n)) < density


def arrow(n):
    found = np.eye(n, dtype=bool)
    found[0] = found[:, 0] = True
    return found


PATTERNS = {
    "tridiagonal": sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(9, 9)),
    "random": random_pattern(20, 15, 0.15, 0),
    "wide": random_pattern(6, 40, 0.3, 1),
    "tall": random_pattern(40, 6, 0.3, 2),
    "dense": np.ones((4, 5)),
    "arrow": arrow(12),
    "dense rows": np.vstack([np.ones((2, 12)), np.eye(12)]),
    "dense columns": np.hstack([np.ones((12, 2)), np.eye(12)]),
    "empty": np.zeros((3, 4)),
    "no columns": np.zeros((3, 0)),
    "no rows": np.zeros((0, 3)),
}


def assembled(matrix, pattern, colouring, chunk):
    """The matrix as its products with the seeds of a plan tell it."""
    made = plan(pattern, colouring, chunk)
    data = np.full(pattern.nnz, np.nan)
    for sweeps, operator in ((made.forward, matrix), (made.reverse, matrix.T)):
        seed_starts, seeds, entry_starts, places, lanes, slots = sweeps
        products = np.zeros((operator.shape[0], seed_starts.size - 1 + chunk))
        for c in range(seed_starts.size - 1):
            seed = np.zeros(operator.shape[1])
            seed[seeds[seed_starts[c] : seed_starts[c + 1]]] = 1.0
            products[:, c] = operator @ seed
        for run in range(entry_starts.size - 1):
            entries = slice(entry_starts[run], entry_starts[run + 1])
            data[slots[entries]] = products[places[entries], run * chunk + lanes[entries]]
    return sparse.csr_array((data, pattern.indices, pattern.indptr), pattern.shape).toarray()


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "both"])
@pytest.mark.parametrize("name", PATTERNS)
def test_a_matrix_is_read_back_from_its_sweeps(name, mode):
    pattern = as_pattern(PATTERNS[name])
    colouring = colour(pattern, mode)
    matrix = np.random.default_rng(3).normal(size=pattern.shape) * pattern.toarray()
    np.testing.assert_array_equal(assembled(matrix, pattern, colouring, 4), matrix)
    if mode in ("forward", "reverse"):
        assert colouring.mode == mode or not pattern.nnz


@pytest.mark.parametrize("n, density, seed", [(1, 1.0, 0), (8, 0.3, 1), (30, 0.05, 2), (30, 0.2, 3), (25, 1.0, 4)])
@pytest.mark.parametrize("diagonal", [True, False])
def test_a_hessian_is_read_back_from_a_star_colouring(n, density, seed, diagonal):
    found = random_pattern(n, n, density, seed)
    found |= found.T
    np.fill_diagonal(found, diagonal)
    pattern = as_pattern(found)
    values = np.random.default_rng(seed).normal(size=(n, n))
    matrix = (values + values.T) * found
    colouring = colour(pattern, "symmetric")
    np.testing.assert_array_equal(assembled(matrix, pattern, colouring, 3), matrix)
    colours = colouring.columns
    assert not np.any(found & ~np.eye(n, dtype=bool) & (colours[:, None] == colours) & (colours >= 0)), (
        "neighbours differ"
    )


@pytest.mark.parametrize(
    "pattern, mode, sweeps",
    [
        (sparse.diags_array([1.0] * 5, offsets=[-2, -1, 0, 1, 2], shape=(100, 100)), "auto", 5),
        (sparse.diags_array([1.0] * 3, offsets=[-1, 0, 1], shape=(100, 100)), "symmetric", 3),
        (sparse.eye_array(50), "auto", 1),
        (np.ones((3, 20)), "auto", 3),
        (np.ones((20, 3)), "auto", 3),
        (arrow(40), "forward", 40),
        (arrow(40), "auto", 3),
        (arrow(40), "symmetric", 2),
        (np.zeros((4, 4)), "auto", 0),
    ],
)
def test_known_numbers_of_sweeps(pattern, mode, sweeps):
    assert colour(pattern, mode).sweeps == sweeps


def test_auto_counts_four_forward_sweeps_as_one_reverse_sweep():
    assert colour(sparse.eye_array(4)).mode == "forward"
    assert colour(np.ones((3, 20))).mode == "reverse"
    assert colour(np.ones((3, 12))).mode == "forward"
    assert colour(arrow(40)).mode == "both"


def test_one_triangle_stands_for_a_symmetric_pattern():
    full = as_pattern(PATTERNS["tridiagonal"])
    lower = sparse.tril(full)
    np.testing.assert_array_equal(colour(lower, "symmetric").columns, colour(full, "symmetric").columns)


def test_a_plan_refuses_what_is_no_star_colouring():
    pattern = as_pattern(PATTERNS["tridiagonal"])
    wrong = colour(sparse.eye_array(9), "symmetric")
    with pytest.raises(ValueError, match="not a star colouring"):
        plan(pattern, wrong)


def test_arguments():
    with pytest.raises(ArgumentError, match="mode must be one of 'auto', .* not 'columns'"):
        colour(np.eye(3), "columns")
    with pytest.raises(ArgumentError, match=r"is square, but sparsity has the shape \(2, 3\)"):
        colour(np.ones((2, 3)), "symmetric")
