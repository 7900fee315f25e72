"""Removing what reading leaves behind: unused pure operations, decided branches, idle carried values.

A branch with an arm that raises becomes a check, with what the other arm does behind it: then no branch hands values
on, and the backward sweep has none to go through.
"""

from __future__ import annotations

import operator
from itertools import compress
from typing import Any, TypeGuard

import numpy as np
from numba.core import types
from numba.misc.special import prange

from jitgrad.frontend.tuples import split_tuples
from jitgrad.program import ir
from jitgrad.program.clone import defined, replace_values

PURE_CALLS = (
    range, prange, slice, zip, enumerate, np.ndenumerate, np.ndindex, len, bool, min, max, abs, float, int, complex,
)  # fmt: skip
FOLDED = {
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.add, operator.sub,
    operator.mul, operator.floordiv,
}  # fmt: skip
RAISING = {
    operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.matmul, operator.lshift, operator.rshift,
}  # fmt: skip


def simplify(program: ir.Program) -> None:
    """Simplify `program` in place until nothing changes."""
    while True:
        values: dict[ir.Value, ir.Value] = {}
        _decide(program.body, values)
        changed = split_tuples(program.body, values)
        changed |= replace_values(program.body, values)
        result = resolved(program.result, values)
        changed |= result is not program.result
        program.result = result
        changed |= _sweep(program)
        if not changed:
            return


def resolved(value: ir.Value, values: dict[ir.Value, ir.Value]) -> ir.Value:
    """Follow `values` to the end of a chain of replacements."""
    while value in values:
        value = values[value]
    return value


def _decide(block: ir.Block, values: dict[ir.Value, ir.Value]) -> None:
    """Flatten branches whose condition is known and find carried values that never change."""
    ops: list[ir.Op] = []
    flags: dict[ir.Value, tuple[ir.If, Any, Any]] = {}  # results of branches that are one constant or another
    for op in block.ops:
        for inner in op.blocks:
            _decide(inner, values)
        if isinstance(op, ir.If):
            condition = resolved(op.cond, values)
            if isinstance(condition, ir.Literal):
                taken, yields = (op.then, op.then_yields) if condition.value else (op.orelse, op.else_yields)
                values.update(zip(op.outs, yields, strict=True))
                ops += taken.ops
                continue
            if _raises(op.then) or _raises(op.orelse):
                ops += _guard(op, condition, values)
                if _raises(op.then) and _raises(op.orelse):
                    break
                continue
            for out, then, orelse in zip(op.outs, op.then_yields, op.else_yields, strict=True):
                then, orelse = resolved(then, values), resolved(orelse, values)
                if then is orelse or isinstance(orelse, ir.Undefined) and _outside(then, op.then):
                    values[out] = then
                elif isinstance(then, ir.Undefined) and _outside(orelse, op.orelse):
                    values[out] = orelse
                elif _is_true(then) and _is_false(orelse):
                    values[out] = condition
                elif _is_false(then) and _is_true(orelse):
                    values[out] = ir.Value("t", types.boolean)
                    ops.append(ir.Unary(values[out], operator.not_, condition, loc=op.loc))
            _drop(op, [out not in values for out in op.outs], ("outs", "then_yields", "else_yields"))
            for out, then, orelse in zip(op.outs, op.then_yields, op.else_yields, strict=True):
                if _is_plain(then) and _is_plain(orelse) and then.value != orelse.value:
                    flags[out] = op, then.value, orelse.value
        elif isinstance(op, ir.Loop):
            for param, init, out, yielded in zip(op.params, op.inits, op.outs, op.yields, strict=True):
                yielded = resolved(yielded, values)
                unset = isinstance(yielded, ir.Undefined) and isinstance(init, ir.Undefined)
                if yielded is param or yielded is init or unset:
                    values[param] = values[out] = init
            _drop(op, [out not in values for out in op.outs], ("params", "inits", "yields", "outs"))
            _settle(op, values)
            if op.again is not None and _is_false(resolved(op.again, values)) and op.trips is None:
                ops += _one_trip(op, values)
                continue
        elif isinstance(op, ir.Cast):
            operand = resolved(op.operand, values)
            if operand.type == op.result.type:
                values[op.result] = operand
                continue
            if isinstance(operand, ir.Undefined):
                values[op.result] = ir.Undefined(operand.name, op.result.type)
                continue
        elif isinstance(op, ir.Binary) and op.fn is operator.eq and resolved(op.lhs, values) in flags:
            branch, then, orelse = flags[resolved(op.lhs, values)]
            if isinstance(op.rhs, ir.Literal) and op.rhs.value == then:
                values[op.result] = resolved(branch.cond, values)
                continue
            if isinstance(op.rhs, ir.Literal) and op.rhs.value == orelse:
                ops.append(ir.Unary(op.result, operator.not_, branch.cond, loc=op.loc))
                continue
        elif isinstance(op, ir.Binary) and op.fn in FOLDED:
            lhs, rhs = resolved(op.lhs, values), resolved(op.rhs, values)
            divides = op.fn is not operator.floordiv or isinstance(rhs, ir.Literal) and rhs.value != 0
            if _is_plain(lhs) and _is_plain(rhs) and divides and op.result.type in (types.boolean, types.intp):
                values[op.result] = ir.Literal("t", op.result.type, op.fn(lhs.value, rhs.value))
                continue
        ops.append(op)
        if isinstance(op, ir.Raise):
            break
    block.ops = ops


