"""Colourings of sparsity patterns: which columns, or rows, of a Jacobian one sweep can compute together.

Columns of one colour are structurally orthogonal: no row has an entry in two of them. So the product of the Jacobian
with the sum of their unit vectors holds all of their entries apart. In the words of graph theory this is a partial
distance-2 colouring of the bipartite graph of rows and columns, for a Hessian a star colouring of its adjacency graph,
which uses that every entry can be read in two places.

The algorithms are greedy, after A. H. Gebremedhin, F. Manne and A. Pothen, *What Color Is Your Jacobian? Graph
Coloring for Computing Derivatives*, SIAM Review 47 (2005), algorithms 3.1 and 4.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

from jitgrad.errors import ArgumentError
from jitgrad.sparse.patterns import as_pattern, symmetric

MODES = ("auto", "forward", "reverse", "both", "symmetric")
AT_ONCE = 4  # forward sweeps, which run several at once, that cost about as much as one reverse sweep


@dataclass(frozen=True, eq=False)
class Colouring:
    """A partition of the columns, and of rows, of a pattern into sweeps.

    Attributes
    ----------
    columns : array of int, shape (n,)
        The forward sweep that computes a column; -1 for a column that none has to.
    rows : array of int, shape (m,)
        The reverse sweep that computes a row; -1 for a row that is read from the forward sweeps.
    symmetric : bool
        An entry may be read at its transposed place.
    """

    columns: np.ndarray
    rows: np.ndarray
    symmetric: bool = False

    @property
    def forward(self) -> int:
        """How many forward sweeps."""
        return int(self.columns.max(initial=-1)) + 1

    @property
    def reverse(self) -> int:
        """How many reverse sweeps."""
        return int(self.rows.max(initial=-1)) + 1

    @property
    def sweeps(self) -> int:
        """How many sweeps in all."""
        return self.forward + self.reverse

    @property
    def cost(self) -> float:
        """The number of sweeps in reverse sweeps: four forward sweeps count as one, since they run at once."""
        return self.forward / AT_ONCE + self.reverse

    @property
    def mode(self) -> str:
        """``"forward"``, ``"reverse"`` or ``"both"``."""
        return "both" if self.forward and self.reverse else "reverse" if self.reverse else "forward"


def colour(pattern: Any, mode: str = "auto") -> Colouring:
    """Group the columns or rows of a pattern so that each group takes one sweep.

    Parameters
    ----------
    pattern : sparse matrix or array, or array_like, shape (m, n)
    mode : {"auto", "forward", "reverse", "both", "symmetric"}
        Groups of columns, of rows, or the densest rows by reverse sweeps and everything else by forward ones. "auto"
        takes the one with the least `Colouring.cost`; both only where that halves it, since it compiles both sweeps.
        "symmetric" is for Hessians.

    Returns
    -------
    Colouring

    Notes
    -----
    Time is of order ``sum(k * k)`` over the numbers `k` of entries in the rows (of columns, for "reverse"); for
    "symmetric" ``n * d**3`` where every row has about `d` entries. The number of colours is not always the least,
    finding which is NP-hard; it is at least the number of entries in the fullest row, and close to that in practice.

    Examples
    --------
    >>> import scipy.sparse
    >>> band = scipy.sparse.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(6, 6))
    >>> colour(band).columns
    array([0, 1, 2, 0, 1, 2])
    >>> arrow = np.eye(50, dtype=bool)
    >>> arrow[0] = arrow[:, 0] = True
    >>> [colour(arrow, mode).sweeps for mode in ("forward", "reverse", "auto", "symmetric")]
    [50, 50, 3, 2]
    """
    if mode not in MODES:
        raise ArgumentError(f"mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
    rows = as_pattern(pattern)
    m, n = rows.shape
    if mode == "symmetric":
        rows = symmetric(rows)
        return Colouring(_star(rows), np.full(n, -1), symmetric=True)
    columns = rows.T.tocsr()
    nothing, none = np.full(m, -1), np.full(n, -1)
    if mode == "forward":
        return Colouring(_groups(rows, columns), nothing)
    if mode == "reverse":
        return Colouring(none, _groups(columns, rows))
    if mode == "both":
        return _both(rows, columns, _fullest(rows))
    return _cheapest(rows, columns)


def _cheapest(rows: sparse.csr_array, columns: sparse.csr_array) -> Colouring:
    """The colouring with the least cost; what cannot be that is not tried."""
    m, n = rows.shape
    best = Colouring(_groups(rows, columns), np.full(m, -1)) if _bound(rows) <= AT_ONCE * _bound(columns) else None
    if best is None or _bound(columns) < best.cost:
        other = Colouring(np.full(n, -1), _groups(columns, rows))
        best = other if best is None or other.cost < best.cost else best
        if best is other and _bound(rows) <= AT_ONCE * best.cost:
            other = Colouring(_groups(rows, columns), np.full(m, -1))
            best = other if other.cost <= best.cost else best
    dense = _fullest(rows)
    if 2 * (dense.size + _bound(rows, dense) / AT_ONCE) <= best.cost:
        both = _both(rows, columns, dense)
        best = both if 2 * both.cost <= best.cost else best
    return best


def _bound(rows: sparse.csr_array, without: np.ndarray | None = None) -> int:
    """The least number of colours for the columns: that of the entries in the fullest row."""
    counts = np.diff(rows.indptr)
    if without is not None:
        counts[without] = 0
    return int(counts.max(initial=0))


def _fullest(rows: sparse.csr_array) -> np.ndarray:
    """The densest rows, as many as minimise the cost by their number and by the bound for the columns of the others."""
    counts = np.diff(rows.indptr)
    order = np.argsort(-counts, kind="stable")
    cost = np.arange(counts.size + 1) + np.append(counts[order], 0) / AT_ONCE
    return order[: int(np.argmin(cost))]


def _both(rows: sparse.csr_array, columns: sparse.csr_array, dense: np.ndarray) -> Colouring:
    """The rows in `dense` by reverse sweeps, the others by forward ones."""
    m, n = rows.shape
    by_rows = np.zeros(m, bool)
    by_rows[dense] = True
    return Colouring(_groups(rows, columns, by_rows), _groups(columns, rows, None, by_rows))


def _groups(
    rows: sparse.csr_array,
    columns: sparse.csr_array,
    ignored: np.ndarray | None = None,
    wanted: np.ndarray | None = None,
) -> np.ndarray:
    """Colours of the `wanted` columns, so that in no row, but those `ignored`, a colour comes twice."""
    m, n = rows.shape
    counts = np.diff(rows.indptr)
    ignored = np.zeros(m, bool) if ignored is None else ignored
    used = np.zeros(n, bool)
    used[rows.indices[np.repeat(~ignored, counts)]] = True
    if wanted is not None:
        used &= wanted
    candidates = np.flatnonzero(used)
    fullest = int(counts[~ignored].max(initial=0))
    if wanted is None and fullest == candidates.size:  # one row has them all
        return _distinct(candidates, n)
    # Grids and bands are best taken as they are numbered, irregular patterns with the most constrained column first.
    arguments = (*_csr(rows), *_csr(columns), ignored)
    best = distance_two(candidates, *arguments)
    if best.max(initial=-1) + 1 > fullest and wanted is None:
        weight = np.bincount(rows.indices, np.repeat(counts, counts), n)[candidates]
        other = distance_two(candidates[np.argsort(-weight, kind="stable")], *arguments)
        best = other if other.max() < best.max() else best
    return best


def groups_of_blocks(rows: sparse.csr_array) -> np.ndarray:
    """Colours of the columns, from one order only: quick rather than few."""
    m, n = rows.shape
    used = np.unique(rows.indices)
    if np.diff(rows.indptr).max(initial=0) == used.size:
        return _distinct(used, n)
    return distance_two(used, *_csr(rows), *_csr(rows.T.tocsr()), np.zeros(m, bool))


def _distinct(columns: np.ndarray, n: int) -> np.ndarray:
    """A colour of its own for each of these columns, of `n`."""
    colours = np.full(n, -1)
    colours[columns] = np.arange(columns.size)
    return colours


def _star(adjacency: sparse.csr_array) -> np.ndarray:
    """Colours of the columns of a symmetric pattern, without a path of four vertices in two colours."""
    degrees = np.diff(adjacency.indptr)
    used = np.flatnonzero(degrees)
    found = [star(order, *_csr(adjacency)) for order in (used, used[np.argsort(-degrees[used], kind="stable")])]
    return min(found, key=lambda colours: colours.max(initial=-1))


def _csr(matrix: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Starts and indices as the kernels take them."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


@njit(cache=True, error_model="numpy")
def distance_two(order, row_starts, columns, column_starts, rows, ignored):
    """Colour columns one after the other, each with the first colour that no column it shares a row with has."""
    n = column_starts.size - 1
    colours = np.full(n, -1)
    taken = np.full(n + 1, -1)  # the column that last met a colour among its neighbours
    for j in order:
        for p in range(column_starts[j], column_starts[j + 1]):
            i = rows[p]
            if ignored[i]:
                continue
            for q in range(row_starts[i], row_starts[i + 1]):
                c = colours[columns[q]]
                if c >= 0:
                    taken[c] = j
        c = 0
        while taken[c] == j:
            c += 1
        colours[j] = c
    return colours


@njit(cache=True, error_model="numpy")
def star(order, starts, neighbours):
    """Colour vertices so that neighbours differ, and every path of four vertices has at least three colours."""
    n = starts.size - 1
    colours = np.full(n, -1)
    taken = np.full(n + 1, -1)
    for v in order:
        for p in range(starts[v], starts[v + 1]):
            w = neighbours[p]
            if w == v:
                continue
            if colours[w] >= 0:
                taken[colours[w]] = v
            for q in range(starts[w], starts[w + 1]):
                x = neighbours[q]
                if x == v or x == w or colours[x] < 0 or taken[colours[x]] == v:
                    continue
                if colours[w] < 0:  # v and x would be the ends of a path whose middle gets its colour later
                    taken[colours[x]] = v
                    continue
                for r in range(starts[x], starts[x + 1]):  # v, w, x, y: w and y alike, so v and x must differ
                    y = neighbours[r]
                    if y != w and y != x and colours[y] == colours[w]:
                        taken[colours[x]] = v
                        break
        c = 0
        while taken[c] == v:
            c += 1
        colours[v] = c
    return colours
