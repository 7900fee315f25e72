"""What the sweeps of a colouring seed, and where each entry of the matrix is read: decompression as one scatter."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy import sparse

from jitgrad.sparse.colouring import Colouring

OPTIONS = {"cache": True, "error_model": "numpy", "nogil": True}

Sweeps = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
WIDTHS = (4, 8)  # sweeps to a run of the function: as many as there are, in whole registers, up to what these hold


@dataclass(frozen=True, eq=False)
class Plan:
    """A pattern, its colouring, and the sweeps of both modes.

    Attributes
    ----------
    pattern : csr_array of bool, shape (m, n)
    colouring : Colouring
    chunk : int
        How many sweeps one run of the function takes.
    forward, reverse : tuple of six arrays of int
        ``(seed_starts, seeds, entry_starts, places, lanes, slots)``. Sweep ``c`` is seeded with one at
        ``seeds[seed_starts[c]:seed_starts[c + 1]]``. The run of sweeps ``r * chunk``, ``r * chunk + 1``, ... returns
        the entries ``e`` from ``entry_starts[r]`` to ``entry_starts[r + 1]``: each at ``places[e]`` of the product of
        sweep ``r * chunk + lanes[e]``, to be stored at ``slots[e]`` of the matrix's data.
    """

    pattern: sparse.csr_array
    colouring: Colouring
    chunk: int
    forward: Sweeps
    reverse: Sweeps

    @property
    def nnz(self) -> int:
        return self.pattern.nnz

    @functools.cached_property
    def probe(self) -> np.ndarray:
        """A random vector, of the length of what is seeded first, with elements of about the same size."""
        draw = np.random.default_rng(len(self.pattern.indices))
        size = self.pattern.shape[0 if self.colouring.mode == "reverse" else 1]
        return draw.uniform(1.0, 2.0, size) * draw.choice([-1.0, 1.0], size)


def plan(pattern: sparse.csr_array, colouring: Colouring, chunk: int | None = None) -> Plan:
    """Lay out the sweeps of a colouring.

    Parameters
    ----------
    pattern : csr_array of bool, canonical
    colouring : Colouring
        Of this pattern.
    chunk : int, optional
        How many forward sweeps one run takes; by default what suits their number.
    """
    starts, columns = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int64)
    kernel = _read_symmetric if colouring.symmetric else _read
    sweep, place = kernel(starts, columns, colouring.columns, colouring.rows)
    by_rows = np.repeat(colouring.rows >= 0, np.diff(starts))
    if chunk is None:
        needed = colouring.forward + 1  # with the probe
        chunk = next((width for width in WIDTHS if needed <= width), WIDTHS[-1])

    def sweeps(colours: np.ndarray, count: int, chosen: np.ndarray) -> Sweeps:
        return *_groups(colours, count), *_entries(sweep, place, chosen, count, chunk)

    forward = sweeps(colouring.columns, colouring.forward, ~by_rows)
    return Plan(pattern, colouring, chunk, forward, sweeps(colouring.rows, colouring.reverse, by_rows))


def _groups(colours: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each colour begins in the members of all, and these."""
    order = np.argsort(colours, kind="stable")
    order = order[colours[order] >= 0]
    return np.searchsorted(colours[order], np.arange(count + 1)), order


def _entries(
    sweep: np.ndarray, place: np.ndarray, chosen: np.ndarray, count: int, chunk: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The chosen entries by runs, in each of them in the order of the matrix: starts, places, lanes, slots."""
    slots = np.flatnonzero(chosen)
    slots = slots[np.argsort(sweep[slots] // chunk, kind="stable")]
    starts = np.searchsorted(sweep[slots] // chunk, np.arange(-(-count // chunk) + 1))
    small = np.int32 if max(place.max(initial=0), slots.size) < 2**31 else np.int64
    return starts, place[slots].astype(small), (sweep[slots] % chunk).astype(small), slots.astype(small)


@njit(**OPTIONS)
def _read(starts, columns, column_colours, row_colours):
    """The sweep, and the place in its product, of every entry."""
    sweep, place = np.empty_like(columns), np.empty_like(columns)
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            j = columns[e]
            if row_colours[i] < 0:
                sweep[e], place[e] = column_colours[j], i
            else:
                sweep[e], place[e] = row_colours[i], j
    return sweep, place


@njit(**OPTIONS)
def _read_symmetric(starts, columns, colours, row_colours):
    """As `_read`; an entry ``(i, j)`` is read in row i, or in row j where row i has its colour more than once."""
    sweep, place = np.empty_like(columns), np.empty_like(columns)
    alone = np.zeros(columns.size, np.bool_)  # the colour of this entry's column comes once in its row
    count = np.zeros(columns.size + 1, np.int64)
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            count[colours[columns[e]]] += 1
        for e in range(starts[i], starts[i + 1]):
            alone[e] = count[colours[columns[e]]] == 1
        for e in range(starts[i], starts[i + 1]):
            count[colours[columns[e]]] = 0
    following = starts[:-1].copy()  # rows are visited in order, so entry (j, i) is the next one of row j
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            j = columns[e]
            transposed = following[j]
            following[j] += 1
            if alone[e]:
                sweep[e], place[e] = colours[j], i
            elif alone[transposed]:
                sweep[e], place[e] = colours[i], j
            else:
                raise ValueError("this is not a star colouring of the pattern")
    return sweep, place


@njit(**OPTIONS)
def differing(starts, columns, data, probe, product, transposed):
    """The row where a matrix (or its transpose) times `probe` differs most from `product`; -1 where none does.

    Both come from the same code with other seeds, so they differ by rounding only. That is measured by the terms of
    the row, and for rows that are nothing but rounding by those of the largest one.
    """
    total, terms = np.zeros(product.size), np.zeros(product.size)
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            j = columns[e]
            row, column = (j, i) if transposed else (i, j)
            term = data[e] * probe[column]
            total[row] += term
            terms[row] += abs(term)
    largest = 0.0
    for k in range(product.size):
        if np.isfinite(terms[k]):
            largest = max(largest, terms[k])
    eps = np.finfo(data.dtype).eps
    worst, row = 1.0, -1
    for k in range(product.size):
        if not np.isfinite(total[k]) and not np.isfinite(product[k]):
            continue
        allowed = eps**0.4 * terms[k] + 100.0 * eps * largest
        error = abs(total[k] - product[k])
        if not error <= worst * allowed:  # also where one of the two is not finite
            worst, row = error / allowed, k
    return row
