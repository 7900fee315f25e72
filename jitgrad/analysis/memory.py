"""Array memory: which values are views, which operations write, what stays intact after a read."""

from __future__ import annotations

from numba.core import types

from jitgrad.analysis import disjoint, effects
from jitgrad.analysis.activity import Activity, Cell
from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir


class Memory:
    """Stores and views of a program.

    Attributes
    ----------
    stores : dict
        Alias class -> the operations that write into it.
    """

    def __init__(self, program: ir.Program, scopes: Scopes, activity: Activity):
        self._scopes = scopes
        self._activity = activity
        self.stores: dict[Cell, list[ir.Op]] = {}
        self._all_stores: list[ir.Op] = []
        for op in ir.walk(program.body):
            for target in written_values(op):
                self._all_stores.append(op)
                cell = activity.alias_class(target)
                if cell is not None:
                    self.stores.setdefault(cell, []).append(op)

    def written(self, value: ir.Value) -> bool:
        """Whether anything writes into the memory of `value` by any of its names."""
        if isinstance(value, (ir.Literal, ir.Global)):
            return False
        cell = self._activity.alias_class(value)
        return bool(self.stores_of(value)) if cell is None else bool(self.stores.get(cell))

    def stores_of(self, value: ir.Value) -> list[ir.Op]:
        cell = self._activity.alias_class(value)
        if cell is not None:
            return self.stores.get(cell, [])
        # memory without derivatives (integers, booleans) has no alias classes: any store of its type counts
        dtype = getattr(value.type, "dtype", None)
        return [op for op in self._all_stores if any(_dtype(v) == dtype for v in written_values(op))]

    def view_of(self, value: ir.Value) -> ir.Op | None:
        """The operation that makes array `value` a view of another one, or None."""
        op = self._scopes.definition.get(value)
        return op if op is not None and viewed(op) is not None and isinstance(value.type, types.Array) else None

    def intact(self, op: ir.Op, value: ir.Value) -> bool:
        """Whether what `op` reads from `value` is never overwritten afterwards."""
        return not any(self._may_follow(op, store, value) for store in self.stores_of(value))

    def _may_follow(self, op: ir.Op, store: ir.Op, value: ir.Value) -> bool:
        """Whether `store` may run after `op` and touch what it read."""
        scopes = self._scopes
        common = [loop for loop in scopes.loops(scopes.at[op]) if loop in scopes.loops(scopes.at[store])]
        born = scopes.loops(scopes.home[value]) if value in scopes.home else []
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


def _dtype(value: ir.Value):
    return getattr(value.type, "dtype", None)
