"""Array memory: which values are views, which operations write, what stays intact after a read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from numba.core import types

from jitgrad.analysis import carried, disjoint, effects
from jitgrad.analysis.activity import Activity, Cell
from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir


class Memory:
    """Stores and views of a program.

    Attributes
    ----------
    stores : dict
        Alias class -> the operations that write into it.

    Parameters
    ----------
    refilled : mapping, optional
        Loop -> the scratch arrays that its backward iterations fill again.
    """

    def __init__(
        self,
        program: ir.Program,
        scopes: Scopes,
        activity: Activity,
        refilled: Mapping[ir.Loop, Collection[ir.Value]] | None = None,
    ):
        self._scopes = scopes
        self._refilled = refilled or {}
        self._activity = activity
        self.stores: dict[Cell, list[ir.Op]] = {}
        self._all_stores: list[ir.Op] = []
        self.has_views: set[ir.Value] = set()  # arrays that some other value is a view of
        for op in ir.walk(program.body):
            if (base := viewed(op)) is not None:
                self.has_views.add(base)
            for target in written_values(op):
                self._all_stores.append(op)
                cell = activity.alias_class(target)
                if cell is not None:
                    self.stores.setdefault(cell, []).append(op)
        self._sharing: set[Cell] = set()  # what changes with memory that was there before
        self._share(program)

    def _share(self, program: ir.Program) -> None:
        """Count what is written into the arguments of `effects.shares` as written into its result too."""
        changed = True
        while changed:
            changed = False
            for op in filter(effects.shares, ir.walk(program.body)):
                result = self._activity.alias_class(op.results[0])
                for cell in map(self._activity.alias_class, op.operands):
                    if result is None or cell is None:
                        continue
                    self._sharing.add(result)
                    known = self.stores.setdefault(result, [])
                    new = [store for store in self.stores.get(cell, []) if store not in known]
                    known += new
                    changed |= bool(new)

    def written(self, value: ir.Value) -> bool:
        """Whether anything writes into the memory of `value` by any of its names."""
        if isinstance(value, (ir.Literal, ir.Global)):
            return False
        cell = self._activity.alias_class(value)
        return bool(self.stores_of(value)) if cell is None else bool(self.stores.get(cell))

    def targets(self, store: ir.Op) -> list[ir.Value]:
        """The values through which an operation writes."""
        return written_values(store)

    def stores_of(self, value: ir.Value) -> list[ir.Op]:
        cell = self._activity.alias_class(value)
        if cell is not None:
            return self.stores.get(cell, [])
        # memory without derivatives (integers, booleans) has no alias classes: any store of its type counts
        return self._stores_of_type(value.type)

    def _stores_of_type(self, type_: types.Type) -> list[ir.Op]:
        held = _dtypes(type_)
        return [op for op in self._all_stores if any(held & _dtypes(v.type) for v in written_values(op))]

    def part_written(self, value: ir.Value, path: tuple[int, ...], after: ir.Op | None = None) -> bool:
        """Whether anything writes into an array inside a tuple, or may do so after an operation."""
        part, ty = self._activity.tree(value), value.type
        for k in path:
            part = part[k] if isinstance(part, tuple) else None
            ty = ty.types[k] if hasattr(ty, "types") else ty.dtype
        stores = self.stores.get(part.find(), []) if isinstance(part, Cell) else self._stores_of_type(ty)
        return any(after is None or self._may_follow(after, store, value, 0) for store in stores)

    def view_of(self, value: ir.Value) -> ir.Op | None:
        """The operation that makes array `value` a view of another one, or None."""
        op = self._scopes.definition.get(value)
        return op if op is not None and viewed(op) is not None and isinstance(value.type, types.Array) else None

    def root(self, value: ir.Value) -> ir.Value:
        """The array that `value` is, or is a view of."""
        while (op := self._scopes.definition.get(value)) is not None:
            match op:
                case ir.Cast(operand=base) | ir.InplaceBinary(lhs=base):
                    value = base
                case _ if (whole := viewed(op)) is not None:
                    value = whole
                case _:
                    return value
        return value

    def intact(self, op: ir.Op, value: ir.Value) -> bool:
        """Whether what `op` reads from `value` is still there when the backward sweep gets to `op`.

        Scratch memory that a loop refills in its backward iterations holds what it held at the iteration's end.
        """
        stores, skip = self.stores_of(value), 0
        for depth, loop in enumerate(self._scopes.loops(self._scopes.at[op]), start=1):
            if loop in self._refilled and self.root(value) in self._refilled[loop]:
                stores, skip = [s for s in stores if loop in self._scopes.loops(self._scopes.at[s])], depth
        return not any(self._may_follow(op, store, value, skip) for store in stores)

    def frozen(self, op: ir.GetItem) -> bool:
        """Whether `op` reads, in an inner loop, an array that a loop carries and does not change while it holds it.

        Such an array is best taped whole, once per iteration of the loop that carries it.
        """
        scopes = self._scopes
        loop = scopes.definition.get(op.base)
        if not isinstance(loop, ir.Loop) or op.base not in loop.params or scopes.at[op].loop is loop:
            return False
        for store in self.stores_of(op.base):
            if loop not in scopes.loops(scopes.at[store]):
                continue
            for target in written_values(store):
                root = self.root(target)
                other = root in loop.params and root is not op.base
                born = loop in scopes.loops(scopes.home[root]) and root not in loop.params
                if not (other or (born and not isinstance(scopes.definition.get(root), (ir.If, ir.Loop)))):
                    return False
        arrays = [k for k, p in enumerate(loop.params) if isinstance(p.type, types.Array)]
        return all(carried.problem(loop, k, scopes, self) is None for k in arrays)

    def _may_follow(self, op: ir.Op, store: ir.Op, value: ir.Value, skip: int) -> bool:
        """Whether `store` may run after `op` and touch what it read, in one iteration of the `skip` outermost loops."""
        scopes = self._scopes
        common = [loop for loop in scopes.loops(scopes.at[op])[skip:] if loop in scopes.loops(scopes.at[store])]
        root = self.root(value)
        new = root in scopes.home and self._activity.alias_class(root) not in self._sharing
        born = scopes.loops(scopes.home[root]) if new else []
        later_iteration = [loop for loop in common if loop not in born]
        if later_iteration:
            return not disjoint.later_iterations(op, store, later_iteration, scopes)
        return scopes.order[store] > scopes.order[op]


def viewed(op: ir.Op) -> ir.Value | None:
    """The array whose memory the result of `op` shares as a part of it, or None."""
    match op:
        case ir.GetItem(base=base) if isinstance(base.type, types.Array):
            return None if effects.is_copy(op) or not isinstance(op.result.type, types.Array) else base
        case ir.GetAttr(base=base) if isinstance(base.type, types.Array):
            return base if isinstance(op.result.type, types.Array) else None
        case ir.Call() | ir.Method():
            return effects.effect(op).views
    return None


def written_values(op: ir.Op) -> list[ir.Value]:
    """The values whose memory `op` writes into."""
    match op:
        case ir.SetItem() | ir.SetAttr():
            return [op.base]
        case ir.InplaceBinary():
            return [op.lhs]
        case ir.Call() | ir.Method() | ir.CallValue():
            return list(effects.effect(op).writes)
    return []


def _dtypes(type_: types.Type) -> set[types.Type | None]:
    """The types of what memory of this type holds: also of the fields of records; None without arrays."""
    held = type_ if isinstance(type_, types.Record) else getattr(type_, "dtype", None)
    if not isinstance(held, types.Record):
        return {held}
    fields = [held.typeof(name) for name in held.fields]
    return {part for field in fields for part in (_dtypes(field) if hasattr(field, "dtype") else {field})}
