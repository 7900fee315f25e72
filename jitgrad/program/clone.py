"""Copying operations with other values in place of their operands."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from jitgrad.program import ir

DEFINING_FIELDS = {"result", "params", "outs", "trips"}


def clone_block(block: ir.Block, values: dict[ir.Value, ir.Value]) -> ir.Block:
    """A deep copy of `block` whose results are new values.

    Parameters
    ----------
    block : Block
    values : dict of Value to Value
        What to put in place of values from outside (parameters by arguments); the new results are
        entered here.
    """
    return ir.Block([_clone_op(op, values) for op in block.ops])


def _clone_op(op: ir.Op, values: dict[ir.Value, ir.Value]) -> ir.Op:
    for value in defined(op):
        values[value] = ir.Value(value.name, value.type)
    # Blocks first: what they define is yielded by the other fields.
    copied: dict[str, Any] = {field.name: getattr(op, field.name) for field in fields(op)}
    for name, part in copied.items():
        if isinstance(part, ir.Block):
            copied[name] = clone_block(part, values)
    for name, part in copied.items():
        if not isinstance(part, ir.Block):
            copied[name] = _clone(part, values)
    return type(op)(**copied)


def defined(op: ir.Op) -> list[ir.Value]:
    """Everything an operation defines: its results and the parameters of its blocks."""
    match op:
        case ir.Loop():
            return [op.index, *op.params, *op.results]
        case ir.Map():
            return [*op.params, op.result]
    return op.results


def _clone(part: Any, values: dict[ir.Value, ir.Value]) -> Any:
    match part:
        case ir.Value():
            return values.get(part, part)
        case ir.Slice():
            return ir.Slice(*(v if v is None else values.get(v, v) for v in (part.start, part.stop, part.step)))
        case list() | tuple():
            return type(part)(_clone(item, values) for item in part)
        case dict():
            return {key: _clone(item, values) for key, item in part.items()}
    return part


def replace_values(block: ir.Block, values: dict[ir.Value, ir.Value]) -> bool:
    """Replace operands everywhere in `block`, in place, following chains of replacements.

    Returns
    -------
    bool
        Whether any operand was replaced.
    """
    if not values:
        return False
    final = {}
    for value in values:
        target = value
        while target in values:
            target = values[target]
        final[value] = target
    changed = False
    for op in ir.walk(block):
        for field in fields(op):
            part = getattr(op, field.name)
            if field.name in DEFINING_FIELDS or not isinstance(part, (ir.Value, list, tuple, dict)):
                continue
            new = _clone(part, final)
            if new is not part and new != part:
                setattr(op, field.name, new)
                changed = True
    return changed
