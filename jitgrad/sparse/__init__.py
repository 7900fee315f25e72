"""Sparse Jacobians and Hessians by colouring.

`jitgrad.jacobian` and `jitgrad.hessian` with ``sparsity=`` return a `SparseJacobian`; the rest is what it is made of::

    pattern     given (`as_pattern`), or found by running sets of columns through the program (`detection`, `sets`)
    colouring   which columns, or rows, one sweep computes together (`colour`)
    plan        the seeds of the sweeps, and where each entry is read
    sweeps      one generated nopython function: seed, jvp or vjp, scatter
    jacobian    the object that holds these, checks the pattern, and makes matrices of scipy.sparse
"""

from __future__ import annotations

from jitgrad.sparse.colouring import Colouring, colour
from jitgrad.sparse.detection import sets_of
from jitgrad.sparse.jacobian import SparseJacobian
from jitgrad.sparse.patterns import as_pattern

__all__ = ["Colouring", "SparseJacobian", "as_pattern", "colour", "sets_of"]
