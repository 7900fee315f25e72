"""The sweeps of a compressed Jacobian as one generated nopython function: seed, run, scatter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numba.core import types

from jitgrad.api import kernels
from jitgrad.api.chunks import Chunked
from jitgrad.api.driver import plain_tree
from jitgrad.api.shape import Node
from jitgrad.backend.dispatcher import Transform, derivative
from jitgrad.backend.engine import Reverse
from jitgrad.backend.text import Text
from jitgrad.errors import UnsupportedError
from jitgrad.transforms.request import Generated, JvpRequest, VjpRequest

OPTIONS = {"error_model": "numpy", "nogil": True}


@dataclass(frozen=True)
class Compressed(Transform):
    """``sparse_jacobian_f(sweeps, shape, stored, probe, *args) -> (data, product, shape)``.

    `sweeps` are those of one mode in a `Plan`, `chunk` of them to a run of the function. `data` has `stored` entries:
    those that the sweeps read, zero at the others. `product` is that of the matrix, or of its transpose in reverse
    mode, with `probe`, from a sweep of its own, unless the probe is empty. The `shape` that comes back is that of the
    matrix; where it is not the one that was passed the data are void, and rows that have not been counted are -1.
    """

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None
    mode: str
    chunk: int

    prefix: ClassVar[str] = "sparse_jacobian"
    leading: ClassVar[tuple[str, ...]] = ("sweeps", "shape", "stored", "probe")

    def floats(self):
        return self.wrt

    def generate(self, primal, argtypes):
        return (_Forward if self.mode == "forward" else _Reverse)(self, primal, argtypes).generated()


class Flattened(Chunked):
    """A driver to whom all elements of the arguments are one vector, and all elements of the results another one.

    The parameters in the transform's `leading` come first in the generated function; `lead` has their names.
    """

    def __init__(self, transform: Any, primal: Any, argtypes: tuple):
        super().__init__(transform, primal, argtypes)
        for leaf in (*self.in_leaves, *self.out_leaves):
            if leaf.is_list or leaf.pairs:
                raise UnsupportedError(
                    f"a sparse Jacobian is one of real numbers and arrays, but {primal.__name__} has a {leaf.type} "
                    "among its arguments or results; leave out sparsity, or pass real arrays"
                )
        self.lead = [self.writer.fresh(name) for name in transform.leading]
        self.leading = ", ".join(self.lead)

    def numpy(self) -> str:
        return self.use(np, "np")

    def parts(self, vector: str, leaves: list[Node], convert: bool = True, width: int = 1) -> dict[int, str]:
        """For every leaf the expression of its own part of a vector, or of a matrix with this many columns.

        With `convert`, numbers and arrays get the precision of the leaf.
        """
        found, at = {}, "0"
        for leaf in leaves:
            scalar = self.use(leaf.real_dtype.type, str(leaf.real_dtype)) if convert else ""
            cast = f".astype({scalar})" if convert and leaf.real_dtype != np.float64 else ""
            if leaf.is_array:
                end = self.writer.fresh("end")
                self.text.line(f"{end} = {at} + {leaf.text}.size")
                shape = f"{leaf.text}.shape" + f" + ({width},)" * (width > 1)
                found[id(leaf)] = f"{vector}[{at}:{end}]{cast}.reshape({shape})"
                at = end
            else:
                found[id(leaf)] = f"{vector}[{at}]{cast}" if width > 1 else f"{scalar}({vector}[{at}])"
                at += " + 1"
        return found

    def differentiable(self, ty: types.Type, found: str) -> list[Node]:
        """The float leaves of a tangent or cotangent of something of type `ty` that the variable `found` holds."""
        return [leaf for leaf in plain_tree(ty, found).leaves() if leaf.differentiable]


class _Sweeps(Flattened):
    """What both modes share: `seed` is what sweeps are seeded with, `products` has a column for each in a run."""

    def __init__(self, transform: Compressed, primal: Any, argtypes: tuple):
        super().__init__(transform, primal, argtypes)
        self.sweeps, self.wanted, self.stored, self.probe = self.lead
        self.data, self.product, self.seeding, self.products = map(
            self.writer.fresh, ("data", "product", "seed", "products")
        )
        self.rows, self.columns, self.first, self.lane, self.found, self.ignored = map(
            self.writer.fresh, ("rows", "columns", "first", "lane", "found", "_")
        )

    def begin(self, needs_result: bool) -> None:
        """Run the function where its result is needed; allocate; count the columns."""
        self.keep_arguments()
        self.run_primal(needs_result)
        read = 0 if self.transform.mode == "forward" else 1
        numpy, dtype = self.numpy(), np.result_type(*(leaf.real_dtype for leaf in self.out_leaves))
        self.text.line(f"{self.data} = {numpy}.zeros({self.stored}, {numpy}.{dtype})")
        self.text.line(f"{self.product} = {numpy}.zeros({self.wanted}[{read}], {numpy}.{dtype})")
        self.matrix = f"{numpy}.empty(({self.wanted}[{read}], {self.transform.chunk}), {numpy}.{dtype})"
        self.text.line(f"{self.columns} = {self.count(self.in_leaves)}")
        self.give_up(self.text, f"{self.columns} != {self.wanted}[1]", "-1")

    def give_up(self, text: Text, condition: str, rows: str) -> None:
        text.suite(f"if {condition}:").line(f"return {self.data}, {self.product}, ({rows}, {self.columns})")

    def loop(self) -> Text:
        """Begin the loop over runs of the function."""
        count = f"{self.use(sweep_count, 'sweep_count')}({self.sweeps}, {self.probe})"
        return self.text.suite(f"for {self.first} in range(0, {count}, {self.transform.chunk}):")

    def lanes(self, text: Text) -> Text:
        """Begin the loop over the sweeps of a run, one after the other, with the seed of each."""
        count = (
            f"{self.use(lane_count, 'lane_count')}({self.sweeps}, {self.probe}, {self.first}, {self.transform.chunk})"
        )
        text = text.suite(f"for {self.lane} in range({count}):")
        place = f"{self.sweeps}, {self.first} + {self.lane}, {self.probe}"
        text.line(f"{self.use(set_seed, 'set_seed')}({self.seeding}, {place})")
        return text

    def gather(self, text: Text, leaves: list[Node]) -> None:
        """Copy what a single sweep returned into its column of the products."""
        k = self.writer.fresh("k")
        text.line(f"{k} = 0")
        for leaf in leaves:
            kernel = put_array if leaf.is_array else put_number
            text.line(f"{k} = {self.use(kernel, kernel.__name__)}({self.products}, {k}, {self.lane}, {leaf.text})")

    def end(self, text: Text) -> Generated:
        """End the loop over runs by reading their products."""
        place = f"{self.sweeps}, {self.first}, {self.probe}"
        text.line(f"{self.use(scatter, 'scatter')}({self.data}, {self.product}, {self.products}, {place})")
        self.text.line(f"return {self.data}, {self.product}, {self.wanted}")
        return self._generated()


class _Forward(_Sweeps):
    """Groups of columns: several to a run, with vectors for tangents, where the program allows it."""

    def generated(self) -> Generated:
        from jitgrad.transforms import forward

        t = self.transform
        width = t.chunk if forward.suitable(self.program, JvpRequest(t.wrt, t.outs, width=t.chunk)) else 1
        self.begin(needs_result=False)
        numpy = self.numpy()
        shape = f"({self.columns}, {width})" if width > 1 else self.columns
        self.text.line(f"{self.seeding} = {numpy}.zeros({shape})")
        parts = self.parts(self.seeding, self.in_leaves, width=width)
        dots = self.differentiable(self.result.type, self.found)
        together = width > 1 and len(dots) == 1
        if not together:
            self.text.line(f"{self.products} = {self.matrix}")
        runs = self.loop()
        text = runs if width > 1 else self.lanes(runs)
        if width > 1:
            text.line(f"{self.use(set_seeds, 'set_seeds')}({self.seeding}, {self.sweeps}, {self.first}, {self.probe})")
        self.push(text, parts, width, self.ignored, self.found)
        per = f" // {width}" if width > 1 else ""
        text.line(f"{self.rows} = " + " + ".join(f"{dot.text}.size{per}" if dot.is_array else "1" for dot in dots))
        self.give_up(text, f"{self.rows} != {self.wanted}[0]", self.rows)
        if together:
            as_rows = self.use(kernels.as_rows, "as_rows")
            text.line(f"{self.products} = {as_rows}({dots[0].text}, {self.rows}, {width})")
        elif width == 1:
            self.gather(text, dots)
        else:
            self.gather_rows(text, dots)
        return self.end(runs)

    def gather_rows(self, text: Text, leaves: list[Node]) -> None:
        """Copy what several sweeps returned into the products."""
        k = self.writer.fresh("k")
        text.line(f"{k} = 0")
        for leaf in leaves:
            text.line(f"{k} = {self.use(put_rows, 'put_rows')}({self.products}, {k}, {leaf.text})")


class _Reverse(_Sweeps):
    """Groups of rows, one sweep for each."""

    def generated(self) -> Generated:
        request = VjpRequest(self.transform.wrt, self.transform.outs, seed="argument")
        pull = self.use(derivative(self.primal, Reverse(request)), "vjp")
        self.begin(needs_result=self.result_text is not None and any(leaf.is_array for leaf in self.result.leaves()))
        self.text.line(f"{self.rows} = {self.count(self.out_leaves)}")
        self.give_up(self.text, f"{self.rows} != {self.wanted}[0]", self.rows)
        self.text.line(f"{self.seeding} = {self.numpy()}.zeros({self.rows})")
        self.text.line(f"{self.products} = {self.matrix}")
        parts = self.parts(self.seeding, self.out_leaves)
        runs = self.loop()
        text = self.lanes(runs)
        cotangent = self.structure(self.result, parts)
        text.line(f"{self.ignored}, {self.found} = {pull}({cotangent}, {self.fresh_arguments()})")
        self.gather(text, self.differentiable(types.Tuple([node.type for node in self.inputs]), self.found))
        return self.end(runs)


# ----- what the generated function calls ------------------------------------------------------------
@njit(**OPTIONS)
def sweep_count(sweeps, probe):
    """The number of sweeps, the probe's last."""
    return sweeps[0].size - 1 + (1 if probe.size else 0)


