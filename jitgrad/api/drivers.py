"""Jacobians as generated nopython code: one sweep of `jvp` per column, or of `vjp` per row.

The blocks are named ``J_<result leaf>_<argument leaf>``; each is filled through its two-dimensional view
``J2_...``. Complex numbers count as two real ones, so a complex leaf has a last axis of length two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types, utils
from numba.np.numpy_support import from_dtype
from numba.typed import List

from jitgrad.api import kernels, mutation
from jitgrad.api.requests import AutoJacobian, Jacobian
from jitgrad.api.shape import Node, rebuild, tree
from jitgrad.backend import checks
from jitgrad.backend.dispatcher import derivative
from jitgrad.backend.engine import Forward, Reverse, read
from jitgrad.backend.structure import positions
from jitgrad.backend.text import Text
from jitgrad.backend.writer import Writer
from jitgrad.errors import UnsupportedError
from jitgrad.transforms.request import Generated, JvpRequest, VjpRequest


def generate(transform: Jacobian | AutoJacobian, primal: Any, argtypes: tuple[types.Type, ...]) -> Generated:
    """The source of a Jacobian for these argument types."""
    if isinstance(transform, AutoJacobian):
        return _Auto(transform, primal, argtypes).generated()
    return (_ByColumns if transform.mode == "forward" else _ByRows)(transform, primal, argtypes).generated()


class _Driver:
    """What the generators share: the structures, the names, copies of arguments that the primal writes into."""

    def __init__(self, transform: Any, primal: Any, argtypes: tuple[types.Type, ...]):
        self.transform, self.primal = transform, primal
        self.signature = utils.pysignature(primal.py_func)
        name = primal.__name__
        checks.check_arguments(name, self.signature, argtypes, transform.wrt)
        checks.check_outs(name, self.signature, argtypes, transform.outs)
        program = read(primal, argtypes)
        self.mutates = bool(transform.outs) or mutation.writes_arguments(program)

        self.writer = Writer({})
        self.params = [self.writer.fresh(p) for p in self.signature.parameters]
        self.arguments = self._arguments(argtypes)
        self.inputs = [self.arguments[k] for k in transform.wrt]
        self.result, self.result_text = self._result(program)
        self.text = Text()

    # ----- structures -----------------------------------------------------------------------------
    def _arguments(self, argtypes: tuple[types.Type, ...]) -> list[Node]:
        """One node per argument of the call, counted through ``*args``."""
        texts = []
        for param, own, ty in zip(self.signature.parameters.values(), self.params, argtypes, strict=True):
            star = param.kind == param.VAR_POSITIONAL
            texts += [f"{own}[{k}]" for k in range(len(ty))] if star else [own]
        call = positions(self.signature, argtypes)
        wrt = set(self.transform.wrt)
        nodes = []
        for k, (text, (name, ty)) in enumerate(zip(texts, call, strict=True)):
            what = f"argument {k} ({name}) of {self.primal.__name__}"
            nodes.append(tree(ty, text, what, lists=True) if k in wrt else Node(ty, text))
        return nodes

    def _result(self, program: Any) -> tuple[Node, str | None]:
        """The structure of the result, and the variable it is read from (None: from the arguments)."""
        ty, what = program.result.type, f"the result of {self.primal.__name__}"
        if not self.transform.outs:
            checks.check_float_result(self.primal.__name__, ty)
            out = self.writer.fresh("out")
            return tree(ty, out, what), out
        items = [self.arguments[k] for k in self.transform.outs]
        if isinstance(ty, types.NoneType):
            whole = types.Tuple([item.type for item in items])
            return Node(whole, "", [Node(item.type, item.text) for item in items]), None
        out = self.writer.fresh("out")
        whole = types.Tuple([ty, *(item.type for item in items)])
        return Node(whole, "", [tree(ty, out, what), *(Node(item.type, item.text) for item in items)]), out

    @property
    def out_leaves(self) -> list[Node]:
        return [leaf for leaf in self.result.leaves() if leaf.differentiable]

    @property
    def in_leaves(self) -> list[Node]:
        return [leaf for node in self.inputs for leaf in node.leaves() if leaf.differentiable]

    # ----- pieces of text ---------------------------------------------------------------------------
    def use(self, obj: Any, hint: str) -> str:
        return self.writer.use(obj, hint)

    def header(self) -> str:
        names = [
            ("*" if p.kind == p.VAR_POSITIONAL else "") + own
            for p, own in zip(self.signature.parameters.values(), self.params, strict=True)
        ]
        return ", ".join(names)

    def name(self) -> str:
        name = f"{self.transform.prefix}_{self.primal.__name__}"
        return name if name.isidentifier() else f"{self.transform.prefix}_f"

    def call_primal(self, arguments: str | None = None) -> str:
        return f"{self.use(self.primal, self.primal.__name__)}({arguments or self.header()})"

    def keep_arguments(self) -> None:
        """Keep the arguments as they were, where the primal writes into them."""
        self.kept = {}
        if not self.mutates:
            return
        for own, param, ty in zip(self.params, self.signature.parameters.values(), self._param_types(), strict=True):
            node = _plain_tree(ty, own)
            if any(_copied(leaf) for leaf in node.leaves()):
                kept = self.writer.fresh(f"{own}_before")
                self.text.line(f"{kept} = {self.copied(node)}")
                self.kept[own] = (kept, ty, param)

    def _param_types(self) -> list[types.Type]:
        found, at = [], 0
        for param in self.signature.parameters.values():
            if param.kind == param.VAR_POSITIONAL:
                found.append(types.StarArgTuple([node.type for node in self.arguments[at:]]))
                at = len(self.arguments)
            else:
                found.append(self.arguments[at].type)
                at += 1
        return found

    def copied(self, node: Node) -> str:
        return rebuild(node, self._copy, self.use)

    def _copy(self, leaf: Node) -> str:
        if leaf.is_list and isinstance(leaf.type.dtype, types.Array):
            return f"{self.use(kernels.copy_list, 'copy_list')}({leaf.text})"
        return f"{leaf.text}.copy()" if _copied(leaf) else leaf.text

    def fresh_arguments(self) -> str:
        """The arguments of one sweep: copies where the primal writes into them."""
        parts = []
        for own, param in zip(self.params, self.signature.parameters.values(), strict=True):
            star = "*" if param.kind == param.VAR_POSITIONAL else ""
            if own in self.kept:
                kept, ty, _ = self.kept[own]
                parts.append(star + self.copied(_plain_tree(ty, kept)))
            else:
                parts.append(star + own)
        return ", ".join(parts)

    def run_primal(self, needed: bool) -> None:
        """Run the function on the caller's own arguments, where it writes into them or a shape is needed."""
        if not (needed or self.mutates):
            return
        left = f"{self.result_text} = " if self.result_text else ""
        self.text.line(left + self.call_primal())

    def shape(self, leaf: Node) -> str:
        own = f"{leaf.text}.shape" if leaf.is_array else "()"
        return own + " + (2,)" * leaf.pairs if leaf.is_array else "(2,)" if leaf.pairs else "()"

    def size(self, leaf: Node) -> str:
        if leaf.is_list:
            return f"{self.use(kernels.list_size, 'list_size')}({leaf.text})"
        return f"{leaf.text}.size" if leaf.is_array else "1"

    def allocate(self) -> None:
        """Name the blocks and allocate those that are arrays."""
        self.blocks: dict[tuple[int, int], str] = {}
        np_ = self.use(np, "np")
        for j, out in enumerate(self.out_leaves):
            for i, arg in enumerate(self.in_leaves):
                block = self.writer.fresh(f"J_{j}_{i}")
                self.blocks[j, i] = block
                if arg.is_list:
                    self._allocate_list(out, arg, block)
                if arg.is_list or not self.is_block(out, arg):
                    continue
                dtype = self.use(out.real_dtype.type, str(out.real_dtype))
                shapes = [s for s in (self.shape(out), self.shape(arg)) if s != "()"]
                self.text.line(f"{block} = {np_}.zeros({' + '.join(shapes)}, {dtype})")
                rows = self.size(out) + " * 2" * out.pairs
                columns = self.size(arg) + " * 2" * arg.pairs
                flat = self.writer.fresh(f"J2_{j}_{i}")
                self.text.line(f"{flat} = {block}.reshape({rows}, {columns})")
                self.blocks[j, i] = block
                self.flat[j, i] = flat

    def _allocate_list(self, out: Node, arg: Node, block: str) -> None:
        """The blocks for a typed list: a list with one block for each of its items."""
        item = self._item(arg, self.writer.fresh("item"))
        if out.pairs or item.pairs:
            raise UnsupportedError("jacobian does not support typed lists with complex numbers; use jvp or vjp")
        dtype = self.use(out.real_dtype.type, str(out.real_dtype))
        scalar = from_dtype(out.real_dtype)
        number = not self.is_block(out, item)
        ty = scalar if number else types.Array(scalar, sum(n.type.ndim for n in (out, item) if n.is_array), "C")
        self.text.line(f"{block} = {self.use(List, 'List')}.empty_list({self.use(ty, 'block_type')})")
        loop = self.text.suite(f"for {item.text} in {arg.text}:")
        shapes = [s for s in (self.shape(out), self.shape(item)) if s != "()"]
        zero = f"{dtype}(0)" if number else f"{self.use(np, 'np')}.zeros({' + '.join(shapes)}, {dtype})"
        loop.line(f"{block}.append({zero})")

    @staticmethod
    def _item(arg: Node, text: str) -> Node:
        return Node(arg.type.dtype, text)

    flat: dict[tuple[int, int], str]

    @staticmethod
    def is_block(out: Node, arg: Node) -> bool:
        """Whether the block is an array; between two real scalars it is a number."""
        return out.is_array or arg.is_array or out.pairs or arg.pairs

    def finish(self) -> Generated:
        """Return the blocks: the structure of the result, in it that of the arguments."""
        numbers = {id(leaf): k for k, leaf in enumerate(self.out_leaves)}
        columns = {id(leaf): k for k, leaf in enumerate(self.in_leaves)}

        def row(out: Node) -> str:
            if id(out) not in numbers:
                return "None"
            j = numbers[id(out)]
            parts = [
                rebuild(node, lambda arg: self.blocks[j, columns[id(arg)]] if id(arg) in columns else "None", self.use)
                for node in self.inputs
            ]
            return parts[0] if self.transform.single else f"({', '.join(parts)},)"

        self.text.line(f"return {rebuild(self.result, row, self.use)}")
        return self._generated()

    def _generated(self) -> Generated:
        top = Text(header=f"def {self.name()}({self.header()}):")
        top.items = self.text.items
        return Generated("\n".join(top.render()) + "\n", self.writer.namespace, self.name())

    def structure(self, node: Node, seeds: dict[int, str]) -> str:
        """A tangent or cotangent with the structure of `node`: seeds by leaf, zero at the others."""

        def leaf(n: Node) -> str:
            return seeds.get(id(n), self.zero(n)) if n.differentiable else "0"

        return rebuild(node, leaf, self.use)

    def zero(self, leaf: Node) -> str:
        if leaf.is_list:
            return f"{self.use(kernels.zeros_of_list, 'zeros_of_list')}({leaf.text})"
        dtype = self.use(_scalar_class(leaf), str(leaf.scalar))
        return f"{self.use(np, 'np')}.zeros({leaf.text}.shape, {dtype})" if leaf.is_array else f"{dtype}(0)"

    def _seed(self, text: Text, arg: Node, unit: str, k: str) -> str:
        """A unit vector for the leaf `arg`: `unit` at its element `k`."""
        seed = self.writer.fresh("seed")
        if not arg.is_array:
            text.line(f"{seed} = {self.use(_scalar_class(arg), str(arg.scalar))}({unit})")
        else:
            text.line(f"{seed} = {self.zero(arg)}")
            text.line(f"{self.use(kernels.set_flat, 'set_flat')}({seed}, {k}, {unit})")
        return seed

    def generated(self) -> Generated:
        raise NotImplementedError