def _raises(block: ir.Block) -> bool:
    """Whether a block ends with an error."""
    return bool(block.ops) and isinstance(block.ops[-1], ir.Raise)


def _guard(op: ir.If, condition: ir.Value, values: dict[ir.Value, ir.Value]) -> list[ir.Op]:
    """A branch that one arm does not leave: what the other arm does then follows it, with no branch around it."""
    ops: list[ir.Op] = []
    refused, rest, yields = op.then, op.orelse, op.else_yields
    if not _raises(refused):
        refused, rest, yields = op.orelse, op.then, op.then_yields
        holds, condition = condition, ir.Value("t", types.boolean)
        ops.append(ir.Unary(condition, operator.not_, holds, loc=op.loc))
    values.update(zip(op.outs, yields, strict=True))
    return [*ops, ir.If(condition, refused, ir.Block(), loc=op.loc), *rest.ops]


def _settle(loop: ir.Loop, values: dict[ir.Value, ir.Value]) -> None:
    """Replace parameters that keep their initial value as long as the loop goes on.

    Such a slot only carries what an early exit leaves in it (an exit code, the function's result).
    """
    if loop.again is None:
        return
    branches = {out: op for op in ir.walk(loop.body) if isinstance(op, ir.If) for out in op.outs}
    unary = [op for op in ir.walk(loop.body) if isinstance(op, ir.Unary)]
    negated = {op.result: op.operand for op in unary if op.fn is operator.not_}

    def keeps(value: ir.Value, again: ir.Value, param: ir.Value) -> bool:
        """Whether `value` is `param` whenever `again` is true."""
        value, again = resolved(value, values), resolved(again, values)
        if value is param or _is_false(again):
            return True
        branch = branches.get(value)
        if branch is None:
            return False
        at = branch.outs.index(value)
        condition = resolved(branch.cond, values)
        if condition is again:
            return keeps(branch.then_yields[at], _TRUE, param)
        if again in negated and resolved(negated[again], values) is condition:
            return keeps(branch.else_yields[at], _TRUE, param)
        then = orelse = again
        if branches.get(again) is branch:
            of_again = branch.outs.index(again)
            then, orelse = branch.then_yields[of_again], branch.else_yields[of_again]
        return keeps(branch.then_yields[at], then, param) and keeps(branch.else_yields[at], orelse, param)

    for param, init, yielded in zip(loop.params, loop.inits, loop.yields, strict=True):
        if keeps(yielded, loop.again, param):
            values[param] = init


_TRUE = ir.Literal("t", types.boolean, True)


def _one_trip(loop: ir.Loop, values: dict[ir.Value, ir.Value]) -> list[ir.Op]:
    """The operations of a loop that never goes on to a second iteration."""
    values.update(zip(loop.params, loop.inits, strict=True))
    values[loop.index] = ir.Literal("t", types.intp, 0)
    if loop.count is None:
        values.update(zip(loop.outs, loop.yields, strict=True))
        return loop.body.ops
    enters = ir.Value("t", types.boolean)
    branch = ir.If(enters, loop.body, ir.Block(), loop.outs, loop.yields, list(loop.inits), loc=loop.loc)
    return [ir.Binary(enters, operator.gt, loop.count, values[loop.index], loc=loop.loc), branch]


def _outside(value: ir.Value, block: ir.Block) -> bool:
    """Whether `value` is defined outside `block`; no value at all may then be any value."""
    if type(value) is not ir.Value:
        return True
    return not any(value in defined(op) for op in ir.walk(block))


def _is_true(value: ir.Value) -> bool:
    return isinstance(value, ir.Literal) and value.value is True


def _is_plain(value: ir.Value) -> TypeGuard[ir.Literal]:
    """Whether `value` is a small integer, a flag or a string."""
    if not isinstance(value, ir.Literal):
        return False
    return type(value.value) in (bool, str) or type(value.value) is int and abs(value.value) < 2**31


def _is_false(value: ir.Value) -> bool:
    return isinstance(value, ir.Literal) and value.value is False


def _drop(op: ir.Op, keep: list[bool], names: tuple[str, ...]) -> None:
    """Leave in parallel lists the entries that `keep` marks."""
    for name in names:
        setattr(op, name, list(compress(getattr(op, name), keep)))


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
                used.update(value for param, value in zip(op.params, op.yields, strict=True) if value is not param)
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
            _drop(op, [out in used for out in op.outs], ("outs", "then_yields", "else_yields"))
            changed |= before != len(op.outs)
        elif isinstance(op, ir.Loop):
            before = len(op.params)
            keep = [param in used or out in used for param, out in zip(op.params, op.outs, strict=True)]
            _drop(op, keep, ("params", "inits", "yields", "outs"))
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
            text = any(isinstance(v.type, types.UnicodeType) for v in op.operands)
            return any(op.fn is pure for pure in PURE_CALLS) and not text
        case ir.If():
            return not op.then.ops and not op.orelse.ops
        case ir.Map():
            return True
    return False