@njit(**OPTIONS)
def lane_count(sweeps, probe, first, chunk):
    """How many sweeps the run that begins with sweep `first` has."""
    return min(chunk, sweep_count(sweeps, probe) - first)


@njit(**OPTIONS)
def set_seed(seed, sweeps, c, probe):
    """The sum of the unit vectors of sweep `c`, or the probe."""
    starts, members = sweeps[0], sweeps[1]
    if c == starts.size - 1:
        seed[:] = probe
    else:
        seed[:] = 0.0
        for k in range(starts[c], starts[c + 1]):
            seed[members[k]] = 1.0


@njit(**OPTIONS)
def set_seeds(seed, sweeps, first, probe):
    """The seeds of the sweeps from `first` on, one in each column."""
    starts, members = sweeps[0], sweeps[1]
    seed[:] = 0.0
    for lane in range(seed.shape[1]):
        c = first + lane
        if c < starts.size - 1:
            for k in range(starts[c], starts[c + 1]):
                seed[members[k], lane] = 1.0
        elif c == starts.size - 1:
            for k in range(probe.size):
                seed[k, lane] = probe[k]


@njit(**OPTIONS)
def put_array(matrix, k, lane, values):
    """Copy an array into a column of a matrix from row `k` on, in C order; the row behind."""
    for v in values.flat:
        matrix[k, lane] = v
        k += 1
    return k


@njit(**OPTIONS)
def put_number(matrix, k, lane, value):
    """As `put_array`, for one number."""
    matrix[k, lane] = value
    return k + 1


@njit(**OPTIONS)
def put_rows(matrix, k, values):
    """Copy an array with a last axis of directions into the rows of a matrix from `k` on; the row behind."""
    width = matrix.shape[1]
    rows = np.ascontiguousarray(values).reshape((values.size // width, width))
    for i in range(rows.shape[0]):
        for lane in range(width):
            matrix[k + i, lane] = rows[i, lane]
    return k + rows.shape[0]


@njit(**OPTIONS)
def scatter(data, product, products, sweeps, first, probe):
    """Put the entries that the sweeps from `first` on have apart in their slots; keep the product of the probe."""
    run = first // products.shape[1]
    starts, places, lanes, slots = sweeps[2], sweeps[3], sweeps[4], sweeps[5]
    if run < starts.size - 1:
        for e in range(starts[run], starts[run + 1]):
            data[slots[e]] = products[places[e], lanes[e]]
    lane = sweeps[0].size - 1 - first
    if probe.size and lane < products.shape[1]:
        for k in range(product.size):
            product[k] = products[k, lane]
