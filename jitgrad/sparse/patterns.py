"""Sparsity patterns: which entries of a matrix may be other than zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from jitgrad.errors import ArgumentError


def as_pattern(matrix: Any) -> sparse.csr_array:
    """A pattern as a ``csr_array`` of booleans in canonical form.

    Parameters
    ----------
    matrix : sparse matrix or array, or array_like
        Of a sparse one, the entries that are stored, whatever their values; of a dense one, those that are
        not zero.

    Raises
    ------
    ArgumentError
        Where it is no matrix.

    Examples
    --------
    >>> as_pattern([[1.0, 0.0], [0.0, 3.0]]).toarray()
    array([[ True, False],
           [False,  True]])
    """
    if sparse.issparse(matrix):
        found = sparse.csr_array(matrix.tocsr(copy=True))
        if found.ndim != 2:
            raise ArgumentError(f"sparsity must be a matrix, but it has the shape {found.shape}")
        # stored zeros count: whoever stored them said that these entries may become other than zero
        found = sparse.csr_array((np.ones(found.nnz, bool), found.indices, found.indptr), found.shape)
    else:
        dense = np.asarray(matrix)
        if dense.ndim != 2 or dense.dtype.kind not in "biufc":
            raise ArgumentError(
                f"sparsity must be a matrix of scipy.sparse, a two-dimensional array, or 'detect', not {_what(matrix)}"
            )
        found = sparse.csr_array(dense != 0)
    found.sum_duplicates()
    return found


def _what(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    return repr(value)


def symmetric(pattern: sparse.csr_array) -> sparse.csr_array:
    """The union of a square pattern and its transpose, so that one triangle is enough to give a Hessian's.

    Raises
    ------
    ArgumentError
        Where the pattern is not square.
    """
    if pattern.shape[0] != pattern.shape[1]:
        raise ArgumentError(f"the pattern of a Hessian is square, but sparsity has the shape {pattern.shape}")
    return union(pattern, pattern.T.tocsr())


def union(one: sparse.csr_array, other: sparse.csr_array) -> sparse.csr_array:
    """The entries of either pattern."""
    return as_pattern(one + other)


def from_rows(starts: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """The pattern whose row ``i`` has the sorted ``columns[starts[i]:starts[i + 1]]``."""
    return sparse.csr_array((np.ones(columns.size, bool), columns, starts), shape)
