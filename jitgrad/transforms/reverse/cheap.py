"""What is worth computing again in the backward sweep instead of taping."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np
from numba.core import types

from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir

if TYPE_CHECKING:
    from jitgrad.analysis.memory import Memory

CHEAP_BINARY = {
    operator.add, operator.sub, operator.mul, operator.truediv, operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift,
    operator.is_, operator.is_not,
}  # fmt: skip
INTEGER_BINARY = CHEAP_BINARY | {operator.floordiv, operator.mod}
CHEAP_CALLS = {len, abs, int, float, bool, min, max, slice, math.fabs, np.float64, np.float32, np.int64, np.intp,
               np.int32, math.sqrt, np.sqrt}  # fmt: skip


def is_index(value: ir.Value, scopes: Scopes) -> bool:
    """Whether `value` counts the iterations of a loop: the backward loop has it anyway."""
    op = scopes.definition.get(value)
    return isinstance(op, ir.Loop) and value is op.index


def is_cheap(op: ir.Op, memory: Memory) -> bool:
    """Whether running `op` again costs no more than loading its result from the tape."""
    match op:
        case ir.Binary(fn=fn, lhs=lhs, rhs=rhs):
            if not all(isinstance(v.type, (types.Number, types.Boolean, types.NoneType)) for v in (lhs, rhs)):
                return False
            if fn is operator.pow:
                return isinstance(rhs, ir.Literal) and rhs.value in (2, 3)
            return fn in (INTEGER_BINARY if isinstance(op.result.type, types.Integer) else CHEAP_BINARY)
        case ir.Unary(operand=operand):
            return isinstance(operand.type, (types.Number, types.Boolean))
        case ir.Cast(operand=operand):
            return not isinstance(operand.type, types.Optional)  # what may be None has no place on the tape
        case ir.GetItem(base=base):
            if isinstance(base.type, types.BaseTuple):
                return True
            if not isinstance(base.type, types.Array):
                return False
            return not isinstance(op.result.type, types.Array) or memory.view_of(op.result) is op
        case ir.GetAttr(base=base, attr=attr):
            if isinstance(base.type, types.Array):
                return attr in ("shape", "size", "ndim", "T", "real", "imag")
            return isinstance(base.type, (types.BaseTuple, types.Complex))
        case ir.BuildTuple():
            return True
        case ir.Call(fn=fn):
            if fn is len:
                return isinstance(op.args[0].type, (types.Array, types.BaseTuple))  # a list may have grown since
            if any(isinstance(v.type, types.Array) for v in op.operands):
                return memory.view_of(op.result) is op
            return ir.among(fn, CHEAP_CALLS)
        case ir.Method():
            return memory.view_of(op.result) is op
    return False
