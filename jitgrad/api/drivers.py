"""Jacobians as generated nopython code: one sweep of `jvp` per column, or of `vjp` per row.

The blocks are named ``J_<result leaf>_<argument leaf>``; each is filled through its two-dimensional view
``J2_...``. Complex numbers count as two real ones, so a complex leaf has a last axis of length two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types

from jitgrad.api import chunks, kernels
from jitgrad.api.driver import Driver, plain_tree
from jitgrad.api.requests import AutoJacobian, Directions, Jacobian, Sweeps
from jitgrad.api.shape import Node
from jitgrad.backend.dispatcher import derivative
from jitgrad.backend.engine import Forward, Reverse
from jitgrad.backend.text import Text
from jitgrad.transforms.request import Generated, JvpRequest, VjpRequest


def generate(transform: Any, primal: Any, argtypes: tuple[types.Type, ...], given: str | None = None) -> Generated:
    """The source of a Jacobian, or of a product with it, for these argument types.

    With `given`, the name of a first parameter, it fills blocks that the caller passes.
    """
    driver: type[Driver]
    match transform:
        case AutoJacobian():
            driver = _Auto
        case Directions():
            driver = chunks.Directed
        case Sweeps():
            driver = chunks.OneSweep
        case Jacobian(parallel=True) if _serial_sweeps(transform, primal, argtypes):
            driver = chunks.Parallel
        case Jacobian(mode="forward"):
            driver = chunks.ByChunks if chunks.ByChunks(transform, primal, argtypes).width() > 1 else _ByColumns
        case _:
            driver = _ByRows
    made = driver(transform, primal, argtypes)
    if given is not None:
        made.given = made.leading = made.writer.fresh(given)
    return made.generated()


def _serial_sweeps(transform: Jacobian, primal: Any, argtypes: tuple[types.Type, ...]) -> bool:
    """Whether no sweep starts threads of its own: Numba's `workqueue` layer ends the process then."""
    if not primal.targetoptions.get("parallel"):
        return True
    return transform.mode == "forward" and chunks.ByChunks(transform, primal, argtypes).width() > 1


class _ByColumns(Driver):
    """One `jvp` per element of the arguments."""

    def generated(self) -> Generated:
        request = JvpRequest(self.transform.wrt, self.transform.outs)
        push = self.use(derivative(self.primal, Forward(request)), "jvp")
        self.keep_arguments()
        self.run_primal(needed=self.result_text is not None and any(leaf.is_array for leaf in self.out_leaves))
        self.allocate()
        for i, arg in enumerate(self.in_leaves):
            if arg.is_list:
                self._list_columns(i, arg, push)
            else:
                self._columns(i, arg, push)
        return self.finish()

    def _list_columns(self, i: int, arg: Node, push: str) -> None:
        n, k, dot, ignored, seed = (self.writer.fresh(x) for x in ("n", "k", "dot", "_", "seed"))
        item = self.item_of(arg, f"{arg.text}[{n}]")
        text = self.text.suite(f"for {n} in range(len({arg.text})):")
        if item.is_array:
            text = text.suite(f"for {k} in range({item.text}.size):")
        text.line(f"{seed} = {self.zero(arg)}")
        if item.is_array:
            text.line(f"{self.use(kernels.set_flat, 'set_flat')}({seed}[{n}], {k}, 1.0)")
        else:
            text.line(f"{seed}[{n}] = 1.0")
        tangents = ", ".join(self.structure(node, {id(arg): seed}) for node in self.inputs)
        text.line(f"{ignored}, {dot} = {push}(({tangents},), {self.fresh_arguments()})")
        for j, (out, value) in enumerate(zip(self.out_leaves, self.tangents_of(dot), strict=True)):
            self._storeitem_of(text, i, j, n, out, item, (k if item.is_array else "0"), value)

    def _storeitem_of(self, text: Text, i: int, j: int, n: str, out: Node, item: Node, column: str, value: str) -> None:
        block = f"{self.blocks[j, i]}[{n}]"
        if not self.is_block(out, item):
            text.line(f"{block} = {value}")
            return
        flat = f"{block}.reshape({self.size(out)}, {self.size(item)})"
        if out.is_array:
            text.line(f"{self.use(kernels.set_column, 'set_column')}({flat}, {column}, {value})")
        else:
            text.line(f"{flat}[0, {column}] = {value}")

    def _columns(self, i: int, arg: Node, push: str) -> None:
        k, dot, ignored = (self.writer.fresh(n) for n in ("k", "dot", "_"))
        text = self.text.suite(f"for {k} in range({self.size(arg)}):") if arg.is_array else self.text
        for part, unit in enumerate(("1.0", "1.0j") if arg.pairs else ("1.0",)):
            seed = self.seed(text, arg, unit, k)
            tangents = ", ".join(self.structure(node, {id(arg): seed}) for node in self.inputs)
            text.line(f"{ignored}, {dot} = {push}(({tangents},), {self.fresh_arguments()})")
            column = (f"2 * {k} + {part}" if arg.pairs else k) if arg.is_array else str(part)
            for j, (out, value) in enumerate(zip(self.out_leaves, self.tangents_of(dot), strict=True)):
                self._store(text, i, j, out, arg, column, value)

    def _store(self, text: Text, i: int, j: int, out: Node, arg: Node, column: str, value: str) -> None:
        if not self.is_block(out, arg):
            text.line(f"{self.blocks[j, i]} = {value}")
        elif out.is_array:
            kernel = kernels.set_column_pairs if out.pairs else kernels.set_column
            text.line(f"{self.use(kernel, kernel.__name__)}({self.flat[j, i]}, {column}, {value})")
        elif out.pairs:
            text.line(f"{self.flat[j, i]}[0, {column}] = {value}.real")
            text.line(f"{self.flat[j, i]}[1, {column}] = {value}.imag")
        else:
            text.line(f"{self.flat[j, i]}[0, {column}] = {value}")


