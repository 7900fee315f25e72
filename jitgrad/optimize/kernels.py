"""What is not right bit for bit, so only done where that is asked for: elementary functions as kernels of
`jitgrad.fastmath`, and sums of innermost loops in any order."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba.core import types

from jitgrad import fastmath
from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir
from jitgrad.runtime.sums import accumulate

NAMES = ("cos", "erf", "exp", "expm1", "log", "log1p", "pow", "sin", "tan", "tanh")
KERNELS: dict[Any, Any] = {
    **{getattr(math, name): getattr(fastmath, name) for name in NAMES if hasattr(math, name)},
    **{getattr(np, name): getattr(fastmath, name) for name in NAMES if hasattr(np, name)},
    np.power: fastmath.pow,
    np.float_power: fastmath.pow,
}
_FLOATS = (types.float64, types.float32)
_KINDS = [{kind} for kind in _FLOATS]
_SMOOTH = {operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg, operator.pos}


def use_kernels(program: ir.Program) -> None:
    """Call kernels in elementwise expressions and innermost loops, and free the sums of the latter, in place."""
    _in_block(program.body, inner=False)
    scopes = Scopes(program)
    for op in ir.walk(program.body):
        if isinstance(op, ir.Loop) and not op.parallel and not _has_loop(op.body):
            _free_sums(op, scopes)


def _in_block(block: ir.Block, inner: bool) -> None:
    """Call kernels in a block, which is that of a map or an innermost loop if `inner`, and in all blocks within."""
    for k, op in enumerate(block.ops):
        for part in op.blocks:
            _in_block(part, isinstance(op, ir.Map) or inner or isinstance(op, ir.Loop) and not _has_loop(part))
        if inner:
            block.ops[k] = as_kernel(op)


def _has_loop(block: ir.Block) -> bool:
    return any(isinstance(op, ir.Loop) for op in ir.walk(block))


def as_kernel(op: ir.Op) -> ir.Op:
    """The call of the kernel that computes what `op` does; `op` itself where there is none."""
    match op:
        case ir.Call(fn=fn, vararg=None) if not op.kwargs and ir.among(fn, KERNELS):
            kernel = KERNELS[fn]
        case ir.Binary(fn=operator.pow, rhs=rhs) if not isinstance(rhs, ir.Literal):
            kernel = fastmath.pow
        case _:
            return op
    result = op.results[0]
    if result.type not in _FLOATS or any(v.type != result.type for v in op.operands):
        return op
    return ir.Call(result, kernel, list(op.operands), loc=op.loc)


def _free_sums(loop: ir.Loop, scopes: Scopes) -> None:
    """Let LLVM reorder the sums that a loop carries and only adds to, in place.

    Compensated sums look at what they have so far, and stay as they are.
    """
    sums = dict(zip(loop.yields, loop.params, strict=True))
    for op in loop.body.ops:
        if isinstance(op, ir.Binary) and op.fn is operator.add and op.result in sums:
            total = sums[op.result]
            alone = scopes.uses[total] == [op] and scopes.uses[op.result] == [loop]
            if alone and op.lhs is not op.rhs and {op.lhs.type, op.rhs.type, op.result.type} in _KINDS:
                op.free = accumulate


def is_smooth(block: ir.Block) -> bool:
    """Whether a block of scalar code does nothing but smooth arithmetic, so that last digits decide nothing."""
    return all(_is_smooth(op) for op in block)


def _is_smooth(op: ir.Op) -> bool:
    match op:
        case ir.Binary(fn=fn) | ir.Unary(fn=fn):
            return fn in _SMOOTH
        case ir.Call(fn=fn):
            return ir.among(fn, KERNELS) or isinstance(fn, fastmath.Function)
        case ir.Cast(result=result):
            return result.type in _FLOATS
    return False