class _ByColumns(_Driver):
    """One `jvp` per element of the arguments."""

    def generated(self) -> Generated:
        request = JvpRequest(self.transform.wrt, self.transform.outs)
        push = self.use(derivative(self.primal, Forward(request)), "jvp")
        self.flat = {}
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
        item = self._item(arg, f"{arg.text}[{n}]")
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
        for j, (out, value) in enumerate(zip(self.out_leaves, self._tangents_of(dot), strict=True)):
            self._store_item(text, i, j, n, out, item, (k if item.is_array else "0"), value)

    def _store_item(self, text: Text, i: int, j: int, n: str, out: Node, item: Node, column: str, value: str) -> None:
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
            seed = self._seed(text, arg, unit, k)
            tangents = ", ".join(self.structure(node, {id(arg): seed}) for node in self.inputs)
            text.line(f"{ignored}, {dot} = {push}(({tangents},), {self.fresh_arguments()})")
            column = (f"2 * {k} + {part}" if arg.pairs else k) if arg.is_array else str(part)
            for j, (out, value) in enumerate(zip(self.out_leaves, self._tangents_of(dot), strict=True)):
                self._store(text, i, j, out, arg, column, value)

    def _tangents_of(self, dot: str) -> list[str]:
        """The tangents of the result's float leaves, read from `dot`."""
        whole = _plain_tree(self.result.type, dot)
        return [leaf.text for leaf in whole.leaves() if leaf.differentiable]

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