class _ByRows(Driver):
    """One `vjp` per element of the result."""

    def generated(self) -> Generated:
        request = VjpRequest(self.transform.wrt, self.transform.outs, seed="argument")
        pull = self.use(derivative(self.primal, Reverse(request)), "vjp")
        self.keep_arguments()
        arrays = any(leaf.is_array for leaf in self.result.leaves())
        self.run_primal(needed=self.result_text is not None and arrays)
        self.allocate()
        for j, out in enumerate(self.out_leaves):
            self._rows(j, out, pull)
        return self.finish()

    def _rows(self, j: int, out: Node, pull: str) -> None:
        k, bar, ignored = (self.writer.fresh(n) for n in ("k", "bar", "_"))
        text = self.text.suite(f"for {k} in range({self.size(out)}):") if out.is_array else self.text
        for part, unit in enumerate(("1.0", "1.0j") if out.pairs else ("1.0",)):
            seed = self.seed(text, out, unit, k)
            cotangent = self.structure(self.result, {id(out): seed})
            text.line(f"{ignored}, {bar} = {pull}({cotangent}, {self.fresh_arguments()})")
            row = (f"2 * {k} + {part}" if out.pairs else k) if out.is_array else str(part)
            for i, (arg, value) in enumerate(zip(self.in_leaves, self._cotangents_of(bar), strict=True)):
                self._store(text, i, j, out, arg, row, value)

    def _cotangents_of(self, bar: str) -> list[str]:
        found = []
        for n, node in enumerate(self.inputs):
            found += [leaf.text for leaf in plain_tree(node.type, f"{bar}[{n}]").leaves() if leaf.differentiable]
        return found

    def _store(self, text: Text, i: int, j: int, out: Node, arg: Node, row: str, value: str) -> None:
        if arg.is_list:
            self._store_items(text, i, j, out, arg, row, value)
        elif not self.is_block(out, arg):
            text.line(f"{self.blocks[j, i]} = {value}")
        elif arg.is_array:
            kernel = kernels.set_row_pairs if arg.pairs else kernels.set_row
            text.line(f"{self.use(kernel, kernel.__name__)}({self.flat[j, i]}, {row}, {value})")
        elif arg.pairs:
            text.line(f"{self.flat[j, i]}[{row}, 0] = {value}.real")
            text.line(f"{self.flat[j, i]}[{row}, 1] = {value}.imag")
        else:
            text.line(f"{self.flat[j, i]}[{row}, 0] = {value}")

    def _store_items(self, text: Text, i: int, j: int, out: Node, arg: Node, row: str, value: str) -> None:
        n = self.writer.fresh("n")
        item = self.item_of(arg, f"{arg.text}[{n}]")
        loop = text.suite(f"for {n} in range(len({arg.text})):")
        block = f"{self.blocks[j, i]}[{n}]"
        if not self.is_block(out, item):
            loop.line(f"{block} = {value}[{n}]")
            return
        flat = f"{block}.reshape({self.size(out)}, {self.size(item)})"
        if item.is_array:
            loop.line(f"{self.use(kernels.set_row, 'set_row')}({flat}, {row}, {value}[{n}])")
        else:
            loop.line(f"{flat}[{row}, 0] = {value}[{n}]")


class _Auto(Driver):
    """Compares the sizes at the call and calls one of the two."""

    def generated(self) -> Generated:
        arrays_in = any(leaf.is_array or leaf.is_list for leaf in self.in_leaves)
        arrays_out = any(leaf.is_array for leaf in self.out_leaves)
        by_columns, by_rows = (self._call(mode) for mode in ("forward", "reverse"))
        if not arrays_in and (arrays_out or len(self.in_leaves) <= len(self.out_leaves)):
            self.text.line(f"return {by_columns()}")
            return self._generated()
        if not arrays_out:
            self.text.line(f"return {by_rows()}")
            return self._generated()
        if self.result_text is not None:
            arguments = self.header()
            if self.mutates:
                self.keep_arguments()
                arguments = self.fresh_arguments()
            self.text.line(f"{self.result_text} = {self.call_primal(arguments)}")
        columns = " + ".join(self.size(leaf) for leaf in self.in_leaves)
        rows = " + ".join(self.size(leaf) for leaf in self.out_leaves)
        then = self.text.suite(f"if {columns} <= {rows}:")
        then.line(f"return {by_columns()}")
        self.text.line(f"return {by_rows()}")
        return self._generated()

    def _call(self, mode: str) -> Callable[[], str]:
        t = self.transform
        if t.tell:
            return lambda: repr(mode)
        inner = Jacobian(t.wrt, t.outs, mode, t.single, t.chunk, t.parallel)
        made = derivative(self.primal, inner if self.given is None else inner.into())
        arguments = ", ".join(part for part in (self.given, self.header()) if part)
        return lambda: f"{self.use(made, f'jacobian_{mode}')}({arguments})"
