"""Whether the iterations of a backward loop may run in their natural order, which vectorises better than the reverse.

They may where they commute: adjoints are only added to, or each iteration has elements of its own.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from numba.core import types

from jitgrad.analysis import disjoint
from jitgrad.analysis.memory import viewed, written_values
from jitgrad.program import ir
from jitgrad.transforms.reverse import arrays
from jitgrad.transforms.reverse.leaves import is_array

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def ascending(sweep: Sweep, op: ir.Loop, active: list) -> bool:
    """Whether the order of iterations does not matter backwards, so that the natural one can be kept.

    True where no adjoint is carried except through plain sums, adjoint memory is only added to or belongs to one
    iteration, and what is taped can be read in any order. To be asked once the body is written and its tape is known.
    """
    tape = sweep.saved.tapes.get(op)
    if tape is not None and any(strip.cursor is not None for strip in tape.strips):
        return False
    if any(is_array(leaf.type) or not _is_sum(op, k, sweep) for k, leaf in active):
        return False
    body = list(ir.walk(op.body))
    if any(isinstance(inner, ir.Loop) for inner in body):
        return False
    for inner in body:
        if isinstance(inner, (ir.Call, ir.Method)) and any(isinstance(v.type, types.Array) for v in inner.operands):
            return False
    stores = [inner for inner in body if any(sweep.is_active(target) for target in written_values(inner))]
    return not stores or (op not in sweep.replays and all(_owned(sweep, op, body, store) for store in stores))


def _is_sum(op: ir.Loop, k: int, sweep: Sweep) -> bool:
    """Whether the carried scalar is only ever added to, so that its adjoint is the same all along."""
    param, value = op.params[k], op.yields[k]
    uses = sweep.scopes.uses.get(param, [])
    if len(uses) != 1 or not isinstance(uses[0], ir.Binary) or sweep.scopes.uses.get(value) != [op]:
        return False
    use = uses[0]
    if use.result is not value or use.fn not in (operator.add, operator.sub):
        return False
    return use.lhs is param if use.fn is operator.sub else use.lhs is not use.rhs


def _owned(sweep: Sweep, loop: ir.Loop, body: list[ir.Op], store: ir.Op) -> bool:
    """Whether each iteration reads and writes the memory of `store` at an element of its own, by one name."""
    if not isinstance(store, ir.SetItem) or not is_array(store.base.type) or not _own_element(sweep, loop, store.index):
        return False
    memory = sweep.activity.alias_class(store.base)
    for op in body:
        if isinstance(op, ir.GetAttr) and not is_array(op.result.type):
            continue
        touched = [v for v in (*op.operands, *op.results) if is_array(v.type) and _same_memory(sweep, v, memory)]
        if not touched:
            continue
        if not isinstance(op, (ir.GetItem, ir.SetItem)) or touched != [store.base] or viewed(op) is not None:
            return False
        if op.base is not store.base or not arrays.same_index(op.index, store.index):
            return False
    return True


def _same_memory(sweep: Sweep, value: ir.Value, memory: object) -> bool:
    return not isinstance(value, (ir.Literal, ir.Global)) and sweep.activity.alias_class(value) is memory


def _own_element(sweep: Sweep, loop: ir.Loop, index: tuple[ir.IndexItem, ...]) -> bool:
    """Whether an index names one element, another one in each iteration.

    Integers only, and one that counts up with the loop. A count below zero would name the last elements of the
    axis, which its other end may name as well.
    """
    found = False
    for item in index:
        if not isinstance(item, ir.Value) or not isinstance(item.type, types.Integer):
            return False
        counted, offset = disjoint.linear(item, sweep.scopes)
        found |= counted is loop and offset >= 0
    return found
