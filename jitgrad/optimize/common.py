"""Common values: what an earlier operation computed or loaded is not computed or loaded again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numba.core import types

from jitgrad import rules
from jitgrad.analysis import effects
from jitgrad.analysis.memory import viewed, written_values
from jitgrad.program import ir
from jitgrad.program.clone import replace_values

Table = dict[Hashable, tuple[ir.Value, ir.Value | None]]  # key -> (value, root of the memory it was read from)


def share_common_values(program: ir.Program) -> None:
    """Reuse values computed before, in place."""
    pass_ = _Sharing(program)
    pass_.block(program.body, {})
    replace_values(program.body, pass_.replaced)
    while program.result in pass_.replaced:
        program.result = pass_.replaced[program.result]


class _Sharing:
    def __init__(self, program: ir.Program):
        self._params = set(program.params)
        self._definitions: dict[ir.Value, ir.Op] = {}
        for op in ir.walk(program.body):
            for value in op.results:
                self._definitions[value] = op
        self.replaced: dict[ir.Value, ir.Value] = {}

    def block(self, block: ir.Block, table: Table) -> None:
        """Go through a block, with the table of what is available where it starts."""
        kept: list[ir.Op] = []
        for op in block.ops:
            key, root = self._key(op)
            if key is not None and key in table:
                self.replaced[op.results[0]] = table[key][0]
                continue
            kept.append(op)
            if isinstance(op, ir.Map):
                self._merge_inputs(op)
            if op.blocks:
                if isinstance(op, ir.Loop):
                    self._forget(op, table)
                for inner in op.blocks:
                    self.block(inner, dict(table))
            self._forget(op, table)
            if key is not None:
                table[key] = (op.results[0], root)
        block.ops = kept

    def _merge_inputs(self, op: ir.Map) -> None:
        """Give an array that enters a map twice one element."""
        first: dict[Hashable, ir.Value] = {}
        kept = []
        for k, (value, param) in enumerate(zip(op.inputs, op.params, strict=True)):
            same = self._same(value)
            if same in first:
                self.replaced[param] = first[same]
            else:
                first[same] = param
                kept.append(k)
        op.inputs, op.params = ([part[k] for k in kept] for part in (op.inputs, op.params))

    def _same(self, value: ir.Value) -> Hashable:
        while value in self.replaced:
            value = self.replaced[value]
        if isinstance(value, ir.Literal):
            return ("literal", type(value.value), repr(value.value), value.type)
        return ("global", id(value.value)) if isinstance(value, ir.Global) else id(value)

    def _key(self, op: ir.Op) -> tuple[Hashable | None, ir.Value | None]:
        """What makes two operations the same, and the memory it depends on; None when it may differ."""
        same = self._same
        match op:
            case ir.Binary(fn=fn, lhs=lhs, rhs=rhs) if _scalar(lhs) and _scalar(rhs):
                return ("binary", fn, same(lhs), same(rhs), op.result.type), None
            case ir.Unary(fn=fn, operand=operand) if _scalar(operand):
                return ("unary", fn, same(operand), op.result.type), None
            case ir.Cast(operand=operand) if _scalar(operand):
                return ("cast", same(operand), op.result.type), None
            case ir.GetAttr(base=base, attr="shape" | "size" | "ndim" | "T") if isinstance(base.type, types.Array):
                return ("attr", op.attr, same(base)), None
            case ir.GetAttr(base=base) if isinstance(base.type, (types.BaseTuple, types.Complex)):
                return ("attr", op.attr, same(base)), None
            case ir.GetItem(base=base) if isinstance(base.type, types.BaseTuple):
                return ("item", same(base), self._index(op.index)), None
            case ir.GetItem(base=base) if isinstance(base.type, types.Array) and not effects.is_copy(op):
                is_view = isinstance(op.result.type, types.Array)
                return ("item", same(base), self._index(op.index)), None if is_view else self._root(base)
            case ir.BuildTuple():
                return ("tuple", *map(same, op.items), op.result.type), None
            case ir.Call(fn=fn, args=args) if not op.kwargs and op.vararg is None:
                if fn is len and isinstance(args[0].type, types.Array):
                    return ("len", same(args[0])), None
                if all(_scalar(a) for a in args) and isinstance(rules.lookup(fn), rules.ScalarRule):
                    return ("call", fn, *map(same, args), op.result.type), None
        return None, None

    def _index(self, index: tuple[ir.IndexItem, ...]) -> Hashable:
        def item(x: ir.IndexItem) -> Any:
            if isinstance(x, ir.Slice):
                return ("slice", *(None if v is None else self._same(v) for v in (x.start, x.stop, x.step)))
            return self._same(x)

        return tuple(map(item, index))

    # ----- memory ------------------------------------------------------------------------------
    def _root(self, value: ir.Value) -> ir.Value:
        """The array that `value` is a part of."""
        while True:
            while value in self.replaced:
                value = self.replaced[value]
            op = self._definitions.get(value)
            base = viewed(op) if op is not None else None
            if base is None and isinstance(op, ir.Cast):
                base = op.operand
            if base is None and isinstance(op, ir.InplaceBinary):
                base = op.lhs
            if base is None:
                return value
            value = base

    def _fresh(self, root: ir.Value) -> bool:
        """Whether `root` is a new array that had no other name when it was made."""
        op = self._definitions.get(root)
        if isinstance(op, ir.Map):
            return True
        rule = effects.rule_of(op) if isinstance(op, (ir.Call, ir.Method)) else None
        return (
            isinstance(rule, rules.AllocRule)
            or (isinstance(op, ir.Call) and ir.among(op.fn, (np.zeros, np.empty, np.ones, np.full, np.eye)))
            or (isinstance(op, ir.Method) and op.name == "copy")
        )

    def _may_alias(self, a: ir.Value, b: ir.Value) -> bool:
        if a is b:
            return True
        if ir.memory_dtype(a.type) != ir.memory_dtype(b.type):
            return False
        fresh = [self._fresh(a), self._fresh(b)]
        known = [f or v in self._params for f, v in zip(fresh, (a, b), strict=True)]
        return not (any(fresh) and all(known))

    def _forget(self, op: ir.Op, table: Table) -> None:
        """Drop the loads that the stores of `op`, or inside it, may change."""
        stores = [op] if not op.blocks else [inner for block in op.blocks for inner in ir.walk(block)]
        for store in stores:
            for target in written_values(store):
                if not isinstance(target.type, types.Array):
                    drop = [key for key, (_, root) in table.items() if root is not None]
                else:
                    where = self._root(target)
                    drop = [
                        key for key, (_, root) in table.items() if root is not None and self._may_alias(root, where)
                    ]
                for key in drop:
                    del table[key]


def _scalar(value: ir.Value) -> bool:
    return isinstance(value.type, (types.Number, types.Boolean, types.NoneType))
