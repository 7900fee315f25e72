"""Jacobians, and products with them, several columns to a sweep; sweeps in parallel threads.

The columns of all float arguments are numbered through. A sweep from column `first` on computes as many as a chunk has;
what lies outside (other arguments, or beyond the last column) is left out when seeds and blocks are filled.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_features
from numba.core import types
from numba.np.numpy_support import from_dtype

from jitgrad.api import kernels
from jitgrad.api.driver import Driver, plain_tree, scalar_class
from jitgrad.api.requests import Directions, Jacobian, Sweeps
from jitgrad.api.shape import Node, rebuild
from jitgrad.backend.dispatcher import derivative
from jitgrad.backend.engine import Forward, Reverse
from jitgrad.backend.text import Text
from jitgrad.errors import UnsupportedError
from jitgrad.runtime import vectors
from jitgrad.transforms.forward.directions import direction
from jitgrad.transforms.request import Generated, JvpRequest, VjpRequest

# Directions to a sweep: two of the widest registers. One is cheaper a sweep, two a direction; more gain little.
WIDTH = 16 if get_host_cpu_features().get("avx512f") else 8


class Chunked(Driver):
    """What the drivers of this module share."""

    def width(self) -> int:
        """How many directions a sweep takes: what was asked for, or what suits the function."""
        leaves = [*self.in_leaves, *self.out_leaves]
        if any(leaf.is_list or leaf.pairs for leaf in leaves):
            return 1
        asked = self.transform.chunk
        if asked is not None:
            return asked
        from jitgrad.transforms import forward

        scalars = not any(leaf.is_array for leaf in self.in_leaves)
        width = min(WIDTH, len(self.in_leaves)) if scalars and not isinstance(self.transform, Directions) else WIDTH
        request = JvpRequest(self.transform.wrt, self.transform.outs, width=width)
        return width if forward.suitable(self.program, request) else 1

    # ----- numbers of columns ----------------------------------------------------------------------
    def count(self, leaves: list[Node]) -> str:
        return " + ".join(self.size(leaf) for leaf in leaves) or "0"

    def offset(self, first: str, leaves: list[Node], k: int) -> str:
        """Where the column `first` of all lies among those of leaf `k`."""
        before = [self.size(leaf) for leaf in leaves[:k]]
        return " - ".join([first, *before])

    def first_column(self, first: str) -> None:
        """The first column; not as a literal, for which Numba would compile the kernels once more."""
        self.text.line(f"{first} = {self.use(np, 'np')}.int64(0)")

    # ----- seeds -----------------------------------------------------------------------------------
    def seeds(self, leaves: list[Node], width: int) -> tuple[dict[int, str], list[str]]:
        """Arrays for the seeds of a sweep, by leaf, and the matrices by which they are filled."""
        seeds, flat = {}, []
        for k, leaf in enumerate(leaves):
            seed, matrix = self.writer.fresh(f"seed_{k}"), self.writer.fresh(f"seed2_{k}")
            shape = f"{leaf.text}.shape + ({width},)" if leaf.is_array else str(width)
            dtype = self.use(scalar_class(leaf), str(leaf.scalar))
            self.text.line(f"{seed} = {self.use(np, 'np')}.zeros({shape}, {dtype})")
            self.text.line(f"{matrix} = {seed}.reshape({self.size(leaf)}, {width})")
            seeds[id(leaf)] = seed
            flat.append(matrix)
        return seeds, flat

    def push(self, text: Text, seeds: dict[int, str], width: int, value: str, dot: str) -> None:
        """One sweep: ``value, dot = jvp8((seeds,), *args)``."""
        request = JvpRequest(self.transform.wrt, self.transform.outs, width=width)
        jvp = self.use(derivative(self.primal, Forward(request)), f"jvp{width}")
        tangents = ", ".join(self.structure(node, seeds) for node in self.inputs)
        text.line(f"{value}, {dot} = {jvp}(({tangents},), {self.fresh_arguments()})")

    def take_result(self, text: Text, value: str) -> None:
        """Let the names of the result stand for what a sweep returned."""
        if self.result_text is not None and not self.mutates:
            text.line(f"{self.result_text} = {value}")

    def units(self, text: Text, flat: list[str], first: str, value: str) -> None:
        """Write `value` where the seeds of the sweep from `first` on have their ones."""
        unit = self.use(kernels.put_units, "put_units")
        for k, matrix in enumerate(flat):
            text.line(f"{unit}({matrix}, {self.offset(first, self.in_leaves, k)}, {value})")

    def put(self, text: Text, matrix: str, first: str, j: int, dot: str, width: int) -> None:
        """Write the tangent of leaf `j` of the result into the columns of `matrix` from `first` on."""
        put = self.use(kernels.put_columns, "put_columns")
        zero = self.use(vectors.zero(from_dtype(self.out_leaves[j].real_dtype), width), "zero")
        text.line(f"{put}({matrix}, {first}, {dot}, {zero})")


class ByChunks(Chunked):
    """The Jacobian by columns, a chunk of them to a sweep."""

    def generated(self) -> Generated:
        width = self.width()
        self.keep_arguments()
        self.run_primal(needed=False)
        seeds, flat = self.seeds(self.in_leaves, width)
        first, value, dot = (self.writer.fresh(n) for n in ("first", "value", "dot"))
        self.first_column(first)
        self._sweep(self.text, first, seeds, flat, width, value, dot)
        self.take_result(self.text, value)
        self.new = "empty"
        self.allocate_matrices()
        self._store(self.text, first, dot, width)
        loop = self.text.suite(f"for {first} in range({width}, {self.count(self.in_leaves)}, {width}):")
        self.units(loop, flat, f"{first} - {width}", "0.0")
        self._sweep(loop, first, seeds, flat, width, value, dot)
        self._store(loop, first, dot, width)
        self.numbers_out()
        return self.finish()

    def _sweep(self, text: Text, first: str, seeds: Any, flat: list[str], width: int, value: str, dot: str) -> None:
        self.units(text, flat, first, "1.0")
        self.push(text, seeds, width, value, dot)

    def _store(self, text: Text, first: str, dot: str, width: int) -> None:
        for j, tangent in enumerate(self.tangents_of(dot)):
            for i in range(len(self.in_leaves)):
                self.put(text, self.flat[j, i], self.offset(first, self.in_leaves, i), j, tangent, width)


class Parallel(Chunked):
    """The Jacobian by sweeps in parallel threads.

    An error inside a parallel loop would be lost. So sweeps return whether they failed, and then the Jacobian is
    computed once more without threads, which raises the error where it arises.
    """

    def generated(self) -> Generated:
        t = self.transform
        forward = t.mode == "forward"
        width = self.width() if forward else 1
        serial = Jacobian(t.wrt, t.outs, t.mode, t.single, t.chunk)
        call = f"{self.use(derivative(self.primal, serial), 'jacobian_serial')}({self.header()})"
        if any(leaf.is_list or leaf.pairs for leaf in (*self.in_leaves, *self.out_leaves)):
            self.text.line(f"return {call}")
            return self._generated()
        self.keep_arguments()
        arrays = any(leaf.is_array for leaf in self.out_leaves)
        self.run_primal(needed=self.result_text is not None and arrays)
        self.allocate_matrices()
        sweeps = derivative(self.primal, Sweeps(t.wrt, t.outs, t.mode, width))
        k, failed, count = (self.writer.fresh(n) for n in ("k", "failed", "count"))
        np_, prange = self.use(np, "np"), self.use(numba.prange, "prange")
        blocks = "".join(
            f"{self.flat[j, i]}, " for j in range(len(self.out_leaves)) for i in range(len(self.in_leaves))
        )
        total = self.count(self.in_leaves if forward else self.out_leaves)
        self.text.line(f"{count} = ({total} + {width - 1}) // {width}")
        self.text.line(f"{failed} = {np_}.zeros({count}, {np_}.bool_)")
        loop = self.text.suite(f"for {k} in {prange}({count}):")
        shapes = "".join(f"{leaf.text}, " for leaf in self.out_leaves) if not forward else "0, "
        place = f"({k} * {width}, ({blocks.rstrip()}), ({shapes.rstrip()}))"
        loop.line(f"{failed}[{k}] = {self.use(sweeps, 'sweeps')}({place}, {self.fresh_arguments()})")
        again = self.text.suite(f"if {failed}.any():")
        again.line(f"return {call if not self.kept else self._serial_on_kept(serial)}")
        self.numbers_out()
        return self.finish()

    def _serial_on_kept(self, serial: Jacobian) -> str:
        return f"{self.use(derivative(self.primal, serial), 'jacobian_serial')}({self.fresh_arguments()})"


class OneSweep(ByChunks):
    """The function that the threads of `Parallel` run: it fills the columns, or the rows, from one on."""

    def generated(self) -> Generated:
        place, value, dot = (self.writer.fresh(n) for n in ("place", "value", "dot"))
        self.leading = place
        body = self.text
        self.text = Text()  # what is inside `try`
        self.kept = {}
        pairs = [(j, i) for j in range(len(self.out_leaves)) for i in range(len(self.in_leaves))]
        self.flat = {pair: f"{place}[1][{k}]" for k, pair in enumerate(pairs)}
        if self.transform.mode == "forward":
            width = self.transform.chunk
            seeds, flat = self.seeds(self.in_leaves, width)
            if width == 1:  # whose tangents have no axis of directions
                seeds = {
                    id(leaf): f"{seeds[id(leaf)]}.reshape({leaf.text}.shape)" if leaf.is_array else f"{matrix}[0, 0]"
                    for leaf, matrix in zip(self.in_leaves, flat, strict=True)
                }
            self._sweep(self.text, f"{place}[0]", seeds, flat, width, value, dot)
            if width == 1:
                self._column(f"{place}[0]", dot)
            else:
                self._store(self.text, f"{place}[0]", dot, width)
        else:
            self._row(place, value, dot)
        body.suite("try:").items += self.text.items
        body.suite("except Exception:").line("return True")
        body.line("return False")
        self.text = body
        return self._generated()

    def _column(self, first: str, dot: str) -> None:
        for j, (out, tangent) in enumerate(zip(self.out_leaves, self.tangents_of(dot), strict=True)):
            for i in range(len(self.in_leaves)):
                at = self.offset(first, self.in_leaves, i)
                put, place = (kernels.put_column, at) if out.is_array else (kernels.put_number, f"0, {at}")
                self.text.line(f"{self.use(put, put.__name__)}({self.flat[j, i]}, {place}, {tangent})")

    def _row(self, place: str, value: str, bar: str) -> None:
        request = VjpRequest(self.transform.wrt, self.transform.outs, seed="argument")
        pull = self.use(derivative(self.primal, Reverse(request)), "vjp")
        seeds = {}
        for j, out in enumerate(self.out_leaves):
            seeds[id(out)] = seed = self.writer.fresh(f"seed_{j}")
            dtype, at = self.use(scalar_class(out), str(out.scalar)), self.offset(f"{place}[0]", self.out_leaves, j)
            if out.is_array:
                self.text.line(f"{seed} = {self.use(np, 'np')}.zeros({place}[2][{j}].shape, {dtype})")
                self.text.line(f"{self.use(kernels.put_unit, 'put_unit')}({seed}, {at})")
            else:
                self.text.line(f"{seed} = {dtype}(1.0 if {at} == 0 else 0.0)")
        cotangent = self.structure(self.result, seeds)
        self.text.line(f"{value}, {bar} = {pull}({cotangent}, {self.fresh_arguments()})")
        found = plain_tree(types.Tuple([node.type for node in self.inputs]), bar).leaves()
        bars = [leaf.text for leaf in found if leaf.differentiable]
        for j in range(len(self.out_leaves)):
            at = self.offset(f"{place}[0]", self.out_leaves, j)
            for i, (arg, text) in enumerate(zip(self.in_leaves, bars, strict=True)):
                put, where = (kernels.put_row, at) if arg.is_array else (kernels.put_number, f"{at}, 0")
                self.text.line(f"{self.use(put, put.__name__)}({self.flat[j, i]}, {where}, {text})")

    def size(self, leaf: Node) -> str:
        """Sizes of result arrays, which the sweep does not have before it has run, from those it is given."""
        for j, out in enumerate(self.out_leaves if self.transform.mode == "reverse" else []):
            if leaf is out and out.is_array:
                return f"{self.leading}[2][{j}].size"
        return super().size(leaf)


class Directed(Chunked):
    """The tangents of the result in any number of directions."""

    def generated(self) -> Generated:
        width = self.width()
        tangents = self.writer.fresh("tangents")
        self.leading = tangents
        given = []
        for i, node in enumerate(self.inputs):
            whole = plain_tree(node.type, f"{tangents}[{i}]")
            given += [leaf.text for leaf in whole.leaves() if leaf.differentiable]
        if any(leaf.is_list for leaf in self.in_leaves):
            raise UnsupportedError(
                f"a list of {self.primal.__name__} is differentiated, whose tangents have no axis of directions; "
                "use one direction at a time"
            )
        p, first, value, dot = (self.writer.fresh(n) for n in ("p", "first", "value", "dot"))
        self.keep_arguments()
        self.run_primal(needed=width == 1 and self.result_text is not None)
        check = self.use(kernels.directions, "directions")
        shapes = [f"{leaf.text}.shape" if leaf.is_array else "()" for leaf in self.in_leaves]
        self.text.line(f"{p} = {given[0]}.shape[-1]")
        for text, shape in zip(given, shapes, strict=True):
            self.text.line(f"{check}({text}.shape, {shape} + ({p},))")
        if width == 1:
            return self._one_by_one(given, p)
        seeds, flat = self.seeds(self.in_leaves, width)
        matrices = []
        for k, (leaf, text) in enumerate(zip(self.in_leaves, given, strict=True)):
            matrix = self.writer.fresh(f"directions_{k}")
            self.text.line(f"{matrix} = {self.use(kernels.as_rows, 'as_rows')}({text}, {self.size(leaf)}, {p})")
            matrices.append(matrix)
        self.first_column(first)
        self._sweep(self.text, first, seeds, flat, matrices, width, value, dot)
        self.take_result(self.text, value)
        outs = []
        for j, out in enumerate(self.out_leaves):
            made, matrix = self.writer.fresh(f"out_{j}_dot"), self.writer.fresh(f"out2_{j}_dot")
            shape = f"{out.text}.shape + ({p},)" if out.is_array else p
            dtype = self.use(out.real_dtype.type, str(out.real_dtype))
            self.text.line(f"{made} = {self.use(np, 'np')}.empty({shape}, {dtype})")
            self.text.line(f"{matrix} = {made}.reshape({self.size(out)}, {p})")
            outs.append((made, matrix))
        self._store(self.text, first, outs, dot, width)
        loop = self.text.suite(f"for {first} in range({width}, {p}, {width}):")
        self._sweep(loop, first, seeds, flat, matrices, width, value, dot)
        self._store(loop, first, outs, dot, width)
        return self._returned([made for made, _ in outs])

    def _sweep(self, text, first, seeds, flat, matrices, width, value, dot) -> None:
        take = self.use(kernels.take_columns, "take_columns")
        for seed, matrix in zip(flat, matrices, strict=True):
            text.line(f"{take}({seed}, {first}, {matrix})")
        self.push(text, seeds, width, value, dot)

    def _store(self, text: Text, first: str, outs: list[tuple[str, str]], dot: str, width: int) -> None:
        for j, ((_, matrix), tangent) in enumerate(zip(outs, self.tangents_of(dot), strict=True)):
            self.put(text, matrix, first, j, tangent, width)

    def _one_by_one(self, given: list[str], p: str) -> Generated:
        """One direction to a sweep: for complex numbers, and for what the front end reads."""
        k, value, dot = (self.writer.fresh(n) for n in ("k", "value", "dot"))
        jvp = self.use(derivative(self.primal, Forward(JvpRequest(self.transform.wrt, self.transform.outs))), "jvp")

        outs = []
        for j, out in enumerate(self.out_leaves):
            made = self.writer.fresh(f"out_{j}_dot")
            shape = f"{out.text}.shape + ({p},)" if out.is_array else p
            dtype = self.use(scalar_class(out), str(out.scalar))
            self.text.line(f"{made} = {self.use(np, 'np')}.empty({shape}, {dtype})")
            outs.append(made)
        loop = self.text.suite(f"for {k} in range({p}):")
        seeds = {
            id(leaf): direction(self.writer, tangent, k, leaf.type)
            for leaf, tangent in zip(self.in_leaves, given, strict=True)
        }
        tangents = ", ".join(self.structure(node, seeds) for node in self.inputs)
        loop.line(f"{value}, {dot} = {jvp}(({tangents},), {self.fresh_arguments()})")
        for out, made, tangent in zip(self.out_leaves, outs, self.tangents_of(dot), strict=True):
            at, number = ("..., ", "") if out.is_array and out.type.ndim else ("", "[()]" * out.is_array)
            loop.line(f"{made}[{at}{k}] = {tangent}{number}")
        return self._returned(outs)

    def _returned(self, outs: list[str]) -> Generated:
        by_leaf = {id(leaf): text for leaf, text in zip(self.out_leaves, outs, strict=True)}
        value = self.result_text if not self.transform.outs else rebuild(self.result, lambda leaf: leaf.text, self.use)
        dots = rebuild(self.result, lambda leaf: by_leaf.get(id(leaf), "0"), self.use)
        self.text.line(f"return {value}, {dots}")
        return self._generated()
