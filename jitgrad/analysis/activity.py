"""Which values depend on the inputs, which reach the result, and which share memory.

Every value that can carry a derivative gets a tree of cells: one cell for a scalar, one for the memory
of an array or list, a tuple of trees for a tuple. Memory that may be shared (views, branches, loops,
containers) is one cell by union-find; everything else that flows is an edge between two cells. `varied`
is what the inputs reach along the edges, `useful` what reaches the result; *active* is both.

Control flow needs no iteration: what a loop carries around is an edge like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from numba.core import types

from jitgrad.analysis import effects, structure
from jitgrad.program import ir


class Cell:
    """One scalar, or the content of one piece of memory (an alias class)."""

    def __init__(self, scalar: bool = False) -> None:
        self.scalar = scalar
        self.parent: Cell | None = None
        self.successors: set[Cell] = set()
        self.predecessors: set[Cell] = set()
        self.item: Tree = None  # of a list: the tree of its elements
        self.written = False

    def find(self) -> Cell:
        """The representative of the alias class."""
        cell = self
        while cell.parent is not None:
            if cell.parent.parent is not None:
                cell.parent = cell.parent.parent
            cell = cell.parent
        return cell


Tree = Cell | tuple | None


def leaves(tree: Tree) -> Iterator[Cell]:
    """The cells of a tree; those of a list's elements too."""
    seen: set[Cell] = set()  # what is unified with its own elements would never end
    todo = [tree]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            todo += reversed(part)
        elif part is not None and (cell := part.find()) not in seen:
            seen.add(cell)
            yield cell
            todo.append(cell.item)


