"""Kernels ahead of the sum that their loop takes: the forward sweep of a loop in two.

A loop that sums what it computes does not vectorise, as the order of the sum counts. Where what it sums are kernels of
`jitgrad.fastmath` that are taped anyway, a loop of their own fills the tape, vectorised, and the sum takes them from
there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numba.core import types

from jitgrad import fastmath, rules
from jitgrad.analysis import effects
from jitgrad.program import ir

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


@dataclass
class Ahead:
    """What runs ahead of a loop.

    Attributes
    ----------
    ops : list of Op
        The kernels and what they are computed from, in order.
    kernels : list of Call
    """

    ops: list[ir.Op]
    kernels: list[ir.Call]


def ahead_of(sweep: Sweep, loop: ir.Loop) -> Ahead | None:
    """The taped kernels that need nothing that the loop carries, if it does nothing but arithmetic."""
    if loop.again is not None or loop.count is None or not loop.params or loop.parallel:
        return None
    if not all(_pure(op) for op in loop.body):
        return None
    carried, kernels = set(loop.params), []
    for op in loop.body:
        if not carried.isdisjoint(op.operands):
            carried.update(op.results)
        elif isinstance(op, ir.Call) and isinstance(op.fn, fastmath.Function) and op.result in sweep.saved.strips:
            kernels.append(op)
    if not kernels:
        return None
    needed, ops = {k.result for k in kernels}, []
    for op in reversed(loop.body.ops):
        if not needed.isdisjoint(op.results):
            needed.update(op.operands)
            ops.append(op)
    return Ahead(ops[::-1], kernels)


def _pure(op: ir.Op) -> bool:
    """Whether an operation computes numbers from numbers and elements of arrays, and does nothing else."""
    if any(isinstance(v.type, types.Array) for v in op.results):
        return False
    match op:
        case ir.Unary() | ir.Binary() | ir.Cast() | ir.GetItem() | ir.GetAttr():
            return True
        case ir.Call():
            return isinstance(effects.rule_of(op), rules.ScalarRule)
    return False
