"""Dead code: operations and carried values that nothing observable depends on.

Marks what is needed, from effects and the result backwards, so that values which only feed themselves
around a loop go too.
"""

from __future__ import annotations

import random

import numpy as np
from numba.core import types

from jitgrad import rules
from jitgrad.analysis import effects
from jitgrad.analysis.memory import written_values
from jitgrad.program import ir


def remove_dead_code(program: ir.Program) -> None:
    """Remove dead operations, branch results and carried values, in place."""
    marks = _Marks(program)
    _sweep(program.body, marks)


def has_effect(op: ir.Op) -> bool:
    """Whether an operation without blocks does more than define its results."""
    match op:
        case ir.Raise() | ir.Print() | ir.SetItem() | ir.SetAttr() | ir.InplaceBinary() | ir.CallValue():
            return True
        case ir.BuildTuple() | ir.Cast() | ir.GetAttr() | ir.BuildList() | ir.BuildSet() | ir.BuildMap():
            return False
        case ir.Unary() | ir.Binary():
            return not all(isinstance(v.type, (types.Number, types.Boolean, types.Array)) for v in op.operands)
        case ir.GetItem():
            return not isinstance(op.base.type, (types.BaseTuple, types.Array))
        case ir.Call() | ir.Method():
            rule = effects.rule_of(op)
            pure = isinstance(rule, (rules.ScalarRule, rules.ArrayRule, rules.AllocRule, rules.ZeroRule))
            return not pure or _draws(op) or _may_fail(op) or bool(written_values(op))
    return True


def _draws(op: ir.Call | ir.Method) -> bool:
    """Whether a call moves a random stream on: then the draws after it depend on it."""
    if isinstance(op, ir.Method):
        return isinstance(op.obj.type, types.NumPyRandomGeneratorType)
    owner = getattr(op.fn, "__self__", None)
    module = getattr(op.fn, "__module__", None) or ""
    return isinstance(owner, (np.random.RandomState, random.Random)) or module.startswith(("numpy.random", "random"))


def _may_fail(op: ir.Call | ir.Method) -> bool:
    """Whether a call that looks pure raises for some arguments, so that it may stand as a check."""
    return isinstance(op, ir.Call) and (getattr(op.fn, "__module__", None) or "").startswith("numpy.linalg")


class _Marks:
    """The values and operations that are needed."""

    def __init__(self, program: ir.Program):
        self._owner: dict[ir.Value, tuple[ir.Op, int]] = {}
        self._parents: dict[ir.Op, list[ir.Op]] = {}
        self.values: set[ir.Value] = set()
        self.ops: set[ir.Op] = set()
        self._todo: list[ir.Value] = []
        self._scan(program.body, [])
        self._need(program.result)
        for op in list(self._parents):
            if not op.blocks and has_effect(op):
                self._need_op(op)
            elif isinstance(op, ir.Loop) and op.count is None:
                self._need_op(op)  # it may not end: that is an effect
        while self._todo:
            self._follow(self._todo.pop())

    def _scan(self, block: ir.Block, parents: list[ir.Op]) -> None:
        for op in block:
            self._parents[op] = parents
            for k, value in enumerate(op.results):
                self._owner[value] = (op, k)
            if isinstance(op, (ir.Loop, ir.Map)):
                for k, param in enumerate(op.params):
                    self._owner[param] = (op, k)
                if isinstance(op, ir.Loop):
                    self._owner[op.index] = (op, -1)
            for inner in op.blocks:
                self._scan(inner, [*parents, op])

    def _need(self, value: ir.Value) -> None:
        if value not in self.values:
            self.values.add(value)
            self._todo.append(value)

    def _need_op(self, op: ir.Op) -> None:
        """An operation runs: so do those around it, and what decides whether it runs is needed."""
        if op in self.ops:
            return
        self.ops.add(op)
        for parent in self._parents[op]:
            self._need_op(parent)
        match op:
            case ir.Loop():
                for value in (op.count, op.again):
                    if value is not None:
                        self._need(value)
            case ir.If():
                self._need(op.cond)
            case ir.Map():
                for value in (*op.inputs, op.output):
                    self._need(value)
            case _:
                for value in op.operands:
                    self._need(value)

    def _follow(self, value: ir.Value) -> None:
        if value not in self._owner:
            return
        op, k = self._owner[value]
        self._need_op(op)
        if isinstance(op, ir.If):
            self._need(op.then_yields[k])
            self._need(op.else_yields[k])
        elif isinstance(op, ir.Loop) and value is not op.index and value is not op.trips:
            for part in (op.params[k], op.inits[k], op.yields[k], op.outs[k]):
                self._need(part)


def _sweep(block: ir.Block, marks: _Marks) -> None:
    block.ops = [op for op in block.ops if op in marks.ops]
    for op in block.ops:
        match op:
            case ir.If():
                kept = [k for k, out in enumerate(op.outs) if out in marks.values]
                op.outs, op.then_yields, op.else_yields = (
                    [part[k] for k in kept] for part in (op.outs, op.then_yields, op.else_yields)
                )
            case ir.Loop():
                kept = [k for k, param in enumerate(op.params) if param in marks.values]
                op.params, op.inits, op.yields, op.outs = (
                    [part[k] for k in kept] for part in (op.params, op.inits, op.yields, op.outs)
                )
                if op.trips is not None and op.trips not in marks.values:
                    op.trips = None
        for inner in op.blocks:
            _sweep(inner, marks)
