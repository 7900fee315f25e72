"""What generators of Jacobians share: the structures of arguments and result, the blocks, the seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types, utils
from numba.np.numpy_support import from_dtype
from numba.typed import List

from jitgrad.api import again, kernels, mutation
from jitgrad.api.shape import Node, plain_tree, rebuild, tree
from jitgrad.backend import checks
from jitgrad.backend.engine import read
from jitgrad.backend.structure import positions
from jitgrad.backend.text import Text
from jitgrad.backend.writer import Writer
from jitgrad.errors import UnsupportedError
from jitgrad.runtime.arrays import put_number
from jitgrad.runtime.assign import takes
from jitgrad.runtime.shapes import overlap
from jitgrad.transforms.refusals import overlapping
from jitgrad.transforms.request import Generated


class Driver:
    """What the generators share: the structures, the names, copies of arguments that the primal writes into."""

    def __init__(self, transform: Any, primal: Any, argtypes: tuple[types.Type, ...]):
        self.transform, self.primal = transform, primal
        self.signature = utils.pysignature(primal.py_func)
        name = primal.__name__
        checks.check_arguments(name, self.signature, argtypes, transform.wrt)
        checks.check_outs(name, self.signature, argtypes, transform.outs)
        program = read(primal, argtypes)
        self.program = program
        self.mutates = bool(transform.outs) or mutation.writes_arguments(program)

        self.writer = Writer({})
        self.params = [self.writer.fresh(p) for p in self.signature.parameters]
        self.arguments = self._arguments(argtypes)
        self.inputs = [self.arguments[k] for k in transform.wrt]
        self.result, self.result_text = self._result(program)
        self.text = Text()
        self.leading = ""  # the parameter before those of the primal, where there is one
        self.given: str | None = None  # the parameter with the blocks to fill, where the caller passes them
        self.kept: dict[str, Any] = {}
        self.new = "zeros"  # how blocks are allocated: "empty" where sweeps fill them
        self.flat: dict[tuple[int, int], str] = {}

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
        """Keep the arguments as they were, where the primal writes into them.

        Not those that it only stores into, unless sweeps in threads would do so at the same time.
        """
        self.kept = {}
        if not self.mutates:
            return
        again.check_program(self.program, self.primal)
        self._refuse_overlaps()
        for own, param, ty, value in zip(
            self.params, self.signature.parameters.values(), self._param_types(), self.program.params, strict=True
        ):
            node = plain_tree(ty, own)
            needed = getattr(self.transform, "parallel", False) or mutation.depends_on_before(self.program, value)
            if needed and any(_copied(leaf) for leaf in node.leaves()):
                kept = self.writer.fresh(f"{own}_before")
                self.text.line(f"{kept} = {self.copied(node)}")
                self.kept[own] = (kept, ty, param)

    def _refuse_overlaps(self) -> None:
        """Check that arrays are apart where one is written: a sweep would not see what the others left in the other."""
        arrays: list[tuple[str, str, bool]] = []
        names = self.signature.parameters
        for own, name, ty, value in zip(self.params, names, self._param_types(), self.program.params, strict=True):
            written = mutation.may_write(self.program, [value])
            arrays += [
                (leaf.text, name + leaf.text[len(own) :], written)
                for leaf in plain_tree(ty, own).leaves()
                if leaf.is_array
            ]
        for k, (text, label, written) in enumerate(arrays):
            for other, other_label, other_written in arrays[k + 1 :]:
                if written or other_written:
                    test = self.text.suite(f"if {self.use(overlap, 'overlap')}({text}, {other}):")
                    test.line(f"raise ValueError({overlapping(label, other_label, self.primal.__name__)!r})")

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
                parts.append(star + self.copied(plain_tree(ty, kept)))
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
                shape = " + ".join(s for s in (self.shape(out), self.shape(arg)) if s != "()")
                rows = self.size(out) + " * 2" * out.pairs
                columns = self.size(arg) + " * 2" * arg.pairs
                flat = self.writer.fresh(f"J2_{j}_{i}")
                if self.given is None:
                    self.text.line(f"{block} = {np_}.{self.new}({shape}, {dtype})")
                    self.text.line(f"{flat} = {block}.reshape({rows}, {columns})")
                else:
                    matrix = self.use(kernels.matrix_of, "matrix_of")
                    place = self.given_block(out, arg)
                    self.text.line(f"{flat} = {matrix}({place}, {shape}, {rows}, {columns}, {dtype}(0))")
                self.blocks[j, i] = block
                self.flat[j, i] = flat
        if self.given is not None:
            self._check_given()

    def _check_given(self) -> None:
        """Check that the caller's blocks share memory with no argument, and with no other one."""
        apart = self._array_texts()
        for j, out in enumerate(self.out_leaves):
            for i, arg in enumerate(self.in_leaves):
                block = self.flat.get((j, i))
                if block is None:
                    block = self.given_block(out, arg)
                    zero = f"{self.use(out.real_dtype.type, str(out.real_dtype))}(0)"
                    self.text.line(f"{self.use(takes, 'takes')}({block}, {zero})")
                for other in apart:
                    test = self.text.suite(f"if {self.use(overlap, 'overlap')}({block}, {other}):")
                    test.line("raise ValueError('the array for a Jacobian overlaps an argument, or another one')")
                apart.append(block)

    def _array_texts(self) -> list[str]:
        """The texts of all arrays among the arguments."""
        pairs = zip(self.params, self._param_types(), strict=True)
        return [leaf.text for own, ty in pairs for leaf in plain_tree(ty, own).leaves() if leaf.is_array]

    def given_block(self, out: Node, arg: Node) -> str:
        """Where the caller's block for two leaves is among what `given` holds."""
        found: dict[tuple[int, int], str] = {}

        def walk(node: Node, text: str, visit: Any) -> None:
            if node.items is None:
                visit(node, text)
            else:
                for k, item in enumerate(node.items):
                    walk(item, f"{text}[{k}]", visit)

        def arguments(out: Node, text: str) -> None:
            for i, node in enumerate(self.inputs):
                at = text if self.transform.single else f"{text}[{i}]"
                walk(node, at, lambda arg, here: found.setdefault((id(out), id(arg)), here))

        walk(self.result, self.given or "", arguments)
        return found[id(out), id(arg)]

    def _allocate_list(self, out: Node, arg: Node, block: str) -> None:
        """The blocks for a typed list: a list with one block for each of its items."""
        item = self.item_of(arg, self.writer.fresh("item"))
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
    def item_of(arg: Node, text: str) -> Node:
        return Node(arg.type.dtype, text)

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

        if self.given is None:
            self.text.line(f"return {rebuild(self.result, row, self.use)}")
        else:
            self._fill_numbers()
        return self._generated()

    def _fill_numbers(self) -> None:
        """Write the blocks that are numbers into the caller's."""
        for j, out in enumerate(self.out_leaves):
            for i, arg in enumerate(self.in_leaves):
                if not self.is_block(out, arg):
                    put = self.use(put_number, "put_number")
                    self.text.line(f"{put}({self.given_block(out, arg)}, {self.blocks[j, i]})")
        self.text.line("return None")

    def _generated(self) -> Generated:
        parameters = ", ".join(part for part in (self.leading, self.header()) if part)
        top = Text(header=f"def {self.name()}({parameters}):")
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
        dtype = self.use(scalar_class(leaf), str(leaf.scalar))
        return f"{self.use(np, 'np')}.zeros({leaf.text}.shape, {dtype})" if leaf.is_array else f"{dtype}(0)"

    def seed(self, text: Text, arg: Node, unit: str, k: str) -> str:
        """A unit vector for the leaf `arg`: `unit` at its element `k`."""
        seed = self.writer.fresh("seed")
        if not arg.is_array:
            text.line(f"{seed} = {self.use(scalar_class(arg), str(arg.scalar))}({unit})")
        else:
            text.line(f"{seed} = {self.zero(arg)}")
            text.line(f"{self.use(kernels.set_flat, 'set_flat')}({seed}, {k}, {unit})")
        return seed

    def tangents_of(self, dot: str) -> list[str]:
        """The tangents of the result's float leaves, read from `dot`."""
        whole = plain_tree(self.result.type, dot)
        return [leaf.text for leaf in whole.leaves() if leaf.differentiable]

    def allocate_matrices(self) -> None:
        """As `allocate`, with a matrix of one element where the block is a number; see `numbers_out`."""
        self.allocate()
        for j, out in enumerate(self.out_leaves):
            for i, arg in enumerate(self.in_leaves):
                if not self.is_block(out, arg):
                    self.flat[j, i] = self.writer.fresh(f"J2_{j}_{i}")
                    dtype = self.use(out.real_dtype.type, str(out.real_dtype))
                    self.text.line(f"{self.flat[j, i]} = {self.use(np, 'np')}.zeros((1, 1), {dtype})")

    def numbers_out(self) -> None:
        """Let the blocks that are numbers be those in their matrices."""
        for (j, i), flat in self.flat.items():
            if not self.is_block(self.out_leaves[j], self.in_leaves[i]):
                self.blocks[j, i] = f"{flat}[0, 0]"

    def generated(self) -> Generated:
        raise NotImplementedError


def has_lists(primal: Any, argtypes: tuple[types.Type, ...], transform: Any) -> bool:
    """Whether an argument to differentiate holds a typed list, whose blocks are a list."""
    call = positions(utils.pysignature(primal.py_func), argtypes)
    checks.check_arguments(primal.__name__, utils.pysignature(primal.py_func), argtypes, transform.wrt)
    return any(leaf.is_list for k in transform.wrt for leaf in plain_tree(call[k][1], "").leaves())


def _copied(leaf: Node) -> bool:
    return leaf.is_array or isinstance(leaf.type, (types.ListType, types.List))


def scalar_class(leaf: Node) -> Any:
    return np.dtype(str(leaf.scalar)).type
