"""One name for one thing: values that are only other names of a value are replaced by it.

``a += b`` on an array gives the array itself; a branch or loop that hands on what it was given hands on
nothing. Where an array that is written keeps one name throughout, its adjoint needs no bookkeeping.
"""

from __future__ import annotations

from numba.core import types

from jitgrad.program import ir
from jitgrad.program.clone import replace_values


def resolve_aliases(program: ir.Program) -> None:
    """Replace renamings by what they name until nothing changes, in place."""
    done: set[ir.Value] = set()  # casts that stay behind as dead code
    while True:
        names: dict[ir.Value, ir.Value] = {}
        for op in ir.walk(program.body):
            _collect(op, names, done)
        done.update(names)
        if not names:
            return
        replace_values(program.body, names)
        while program.result in names:
            program.result = names[program.result]
        for op in ir.walk(program.body):
            _drop(op, names)


def _final(value: ir.Value, names: dict[ir.Value, ir.Value]) -> ir.Value:
    while value in names:
        value = names[value]
    return value


def _collect(op: ir.Op, names: dict[ir.Value, ir.Value], done: set[ir.Value]) -> None:
    match op:
        case ir.InplaceBinary(lhs=lhs, result=ir.Value() as result) if isinstance(lhs.type, types.Array):
            names[result] = lhs
        case ir.Cast(operand=operand, result=result) if operand.type == result.type and result not in done:
            names[result] = operand
        case ir.If():
            for out, then, orelse in zip(op.outs, op.then_yields, op.else_yields, strict=True):
                if _final(then, names) is _final(orelse, names):
                    names[out] = then
        case ir.Loop():
            for param, init, out, value in zip(op.params, op.inits, op.outs, op.yields, strict=True):
                if _final(value, names) is param and param.type == init.type and param not in names:
                    names[param] = names[out] = init


def _drop(op: ir.Op, names: dict[ir.Value, ir.Value]) -> None:
    """Forget definitions of replaced values."""
    match op:
        case ir.InplaceBinary() if op.result in names:
            op.result = None
        case ir.If():
            kept = [k for k, out in enumerate(op.outs) if out not in names]
            op.outs, op.then_yields, op.else_yields = (
                [part[k] for k in kept] for part in (op.outs, op.then_yields, op.else_yields)
            )
        case ir.Loop():
            kept = [k for k, param in enumerate(op.params) if param not in names]
            op.params, op.inits, op.yields, op.outs = (
                [part[k] for k in kept] for part in (op.params, op.inits, op.yields, op.outs)
            )
