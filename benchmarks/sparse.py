"""Sparse Jacobians: sweeps, the cost of detecting the pattern, and that of a Jacobian over its function.

    python -m benchmarks.sparse [--small]

brusselator   two species on a periodic 200 x 200 grid: 80 000 columns, six entries in a row; at most 20 sweeps
band          100 000 columns, three entries in a row; at most 5 sweeps
arrow         2 000 columns, a full row and a full column beside the diagonal; at most 3 sweeps, in both modes
chain         Hessian of a sum over 100 000 neighbours; at most 5 sweeps

Times are CPU time; the ratios are those of a Jacobian with and without the check of its pattern to one call of the
function (for `chain`, of its gradient). Exit status 1 when a detected pattern is not exactly the one known, or a bar is
missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.measure import human, median_time, print_table, quiet_process, warm_memory

if __name__ == "__main__":
    quiet_process()

import numpy as np
from numba import njit
from scipy import sparse

import jitgrad as jg
from jitgrad.sparse import as_pattern


@njit
def brusselator(u):
    n = u.shape[1]
    du = np.empty_like(u)
    a = 0.02 * n * n
    for i in range(n):
        above, below = (i - 1) % n, (i + 1) % n
        for k in range(n):
            left, right = (k - 1) % n, (k + 1) % n
            p, q = u[0, i, k], u[1, i, k]
            du[0, i, k] = 1.0 + p * p * q - 4.4 * p
            du[0, i, k] += a * (u[0, above, k] + u[0, below, k] + u[0, i, left] + u[0, i, right] - 4.0 * p)
            du[1, i, k] = 3.4 * p - p * p * q
            du[1, i, k] += a * (u[1, above, k] + u[1, below, k] + u[1, i, left] + u[1, i, right] - 4.0 * q)
    return du


@njit
def band(x):
    y = np.empty_like(x)
    for i in range(x.size):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < x.size - 1 else 1.0
        y[i] = left - 2.0 * x[i] + right + x[i] ** 3
    return y


@njit
def arrow(x):
    y = np.empty_like(x)
    y[0] = 0.0
    for i in range(x.size):
        y[0] += x[i] * x[i]
    for i in range(1, x.size):
        y[i] = x[i] * x[i] * x[0]
    return y


@njit
def chain(x):
    s = 0.0
    for i in range(x.size - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


def grid_pattern(n: int) -> sparse.csr_array:
    one = sparse.eye_array(n)
    ring = sparse.diags_array([1.0] * 5, offsets=[-1, 0, 1, n - 1, 1 - n], shape=(n, n))
    species = sparse.kron(ring, one) + sparse.kron(one, ring)
    other = sparse.eye_array(n * n)
    return as_pattern(sparse.block_array([[species, other], [other, species]]))


def band_pattern(n: int) -> sparse.csr_array:
    return as_pattern(sparse.diags_array([1.0] * 3, offsets=[-1, 0, 1], shape=(n, n)))


def arrow_pattern(n: int) -> sparse.csr_array:
    full = sparse.lil_array((n, n))
    full.setdiag(1.0)
    full[0, :] = full[:, 0] = 1.0
    return as_pattern(full)


def cases(small: bool) -> list[tuple[str, Any, Callable, np.ndarray, sparse.csr_array, int]]:
    """Name, sparse derivative, function it is compared with, point, known pattern, bar of sweeps."""
    draw = np.random.default_rng(0)
    grid, long, dense = (20, 1000, 200) if small else (200, 100_000, 2000)
    points = draw.uniform(0.5, 2.0, (2, grid, grid)), draw.uniform(0.5, 2.0, long), draw.uniform(0.5, 2.0, dense)
    return [
        ("brusselator", jg.jacobian(brusselator, sparsity="detect"), brusselator, points[0], grid_pattern(grid), 20),
        ("band", jg.jacobian(band, sparsity="detect"), band, points[1], band_pattern(long), 5),
        ("arrow", jg.jacobian(arrow, sparsity="detect"), arrow, points[2], arrow_pattern(dense), 3),
        ("chain", jg.hessian(chain, sparsity="detect"), jg.grad(chain), points[1], band_pattern(long), 5),
    ]


def measure(name: str, derivative: Any, function: Callable, x: np.ndarray, known: sparse.csr_array, bar: int) -> Any:
    """A row of the table, and whether the case is as it should be."""
    derivative.detect(x)  # compiles
    primal = median_time(lambda: function(x))
    detection = median_time(lambda: derivative.detect(x), least=0.2, repeats=5)
    exact = derivative.pattern.shape == known.shape and not (derivative.pattern != known).nnz
    checked = median_time(lambda: derivative(x))
    unchecked = median_time(lambda: derivative.unchecked(x))
    good = exact and derivative.sweeps <= bar
    row = [
        name,
        f"{known.shape[0]} x {known.shape[1]}",
        str(known.nnz),
        "exact" if exact else "WRONG",
        f"{derivative.sweeps} {derivative.mode}",
        human(detection),
        human(primal),
        f"{checked / primal:.1f}",
        f"{unchecked / primal:.1f}",
        f"{checked / primal / (derivative.sweeps + 1):.1f}",
    ]
    return row, good


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sparse",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--small", action="store_true", help="small sizes, for a quick look")
    small = parser.parse_args().small
    warm_memory()
    results = [measure(*case) for case in cases(small)]
    header = "function matrix entries pattern sweeps detection call ratio unchecked".split()
    print_table("Sparse Jacobians and Hessians", [*header, "per sweep"], [row for row, _ in results])
    sys.exit(0 if all(good for _, good in results) else 1)


if __name__ == "__main__":
    main()
