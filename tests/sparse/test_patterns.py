"""Patterns in every form in which they are given."""

import numpy as np
import pytest
from scipy import sparse

from jitgrad.errors import ArgumentError
from jitgrad.sparse import as_pattern

DENSE = np.array([[1.5, 0.0, -2.0], [0.0, np.nan, 0.0]])


@pytest.mark.parametrize(
    "given",
    [
        DENSE,
        DENSE != 0,
        DENSE.tolist(),
        sparse.csr_array(DENSE),
        sparse.csc_matrix(DENSE),
        sparse.coo_array(DENSE),
        sparse.lil_matrix(DENSE),
        sparse.dok_array(DENSE != 0),
    ],
    ids=lambda given: type(given).__name__,
)
def test_all_forms_are_one_pattern(given):
    pattern = as_pattern(given)
    assert isinstance(pattern, sparse.csr_array)
    assert pattern.dtype == bool
    assert pattern.has_canonical_format
    np.testing.assert_array_equal(pattern.toarray(), DENSE != 0)


def test_stored_zeros_and_duplicates_are_entries():
    given = sparse.coo_array(([0.0, 1.0, -1.0], ([0, 1, 1], [0, 1, 1])), shape=(2, 2))
    np.testing.assert_array_equal(as_pattern(given).toarray(), np.eye(2, dtype=bool))


def test_the_given_matrix_stays_as_it_is():
    given = sparse.csr_array((np.ones(3), [2, 0, 0], [0, 3]), shape=(1, 3))
    as_pattern(given)
    np.testing.assert_array_equal(given.indices, [2, 0, 0])


@pytest.mark.parametrize("given", [np.ones(3), "band", None, np.array([["a"]])])
def test_what_is_no_matrix_is_refused(given):
    with pytest.raises(ArgumentError, match="sparsity must be a matrix"):
        as_pattern(given)