class _ByRows(_Driver):
    """One `vjp` per element of the result."""

    def generated(self) -> Generated:
        request = VjpRequest(self.transform.wrt, self.transform.outs, seed="argument")
        pull = self.use(derivative(self.primal, Reverse(request)), "vjp")
        self.flat = {}
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
            seed = self._seed(text, out, unit, k)
            cotangent = self.structure(self.result, {id(out): seed})
            text.line(f"{ignored}, {bar} = {pull}({cotangent}, {self.fresh_arguments()})")
            row = (f"2 * {k} + {part}" if out.pairs else k) if out.is_array else str(part)
            for i, (arg, value) in enumerate(zip(self.in_leaves, self._cotangents_of(bar), strict=True)):
                self._store(text, i, j, out, arg, row, value)

    def _cotangents_of(self, bar: str) -> list[str]:
        found = []
        for n, node in enumerate(self.inputs):
            found += [leaf.text for leaf in _plain_tree(node.type, f"{bar}[{n}]").leaves() if leaf.differentiable]
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
        item = self._item(arg, f"{arg.text}[{n}]")
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


class _Auto(_Driver):
    """Compares the sizes at the call and calls one of the two."""

    def generated(self) -> Generated:
        self.kept = {}
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
        inner = derivative(self.primal, Jacobian(t.wrt, t.outs, mode, t.single))
        return lambda: f"{self.use(inner, f'jacobian_{mode}')}({self.header()})"


def _copied(leaf: Node) -> bool:
    return leaf.is_array or isinstance(leaf.type, types.ListType)


def _plain_tree(ty: types.Type, text: str) -> Node:
    """As `tree`, for structures of any kind."""
    if isinstance(ty, types.BaseTuple):
        return Node(ty, text, [_plain_tree(item, f"{text}[{k}]") for k, item in enumerate(ty)])
    return Node(ty, text)


def _scalar_class(leaf: Node) -> Any:
    return np.dtype(str(leaf.scalar)).type