class Activity:
    """Activity and aliasing of a program for derivatives with respect to some arguments.

    Parameters
    ----------
    program : Program
    wrt : sequence of int
        Positions of the call, counted through ``*args``.
    outs : sequence of int, optional
        Positions of arguments whose content after the call is part of the result.
    inplace : bool
        Count everything that is left in the arguments as a result.
    """

    def __init__(
        self, program: ir.Program, wrt: Iterable[int], outs: Iterable[int] | None = None, inplace: bool = False
    ):
        self.program = program
        self._trees: dict[ir.Value, Tree] = {}
        self._block(program.body)
        arguments = self.arguments()
        seeds = [arguments[k] for k in wrt]
        results = [self.tree(program.result), *(arguments[k] for k in outs or ())]
        if inplace:
            results += arguments
        self._varied = _reach((c for tree in seeds for c in leaves(tree)), "successors")
        self._useful = _reach((c for tree in results for c in leaves(tree)), "predecessors")

    # ----- questions ---------------------------------------------------------------------------
    def varied(self, value: ir.Value) -> bool:
        """Whether the inputs can influence `value` (a part of it, for containers)."""
        return self.any_varied(leaves(self.tree(value)))

    def useful(self, value: ir.Value) -> bool:
        """Whether the result can depend on `value` (a part of it, for containers)."""
        return self.any_useful(leaves(self.tree(value)))

    def any_varied(self, cells: Iterable[Cell]) -> bool:
        """Whether the inputs can influence one of these cells."""
        return any(cell.find() in self._varied for cell in cells)

    def any_useful(self, cells: Iterable[Cell]) -> bool:
        """Whether the result can depend on one of these cells."""
        return any(cell.find() in self._useful for cell in cells)

    def active(self, value: ir.Value) -> bool:
        """Whether a part of `value` is varied and useful: it needs a tangent or an adjoint.

        A captured array does not, though a branch may pick it or an active one: compiled code only reads it.
        """
        return not isinstance(value, ir.Global) and any(self.active_cell(cell) for cell in leaves(self.tree(value)))

    def active_cell(self, cell: Cell) -> bool:
        """The same for one cell of a tree."""
        return (cell := cell.find()) in self._varied and cell in self._useful

    def alias_class(self, value: ir.Value) -> Cell | None:
        """What memory `value` refers to; None for scalars, tuples and what carries no derivative."""
        tree = self.tree(value)
        if not isinstance(tree, Cell) or not structure.is_memory(value.type):
            return None
        return tree.find()

    def written(self, cell: Cell) -> bool:
        """Whether the program writes into an alias class."""
        return cell.find().written

    def arguments(self) -> list[Tree]:
        """The tree of every argument of the call, counted through ``*args``."""
        star = star_parameter(self.program)
        found: list[Tree] = []
        for param in self.program.params:
            tree = self.tree(param)
            if param is star:
                found += tree if isinstance(tree, tuple) else [None] * len(param.type)
            else:
                found.append(tree)
        return found

    # ----- trees -------------------------------------------------------------------------------
    def tree(self, value: ir.Value) -> Tree:
        """The cells of a value."""
        if value not in self._trees:
            constant = isinstance(value, (ir.Literal, ir.Undefined))
            self._trees[value] = None if constant else _plant(value.type)
        return self._trees[value]

    # ----- reading the program -----------------------------------------------------------------
    def _block(self, block: ir.Block) -> None:
        for op in block:
            self._op(op)
            for inner in op.blocks:
                self._block(inner)

    def _op(self, op: ir.Op) -> None:
        tree = self.tree
        match op:
            case ir.If():
                for out, then, orelse in zip(op.outs, op.then_yields, op.else_yields, strict=True):
                    flow(tree(then), tree(out))
                    flow(tree(orelse), tree(out))
            case ir.Loop():
                for param, init, out, new in zip(op.params, op.inits, op.outs, op.yields, strict=True):
                    flow(tree(init), tree(param))
                    flow(tree(new), tree(param))
                    flow(tree(param), tree(out))
            case ir.Map():
                for value, param in zip(op.inputs, op.params, strict=True):
                    depend(tree(value), tree(param))
                depend(tree(op.output), tree(op.result))
            case ir.Cast():
                flow(tree(op.operand), tree(op.result))
            case ir.BuildTuple():
                if isinstance(parts := tree(op.result), tuple):
                    for item, part in zip(op.items, parts, strict=True):
                        flow(tree(item), part)
            case ir.BuildList():
                for item in op.items:
                    flow(tree(item), elements(tree(op.result)))
            case ir.GetItem():
                self._getitem(op)
            case ir.SetItem():
                self._setitem(op)
            case ir.GetAttr():
                self._getattr(op)
            case ir.SetAttr():
                self._store(op.base, op.value)
            case ir.Unary() | ir.Binary() | ir.InplaceBinary() | ir.Call() | ir.CallValue() | ir.Method():
                self._computation(op)
            case ir.BuildMap() | ir.BuildSet():
                for value in op.operands:
                    self._keep(value, op.result)

    def _keep(self, value: ir.Value, container: ir.Value) -> None:
        """`value` is put into a dictionary or set: a number is copied, memory is shared."""
        for cell in leaves(self.tree(value)):
            flow(cell, self.tree(container))

    def _getitem(self, op: ir.GetItem) -> None:
        base, result = self.tree(op.base), self.tree(op.result)
        of = structure.kind(op.base.type)
        if of == structure.TUPLE and isinstance(base, tuple):
            item = op.index[0]
            if isinstance(item, ir.Literal) and isinstance(item.value, (int, slice)):
                flow(base[item.value], result)
            elif isinstance(result, tuple) and effects.is_slice(item):
                # a slice that is no literal: any element may be any other
                for part in base:
                    for target in result:
                        flow(part, target)
            else:
                for part in base:
                    flow(part, result)
        elif of == structure.LIST and isinstance(base, Cell):
            whole = effects.is_slice(op.index[0])  # a new list of the same elements
            flow(elements(base), elements(result) if whole else result)
        elif effects.is_copy(op):
            depend(base, result)
        else:
            self._view(base, result, op.result)

    def _setitem(self, op: ir.SetItem) -> None:
        base, value = self.tree(op.base), self.tree(op.value)
        if structure.kind(op.base.type) == structure.LIST and isinstance(base, Cell):
            base.find().written = True
            whole = effects.is_slice(op.index[0]) and isinstance(value, Cell)
            flow(elements(value) if whole else value, elements(base))
        elif structure.kind(op.base.type) == structure.OPAQUE:
            self._keep(op.value, op.base)
            self._write(op.base)
        else:
            self._store(op.base, op.value)

    def _store(self, base: ir.Value, value: ir.Value) -> None:
        depend(self.tree(value), self.tree(base))
        self._write(base)

    def _write(self, value: ir.Value) -> None:
        for cell in leaves(self.tree(value)):
            cell.written = True

    def _getattr(self, op: ir.GetAttr) -> None:
        base, result = self.tree(op.base), self.tree(op.result)
        ty = structure.strip(op.base.type)
        if isinstance(ty, types.BaseNamedTuple) and isinstance(base, tuple):
            flow(base[ty.fields.index(op.attr)], result)
        else:
            self._view(base, result, op.result)

    def _view(self, base: Tree, result: Tree, value: ir.Value) -> None:
        """`value` is a part of `base`: shared where it is memory, read where it is a number."""
        if structure.is_memory(value.type):
            for cell in leaves(base):
                for part in leaves(result):
                    unify(cell, part)
                break
        else:
            depend(base, result)

    def _computation(self, op: ir.Op) -> None:
        tree = self.tree
        result = op.results[0] if op.results else None
        effect = effects.effect(op)
        for start, end in effect.flows:
            flow(self._part(start), self._part(end))
        for value in effect.writes:
            self._write(value)
        sources = [tree(v) for v in op.operands] if effect.depends is None else [tree(v) for v in effect.depends]
        if result is not None:
            for source in sources:
                depend(source, tree(result))
        for value in effect.writes if effect.mixes else ():
            for source in sources:
                depend(source, tree(value))
        if effect.views is not None and result is not None:
            self._view(tree(effect.views), tree(result), result)
        if effect.aliases is not None and result is not None:
            flow(tree(effect.aliases), tree(result))
        if effect.escapes and result is not None and structure.is_memory(result.type):
            cells = [c for v in op.operands for c in leaves(tree(v))]
            for cell in leaves(tree(result)):
                for other in cells:
                    unify(cell, other)

    def _part(self, part: effects.Part) -> Tree:
        """The tree of a value, of a tuple's element, or of a list's elements."""
        tree = self.tree(part.value)
        if part.position is not None:
            return tree[part.position] if isinstance(tree, tuple) else None
        return elements(tree) if part.item else tree


