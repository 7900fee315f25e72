"""Tuples that branches and loops hand on are handed on item by item.

A callee that returns ``(value, index)`` from several places leaves a tuple merged by branches once it
is inlined. Merging the items instead lets each reader see its item, and a derivative needs no tuples.
"""

from __future__ import annotations

from numba.core import types

from jitgrad.program import ir


def split_tuples(block: ir.Block, values: dict[ir.Value, ir.Value]) -> bool:
    """Split merged tuples in `block`, in place; returns whether anything changed.

    Parameters
    ----------
    values : dict of Value to Value
        Receives the item for each ``t[k]`` of a tuple that is known item by item.
    """
    return _Splitter(values).block(block)


class _Splitter:
    def __init__(self, values: dict[ir.Value, ir.Value]):
        self.values = values
        self.built: dict[ir.Value, ir.BuildTuple] = {}

    def block(self, block: ir.Block) -> bool:
        changed = False
        ops: list[ir.Op] = []
        for op in block.ops:
            behind: list[ir.Op] = []
            for inner in op.blocks:
                changed |= self.block(inner)
            match op:
                case ir.BuildTuple():
                    self.built[op.result] = op
                case ir.GetItem(base=base, index=(ir.Literal() as index,)) if (
                    base in self.built and type(index.value) is int
                ):
                    item = self.built[base].items[index.value]
                    if item.type == op.result.type:
                        self.values[op.result] = item
                        changed = True
                        continue
                case ir.If():
                    behind = self._split_branch(op)
                case ir.Loop():
                    behind = self._split_loop(op)
            changed |= bool(behind)
            ops += [op, *behind]
        block.ops = ops
        return changed

    def _items(self, value: ir.Value) -> list[ir.Value] | None:
        """The items of a tuple that is known item by item."""
        if isinstance(value, ir.Undefined):
            return [ir.Undefined(value.name, type_) for type_ in value.type] if value.type is not None else None
        if value in self.built:
            return self.built[value].items
        if isinstance(value, ir.Literal) and type(value.value) is tuple:
            return [ir.Literal("t", type_, item) for type_, item in zip(value.type, value.value, strict=True)]
        return None

    def _split_branch(self, op: ir.If) -> list[ir.Op]:
        """Split what a branch hands on; returns the tuples to build behind it."""
        behind: list[ir.Op] = []
        for out in [out for out in op.outs if _is_plain_tuple(out.type)]:
            at = op.outs.index(out)
            then, orelse = (self._items(arm[at]) for arm in (op.then_yields, op.else_yields))
            if then is None or orelse is None or not _fits(then, out.type) or not _fits(orelse, out.type):
                continue
            del op.outs[at], op.then_yields[at], op.else_yields[at]
            items = [ir.Value(_item_name(a, b, out), type_) for a, b, type_ in zip(then, orelse, out.type, strict=True)]
            op.outs += items
            op.then_yields += then
            op.else_yields += orelse
            behind.append(self._build(out, items, op))
        return behind

    def _split_loop(self, op: ir.Loop) -> list[ir.Op]:
        """Split what a loop carries; returns the tuples to build behind it."""
        behind: list[ir.Op] = []
        for param in [param for param in op.params if _is_plain_tuple(param.type)]:
            at = op.params.index(param)
            init, yielded, out = self._items(op.inits[at]), self._items(op.yields[at]), op.outs[at]
            if init is None or yielded is None or not _fits(init, param.type) or not _fits(yielded, param.type):
                continue
            for part in (op.params, op.inits, op.yields, op.outs):
                del part[at]
            params = [
                ir.Value(_item_name(a, b, param), type_) for a, b, type_ in zip(yielded, init, param.type, strict=True)
            ]
            outs = [ir.Value(value.name, value.type) for value in params]
            op.params += params
            op.inits += init
            op.yields += yielded
            op.outs += outs
            op.body.ops.insert(0, self._build(param, params, op))
            behind.append(self._build(out, outs, op))
        return behind

    def _build(self, result: ir.Value, items: list[ir.Value], op: ir.Op) -> ir.BuildTuple:
        self.built[result] = ir.BuildTuple(result, items, loc=op.loc)
        return self.built[result]


def _is_plain_tuple(type_: types.Type) -> bool:
    return (
        isinstance(type_, (types.Tuple, types.UniTuple))
        and not isinstance(type_, types.BaseNamedTuple)
        and len(type_) > 0
    )


def _fits(items: list[ir.Value], type_: types.BaseTuple) -> bool:
    return all(isinstance(item, ir.Undefined) or item.type == wanted for item, wanted in zip(items, type_, strict=True))


def _item_name(a: ir.Value, b: ir.Value, whole: ir.Value) -> str:
    named = [value.name for value in (a, b) if type(value) is ir.Value and value.name != "t"]
    return named[0] if named else whole.name
