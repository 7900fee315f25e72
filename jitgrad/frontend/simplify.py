"""Removing what reading leaves behind: unused pure operations, decided branches, idle carried values."""

from __future__ import annotations

import operator

from numba.core import types
from numba.misc.special import prange

from jitgrad.program import ir
from jitgrad.program.clone import replace_values

PURE_CALLS = (range, prange, slice, zip, enumerate, len, bool, min, max, abs, float, int, complex)
RAISING = {operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.matmul, operator.lshift, operator.rshift}


def simplify(program: ir.Program) -> None:
    """Simplify `program` in place until nothing changes."""
    while True:
        values: dict[ir.Value, ir.Value] = {}
        _decide(program.body, values)
        replace_values(program.body, values)
        program.result = resolved(program.result, values)
        if not _sweep(program) and not values:
            return


def resolved(value: ir.Value, values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Follow `values` to the end of a chain of replacements."""
    while value in values:
        value = values[value]
    return value


def _decide(block: ir.Block, values: dict[ir.Value, ir.Value]) -> None:
    """Flatten branches whose condition is known and find carried values that never change."""
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _decide(inner, values)
        if isinstance(op, ir.If):
            condition = resolved(op.cond, values)
            if isinstance(condition, ir.Literal):
                taken, yields = (op.then, op.then_yields) if condition.value else (op.orelse, op.else_yields)
                values |= zip(op.outs, yields)
                ops += taken.ops
                continue
            for out, then, orelse in zip(op.outs, op.then_yields, op.else_yields):
                then, orelse = resolved(then, values), resolved(orelse, values)
                if then is orelse:
                    values[out] = then
                elif _is_true(then) and _is_false(orelse):
                    values[out] = condition
        elif isinstance(op, ir.Loop):
            for param, init, out, yielded in zip(op.params, op.inits, op.outs, op.yields):
                if yielded is param:
                    values[param] = values[out] = init
            _drop(op, lambda param, _: param not in values, ("params", "inits", "yields", "outs"))
            if op.again is not None and _is_false(resolved(op.again, values)) and op.trips is None:
                ops += _one_trip(op, values)
                continue
        elif isinstance(op, ir.Binary) and op.fn in (operator.eq, operator.ne):
            lhs, rhs = resolved(op.lhs, values), resolved(op.rhs, values)
            if all(isinstance(v, ir.Literal) and isinstance(v.value, (int, str)) for v in (lhs, rhs)):
                values[op.result] = ir.Literal("t", types.boolean, op.fn(lhs.value, rhs.value))
                continue
        ops.append(op)
        if isinstance(op, ir.Raise):
            break
    block.ops = ops


def _one_trip(loop: ir.Loop, values: dict[ir.Value, ir.Value]) -> list[ir.Op]:
    """The operations of a loop that never goes on to a second iteration."""
    values |= zip(loop.params, loop.inits)
    values[loop.index] = ir.Literal("t", types.intp, 0)
    if loop.count is None:
        values |= zip(loop.outs, loop.yields)
        return loop.body.ops
    enters = ir.Value("t", types.boolean)
    branch = ir.If(enters, loop.body, ir.Block(), loop.outs, loop.yields, list(loop.inits), loc=loop.loc)
    return [ir.Binary(enters, operator.gt, loop.count, values[loop.index], loc=loop.loc), branch]


def _is_true(value: ir.Value) -> bool:
    return isinstance(value, ir.Literal) and value.value is True


def _is_false(value: ir.Value) -> bool:
    return isinstance(value, ir.Literal) and value.value is False


def _drop(op: ir.Op, keep, names: tuple[str, ...]) -> None:
    """Keep the entries of parallel lists for which ``keep(first, position)`` holds."""
    places = [k for k, first in enumerate(getattr(op, names[0])) if keep(first, k)]
    for name in names:
        part = getattr(op, name)
        setattr(op, name, [part[k] for k in places])


def _sweep(program: ir.Program) -> bool:
    """Remove unused pure operations and results; returns whether anything went."""
    used = _used(program)
    return _sweep_block(program.body, used)


def _used(program: ir.Program) -> set[ir.Value]:
    used = {program.result}
    for op in ir.walk(program.body):
        used.update(op.operands)
        match op:
            case ir.If():
                used.update(op.then_yields, op.else_yields)
            case ir.Loop():
                # A carried value that only its own next value reads is not used.
                used.update(value for param, value in zip(op.params, op.yields) if value is not param)
                used.update([op.again] if op.again is not None else [])
            case ir.Map():
                used.add(op.output)
    return used


def _sweep_block(block: ir.Block, used: set[ir.Value]) -> bool:
    changed = False
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            changed |= _sweep_block(inner, used)
        if isinstance(op, ir.If):
            before = len(op.outs)
            _drop(op, lambda out, _: out in used, ("outs", "then_yields", "else_yields"))
            changed |= before != len(op.outs)
        elif isinstance(op, ir.Loop):
            before = len(op.params)
            _drop(op, lambda param, k: param in used or op.outs[k] in used, ("params", "inits", "yields", "outs"))
            changed |= before != len(op.params)
        if is_removable(op) and not any(result in used for result in op.results):
            changed = True
            continue
        ops.append(op)
    block.ops = ops
    return changed


def is_removable(op: ir.Op) -> bool:
    """Whether `op` has no effect but its results (a division may raise, so it stays)."""
    match op:
        case ir.BuildTuple() | ir.Cast() | ir.GetAttr():
            return True
        case ir.Unary():
            return isinstance(op.operand.type, (types.Number, types.Boolean))
        case ir.Binary():
            scalars = all(isinstance(v.type, (types.Number, types.Boolean)) for v in (op.lhs, op.rhs))
            return scalars and op.fn not in RAISING
        case ir.GetItem():
            return isinstance(op.base.type, types.BaseTuple)
        case ir.Call():
            return any(op.fn is pure for pure in PURE_CALLS) and not any(isinstance(v.type, types.UnicodeType) for v in op.operands)
        case ir.If():
            return not op.then.ops and not op.orelse.ops
        case ir.Map():
            return True
    return False
