"""Hoisting: arithmetic that does not change in a loop is done before it.

Only operations without effects that cannot fail, since a loop may make no iteration. Mostly index and
extent arithmetic: with it outside, trip counts of inner loops are known where the outer loop starts.
"""

from __future__ import annotations

import operator

from numba.core import types

from jitgrad import rules
from jitgrad.analysis import effects
from jitgrad.analysis.scopes import yielded
from jitgrad.program import ir

SAFE_BINARY = {
    operator.add, operator.sub, operator.mul, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
    operator.ge, operator.and_, operator.or_, operator.xor,
}  # fmt: skip


def hoist_invariants(program: ir.Program) -> None:
    """Move invariant operations out of loops, in place."""
    _block(program.body, _Facts(program))


class _Facts:
    """Who reads a value, and what defines it."""

    def __init__(self, program: ir.Program):
        self.uses: dict[ir.Value, list[ir.Op]] = {program.result: [ir.Print([program.result])]}
        self.definitions: dict[ir.Value, ir.Op] = {}
        for op in ir.walk(program.body):
            for value in (*op.operands, *yielded(op)):
                self.uses.setdefault(value, []).append(op)
            for value in op.results:
                self.definitions[value] = op


def _block(block: ir.Block, facts: _Facts) -> None:
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _block(inner, facts)
        if isinstance(op, ir.Loop):
            ops += _lifted(op, facts)
        ops.append(op)
    block.ops = ops


def _lifted(loop: ir.Loop, facts: _Facts) -> list[ir.Op]:
    """Take the invariant operations out of the body of `loop`, in order."""
    inside = {loop.index, *loop.params}
    for op in ir.walk(loop.body):
        inside.update(op.results)
        if isinstance(op, (ir.Loop, ir.Map)):
            inside.update(op.params)
            if isinstance(op, ir.Loop):
                inside.add(op.index)
    lifted, kept = [], []
    for op in loop.body.ops:
        if (_is_safe(op) or _is_constant_array(op, facts)) and not any(v in inside for v in op.operands):
            lifted.append(op)
            inside.difference_update(op.results)
        else:
            kept.append(op)
    loop.body.ops = kept
    return lifted


def _is_constant_array(op: ir.Op, facts: _Facts) -> bool:
    """Whether `op` makes a new array (``np.eye(n)``) that is only ever read, by operations that make new values."""
    if not isinstance(op, ir.Call) or not isinstance(effects.rule_of(op), rules.AllocRule):
        return False
    if not all(
        _is_extent(v, facts.definitions) for v in op.operands if isinstance(v.type, (types.Integer, types.BaseTuple))
    ):
        return False  # a negative extent would fail, and the loop may make no iteration
    for use in facts.uses.get(op.result, []):
        if isinstance(use, (ir.Map, ir.Binary, ir.Unary)):
            continue
        if not isinstance(use, (ir.Call, ir.Method)):
            return False
        effect = effects.effect(use)
        if (
            effects.shares(use)
            or effect.writes
            or effect.views is not None
            or effect.aliases is not None
            or effect.escapes
        ):
            return False
    return True


def _is_extent(value: ir.Value, definitions: dict[ir.Value, ir.Op]) -> bool:
    """Whether an integer, or all in a tuple, are surely not negative: constants and extents of arrays."""
    if isinstance(value, ir.Literal):
        return isinstance(value.value, int) and value.value >= 0
    match definitions.get(value):
        case ir.BuildTuple(items=items):
            return all(_is_extent(item, definitions) for item in items)
        case ir.GetAttr(base=base, attr="shape" | "size"):
            return isinstance(base.type, types.Array)
        case ir.GetItem(base=base):
            return isinstance(base.type, types.BaseTuple) and _is_extent(base, definitions)
        case ir.Call(fn=fn):
            return fn is len
    return False


def _is_safe(op: ir.Op) -> bool:
    match op:
        case ir.Binary(fn=fn):
            return fn in SAFE_BINARY and all(isinstance(v.type, (types.Number, types.Boolean)) for v in op.operands)
        case ir.Unary(operand=operand) | ir.Cast(operand=operand):
            return isinstance(operand.type, (types.Number, types.Boolean))
        case ir.GetAttr(base=base):
            return isinstance(base.type, types.BaseTuple) or (
                isinstance(base.type, types.Array) and op.attr in ("shape", "size", "ndim", "T")
            )
        case ir.GetItem(base=base):
            return isinstance(base.type, types.BaseTuple) and all(isinstance(i, ir.Literal) for i in op.index)
        case ir.BuildTuple():
            return True
    return False
