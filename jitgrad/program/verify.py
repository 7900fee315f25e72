"""Checking that a Program is well formed."""

from __future__ import annotations

from jitgrad.program import ir


class MalformedProgram(AssertionError):
    """A Program that breaks a rule of `ir`."""


def verify(program: ir.Program) -> None:
    """Check `program`.

    Every value has one definition, which comes before its uses in the same block or in one around
    it; the parallel lists of branches and loops have equal lengths; yields have the types of what
    they are yielded to; every value has a type.

    Raises
    ------
    MalformedProgram
        Naming the operation and the value.
    """
    seen: set[ir.Value] = set()
    scope = _defining(program.params, None, set(), seen)
    scope = _block(program.body, scope, seen)
    _readable(program.result, None, scope)


def _block(block: ir.Block, outer: set[ir.Value], seen: set[ir.Value]) -> set[ir.Value]:
    """Check `block`; returns the values visible at its end."""
    scope = set(outer)
    for op in block.ops:
        for value in op.operands:
            _readable(value, op, scope)
        match op:
            case ir.If():
                _equal_lengths(op, op.outs, op.then_yields, op.else_yields)
                _yields(op, op.then_yields, op.outs, _block(op.then, scope, seen))
                _yields(op, op.else_yields, op.outs, _block(op.orelse, scope, seen))
            case ir.Loop():
                _equal_lengths(op, op.params, op.inits, op.yields, op.outs)
                _same_types(op, op.inits, op.params)
                _same_types(op, op.outs, op.params)
                inside = _block(op.body, _defining([op.index, *op.params], op, scope, seen), seen)
                _yields(op, op.yields, op.params, inside)
                if op.again is not None:
                    _readable(op.again, op, inside)
            case ir.Map():
                _equal_lengths(op, op.inputs, op.params)
                inside = _block(op.body, _defining(op.params, op, scope, seen), seen)
                _readable(op.output, op, inside)
        scope = _defining(op.results, op, scope, seen)
    return scope


def _fail(op: ir.Op | None, message: str) -> None:
    place = f"{type(op).__name__} at {op.loc}: " if op is not None else ""
    raise MalformedProgram(place + message)


def _defining(values: list[ir.Value], op: ir.Op | None, scope: set[ir.Value], seen: set[ir.Value]) -> set[ir.Value]:
    for value in values:
        if isinstance(value, (ir.Literal, ir.Global, ir.Undefined)):
            _fail(op, f"{value.name} is a constant but is defined")
        if value in seen:
            _fail(op, f"{value.name} is defined twice")
        if value.type is None:
            _fail(op, f"{value.name} has no type")
        seen.add(value)
    return scope | set(values)


def _readable(value: ir.Value, op: ir.Op | None, scope: set[ir.Value]) -> None:
    if type(value) not in (ir.Value, ir.Literal, ir.Global, ir.Undefined):
        _fail(op, f"{value.name} is a {type(value).__name__}")
    if type(value) is ir.Value and value not in scope:
        _fail(op, f"{value.name} is read before it is defined")
    if value.type is None and not isinstance(value, ir.Undefined):
        _fail(op, f"{value.name} has no type")


def _yields(op: ir.Op, yields: list[ir.Value], targets: list[ir.Value], scope: set[ir.Value]) -> None:
    for value in yields:
        _readable(value, op, scope)
    _same_types(op, yields, targets)


def _same_types(op: ir.Op, values: list[ir.Value], targets: list[ir.Value]) -> None:
    for value, target in zip(values, targets, strict=True):
        if value.type != target.type and not isinstance(value, ir.Undefined):
            _fail(op, f"{value.name} of type {value.type} goes to {target.name} of type {target.type}")


def _equal_lengths(op: ir.Op, *lists: list) -> None:
    if len({len(part) for part in lists}) > 1:
        _fail(op, "parallel lists of different lengths")
