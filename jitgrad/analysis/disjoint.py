"""Symbolic proofs that a later iteration does not overwrite what an earlier one read.

The pattern of elimination algorithms: iteration ``k`` reads row (or column) ``k``, and the stores of the
same loop go to rows ``i`` that an inner loop counts from above ``k``. Row ``k`` is final from then on.
"""

from __future__ import annotations

import operator

from numba.core import types

from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir


def later_iterations(load: ir.Op, store: ir.Op, loops: list[ir.Loop], scopes: Scopes) -> bool:
    """Whether no iteration of `loops` after the one of `load` lets `store` touch what `load` read.

    Also covers the rest of the same iteration. `loops` are the loops around both, outermost first.
    """
    if not (isinstance(load, ir.GetItem) and isinstance(store, ir.SetItem)):
        return False
    if _root(load.base, scopes) is not _root(store.base, scopes) or len(load.index) != len(store.index):
        return False
    for read, written in zip(load.index, store.index, strict=True):
        if isinstance(read, ir.Slice) or isinstance(written, ir.Slice):
            continue
        if not all(isinstance(v.type, types.Integer) for v in (read, written)):
            continue
        outer, offset = linear(read, scopes)
        if outer is not loops[0] or offset < 0:  # a loop further out would start `outer` anew
            continue
        if written_above(written, outer, offset, scopes):
            return True
    return False


def _root(value: ir.Value, scopes: Scopes) -> ir.Value:
    while isinstance(op := scopes.definition.get(value), ir.Cast):
        value = op.operand
    return value


def linear(value: ir.Value, scopes: Scopes) -> tuple[ir.Loop | None, int]:
    """``(loop, c)`` when `value` is the loop's ascending counter plus the constant `c`."""
    op = scopes.definition.get(value)
    match op:
        case ir.Loop() if value is op.index:
            return op, 0
        case ir.Cast(operand=operand):
            return linear(operand, scopes)
        case ir.Binary(fn=operator.add, lhs=lhs, rhs=rhs):
            for a, b in ((lhs, rhs), (rhs, lhs)):
                if isinstance(b, ir.Literal) and isinstance(b.value, int):
                    loop, offset = linear(a, scopes)
                    return loop, offset + b.value
    return None, 0


def written_above(value: ir.Value, outer: ir.Loop, offset: int, scopes: Scopes) -> bool:
    """Whether `value` exceeds ``outer.index + offset`` in this and all later iterations of `outer`."""
    op = scopes.definition.get(value)
    match op:
        case ir.Cast(operand=operand):
            return written_above(operand, outer, offset, scopes)
        case ir.Binary(fn=operator.add, lhs=lhs, rhs=rhs):
            # start + index of an inner loop: start must be the outer counter plus more than `offset`
            for start, index in ((lhs, rhs), (rhs, lhs)):
                inner = scopes.definition.get(index)
                if isinstance(inner, ir.Loop) and index is inner.index and inner is not outer:
                    loop, above = linear(start, scopes)
                    if loop is outer and above > offset:
                        return True
            loop, above = linear(value, scopes)
            return loop is outer and above > offset
    return False
