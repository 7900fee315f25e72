"""Detecting the sparsity pattern of a Jacobian: sets of columns, run through the program in a few sweeps.

A sweep of `sets` tells for 64 columns on which of them each result depends, so ``n`` columns take ``n / 64`` sweeps. It
goes with far fewer. First the columns are taken as 64 blocks of neighbours: one sweep says which blocks a row depends
on. Then each block is split, and the parts found apart in the same way; but two blocks that no row depends on together
can share their bits, as a row tells by its known blocks which of the two is meant. These are the columns of one colour
of the pattern of blocks. So one more sweep splits all blocks into ``64 / colours`` parts, and a pattern with ``k``
entries in a row takes of the order of ``(1 + k / 64) * log(n)`` sweeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from scipy import sparse

from jitgrad.api import again
from jitgrad.api.arguments import wrt_of
from jitgrad.backend.dispatcher import Derivative, Transform, derivative
from jitgrad.backend.engine import read
from jitgrad.sparse.colouring import groups_of_blocks
from jitgrad.sparse.patterns import from_rows
from jitgrad.sparse.plan import OPTIONS
from jitgrad.sparse.sweeps import Flattened, put_array, put_number
from jitgrad.transforms.request import Generated, JvpRequest

BITS = 64
LEAST = 4  # parts that a block is split into at least: fewer would cost more rounds than the bits they save


@dataclass(frozen=True)
class Sets(Transform):
    """``sets_f(tangents, *args) -> (out, sets)``: `jvp` with sets of columns for tangents."""

    request: JvpRequest

    prefix: ClassVar[str] = "sets"
    leading: ClassVar[tuple[str, ...]] = ("tangents",)

    def floats(self):
        return self.request.wrt

    def generate(self, primal, argtypes):
        from jitgrad.sparse.sets import BitSets
        from jitgrad.transforms import forward

        return forward.emit(read(primal, argtypes, forward=True), self.request, BitSets())


@dataclass(frozen=True)
class FlatSets(Transform):
    """``detect_f(seed, *args) -> (sets, columns)``: the set of every result for those of all arguments' elements.

    Where the seed has another length than there are columns, only their number is told.
    """

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None

    prefix: ClassVar[str] = "detect"
    leading: ClassVar[tuple[str, ...]] = ("seed",)

    def floats(self):
        return self.wrt

    def generate(self, primal, argtypes):
        return _Detecting(self, primal, argtypes).generated()


class _Detecting(Flattened):
    def generated(self) -> Generated:
        run = self.use(derivative(self.primal, Sets(JvpRequest(self.transform.wrt, self.transform.outs))), "sets")
        (seed,) = self.lead
        columns, found, ignored, sets, k = map(self.writer.fresh, ("columns", "found", "_", "sets", "k"))
        uint64 = f"{self.numpy()}.uint64"
        self.text.line(f"{columns} = {self.count(self.in_leaves)}")
        other = self.text.suite(f"if {columns} != {seed}.size:")
        other.line(f"return {self.numpy()}.zeros((0, 1), {uint64})[:, 0], {columns}")
        parts = self.parts(seed, self.in_leaves, convert=False)
        tangents = ", ".join(self.structure(node, parts) for node in self.inputs)
        self.text.line(f"{ignored}, {found} = {run}(({tangents},), {self.header()})")
        leaves = self.differentiable(self.result.type, found)
        self.text.line(f"{sets} = {self.numpy()}.zeros(({self.count(leaves)}, 1), {uint64})")
        self.text.line(f"{k} = 0")
        for leaf in leaves:
            kernel = put_array if leaf.is_array else put_number
            self.text.line(f"{k} = {self.use(kernel, kernel.__name__)}({sets}, {k}, 0, {leaf.text})")
        self.text.line(f"return {sets}[:, 0], {columns}")
        return self._generated()


def sets_of(fun: Any, argnums: Any = 0) -> Derivative:
    """What detection runs: ``sets_f(tangents, *args) -> (out, sets)``, for reading with `jitgrad.source`.

    Parameters
    ----------
    fun : njit function or function
    argnums : int or tuple of int

    Returns
    -------
    Derivative
        Its first argument is a tuple: for each argument in `argnums` its sets, ``np.uint64`` or an array of them, of
        which each bit stands for one column. Its second result has those of the function's result.

    Examples
    --------
    >>> sets_of(lambda x: x[1:] * x[0])((np.array([1, 2, 4], np.uint64),), np.ones(3))[1]
    array([3, 5], dtype=uint64)
    """
    return derivative(fun, Sets(JvpRequest(wrt_of(fun, argnums)[0])))


class Detection:
    """Detects patterns of the Jacobian of a function.

    Attributes
    ----------
    sweeps : int
        How many sweeps the last detection took.
    """

    def __init__(self, fun: Any, wrt: tuple[int, ...], outs: tuple[int, ...] | None):
        self._fun = fun
        self._run = derivative(fun, FlatSets(wrt, outs))
        self.sweeps = 0

    def __call__(self, args: tuple, kwargs: dict[str, Any]) -> sparse.csr_array:
        """The pattern for these arguments, which stay as they are.

        Raises
        ------
        UnsupportedError
            Where the program keeps numbers in something that detection does not follow.
        """
        self.sweeps = 0
        again.check(self._fun, args, kwargs)
        n = self._sweep(np.zeros(0, np.uint64), args, kwargs)[1]
        width = 1 << max(n - 1, 0).bit_length()  # of a block: one that holds all columns, and every row depends on it
        colours, count = np.zeros(1, np.int64), 1
        pattern: sparse.csr_array | None = None
        while pattern is None or (width > 1 and count):
            parts = min(width, max(LEAST, 1 << max(1, BITS // count).bit_length() - 1))
            sets = []
            for k in range(-(-count * parts // BITS)):
                seed = seeds(n, width, parts, colours, BITS * k)
                sets.append(self._sweep(seed, args, kwargs)[0])
                self.sweeps += 1
            if pattern is None:
                m = sets[0].size
                pattern = from_rows(np.arange(m + 1), np.zeros(m, np.int64), (m, 1))
            starts, blocks = split(pattern.indptr, pattern.indices, colours, np.array(sets), parts)
            width //= parts
            pattern = from_rows(starts, blocks, (pattern.shape[0], -(-n // width)))
            colours = groups_of_blocks(pattern)
            count = int(colours.max(initial=-1)) + 1
        return from_rows(pattern.indptr, pattern.indices, (pattern.shape[0], n))

    def _sweep(self, seed: np.ndarray, args: tuple, kwargs: dict[str, Any]) -> tuple[np.ndarray, int]:
        args, kwargs = again.copies(args, kwargs)
        return self._run(seed, *args, **kwargs)


@njit(**OPTIONS)
def seeds(n, width, parts, colours, first):
    """For each column one bit, or none: that of its block's colour and its part of the block, from bit `first` on."""
    found = np.zeros(n, np.uint64)
    for j in range(n):
        c = colours[j // width]
        if c >= 0:
            bit = c * parts + j % width // (width // parts) - first
            if 0 <= bit < 64:
                found[j] = np.uint64(1) << np.uint64(bit)
    return found


@njit(**OPTIONS)
def split(starts, blocks, colours, sets, parts):
    """The pattern of the parts of blocks, from that of the blocks and from the sets of the rows, by sweep."""
    m = starts.size - 1
    new_starts = np.zeros(m + 1, starts.dtype)
    found = np.empty(0, blocks.dtype)
    for fill in (False, True):  # count first
        if fill:
            found = np.empty(new_starts[m], blocks.dtype)
        k = 0
        for i in range(m):
            for e in range(starts[i], starts[i + 1]):
                code = colours[blocks[e]] * parts
                for s in range(parts):
                    if sets[(code + s) // 64, i] >> np.uint64((code + s) % 64) & np.uint64(1):
                        if fill:
                            found[k] = blocks[e] * parts + s
                        k += 1
            new_starts[i + 1] = k
    return new_starts, found