def star_parameter(program: ir.Program) -> ir.Value | None:
    """The value of the primal's ``*args`` parameter, if it has one."""
    for param, spec in zip(program.params, program.signature.parameters.values(), strict=True):
        if spec.kind is spec.VAR_POSITIONAL:
            return param
    return None


def _plant(ty: types.Type) -> Tree:
    match structure.kind(ty):
        case None:
            return None
        case structure.TUPLE:
            return tuple(_plant(item) for item in structure.strip(ty).types)
        case structure.LIST:
            cell = Cell()
            cell.item = _plant(structure.strip(ty).dtype)
            return cell
        case structure.SCALAR:
            return Cell(scalar=True)
    return Cell()


def elements(tree: Tree) -> Tree:
    """The tree of a list's elements."""
    return tree.find().item if isinstance(tree, Cell) else None


def unify(a: Tree, b: Tree) -> None:
    """Let two trees be the same memory."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        for x, y in zip(a, b, strict=False):
            unify(x, y)
    elif isinstance(a, Cell) and isinstance(b, Cell):
        a, b = a.find(), b.find()
        if a is b:
            return
        b.parent = a
        a.successors |= b.successors
        a.predecessors |= b.predecessors
        a.written |= b.written
        item, a.item = b.item, a.item if a.item is not None else b.item
        unify(a.item, item)


def flow(source: Tree, target: Tree) -> None:
    """An assignment: scalars are copied, memory is shared."""
    if isinstance(source, tuple) and isinstance(target, tuple):
        for a, b in zip(source, target, strict=False):
            flow(a, b)
    elif isinstance(source, Cell) and isinstance(target, Cell):
        _edge(source, target)
        if not (source.scalar or target.scalar):
            unify(source, target)


def depend(source: Tree, target: Tree) -> None:
    """`target` is computed from `source`; they share nothing."""
    for a in leaves(source):
        for b in leaves(target):
            _edge(a, b)


def _edge(source: Cell, target: Cell) -> None:
    a, b = source.find(), target.find()
    if a is not b:
        a.successors.add(b)
        b.predecessors.add(a)


def _reach(seeds: Iterable[Cell], along: str) -> set[Cell]:
    reached: set[Cell] = set()
    todo = [cell.find() for cell in seeds]
    while todo:
        cell = todo.pop()
        if cell not in reached:
            reached.add(cell)
            todo += [nxt.find() for nxt in getattr(cell, along)]
    return reached
