"""Hoisting: arithmetic that does not change in a loop is done before it.

Only operations without effects that cannot fail, since a loop may make no iteration. Mostly index and
extent arithmetic: with it outside, trip counts of inner loops are known where the outer loop starts.
"""

from __future__ import annotations

import operator

from numba.core import types

from jitgrad.program import ir

SAFE_BINARY = {
    operator.add, operator.sub, operator.mul, operator.eq, operator.ne, operator.lt, operator.le, operator.gt,
    operator.ge, operator.and_, operator.or_, operator.xor,
}  # fmt: skip


def hoist_invariants(program: ir.Program) -> None:
    """Move invariant operations out of loops, in place."""
    _block(program.body)


def _block(block: ir.Block) -> None:
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _block(inner)
        if isinstance(op, ir.Loop):
            ops += _lifted(op)
        ops.append(op)
    block.ops = ops


def _lifted(loop: ir.Loop) -> list[ir.Op]:
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
        if _is_safe(op) and not any(v in inside for v in op.operands):
            lifted.append(op)
            inside.difference_update(op.results)
        else:
            kept.append(op)
    loop.body.ops = kept
    return lifted


def _is_safe(op: ir.Op) -> bool:
    match op:
        case ir.Binary(fn=fn):
            return fn in SAFE_BINARY and all(isinstance(v.type, (types.Number, types.Boolean)) for v in op.operands)
        case ir.Unary(operand=operand) | ir.Cast(operand=operand):
            return isinstance(operand.type, (types.Number, types.Boolean))
        case ir.GetAttr(base=base):
            return isinstance(base.type, types.BaseTuple) or (
                isinstance(base.type, types.Array) and op.attr in ("shape", "size", "ndim")
            )
        case ir.GetItem(base=base):
            return isinstance(base.type, types.BaseTuple) and all(isinstance(i, ir.Literal) for i in op.index)
        case ir.BuildTuple():
            return True
    return False
