"""Unrolling loops over a few fixed components (``for c in range(3)``)."""

from __future__ import annotations

from numba.core import types

from jitgrad.program import ir
from jitgrad.program.clone import clone_block, replace_values

MOST_TRIPS = 4
MOST_OPERATIONS = 48


def unroll_small_loops(program: ir.Program) -> None:
    """Unroll innermost loops with a small constant trip count, in place."""
    values: dict[ir.Value, ir.Value] = {}
    _block(program.body, values)
    replace_values(program.body, values)
    while program.result in values:
        program.result = values[program.result]


def _block(block: ir.Block, values: dict[ir.Value, ir.Value]) -> None:
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _block(inner, values)
        if isinstance(op, ir.Loop) and _is_small(op):
            ops += _unrolled(op, values)
        else:
            ops.append(op)
    block.ops = ops


def _is_small(op: ir.Loop) -> bool:
    if not (isinstance(op.count, ir.Literal) and isinstance(op.count.value, int)) or op.again is not None:
        return False
    if not 0 <= op.count.value <= MOST_TRIPS or op.trips is not None:
        return False
    inner = list(ir.walk(op.body))
    return not any(isinstance(x, ir.Loop) for x in inner) and len(inner) * op.count.value <= MOST_OPERATIONS


def _unrolled(op: ir.Loop, values: dict[ir.Value, ir.Value]) -> list[ir.Op]:
    replace_values(ir.Block([op]), values)  # loops inside it are unrolled already
    ops: list[ir.Op] = []
    carried = list(op.inits)
    assert isinstance(op.count, ir.Literal)
    for k in range(op.count.value):
        inside: dict[ir.Value, ir.Value] = dict(zip(op.params, carried, strict=True))
        inside[op.index] = ir.Literal(str(k), types.intp, k)
        ops += clone_block(op.body, inside).ops
        carried = [inside.get(value, value) for value in op.yields]
    values |= dict(zip(op.outs, carried, strict=True))
    return ops
