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
    uses: dict[ir.Value, list[ir.Op]] = {program.result: [ir.Print([program.result])]}
    for op in ir.walk(program.body):
        for value in (*op.operands, *yielded(op)):
            uses.setdefault(value, []).append(op)
    _block(program.body, uses)


def _block(block: ir.Block, uses: dict[ir.Value, list[ir.Op]]) -> None:
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _block(inner, uses)
        if isinstance(op, ir.Loop):
            ops += _lifted(op, uses)
        ops.append(op)
    block.ops = ops


def _lifted(loop: ir.Loop, uses: dict[ir.Value, list[ir.Op]]) -> list[ir.Op]:
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
        if (_is_safe(op) or _is_constant_array(op, uses)) and not any(v in inside for v in op.operands):
            lifted.append(op)
            inside.difference_update(op.results)
        else:
            kept.append(op)
    loop.body.ops = kept
    return lifted


def _is_constant_array(op: ir.Op, uses: dict[ir.Value, list[ir.Op]]) -> bool:
    """Whether `op` makes a new array (``np.eye(n)``) that is only ever read, by operations that make new values."""
    if not isinstance(op, ir.Call) or not isinstance(effects.rule_of(op), rules.AllocRule):
        return False
    for use in uses.get(op.result, []):
        if isinstance(use, (ir.Map, ir.Binary, ir.Unary)):
            continue
        if not isinstance(use, (ir.Call, ir.Method)):
            return False
        effect = effects.effect(use)
        if effect.writes or effect.views is not None or effect.aliases is not None or effect.escapes:
            return False
    return True


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
