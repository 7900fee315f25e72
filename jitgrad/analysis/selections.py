"""Where a partial may be infinite or nan and a selection throws its result away.

``np.where(p > 0, p * np.log(p), 0.0)`` multiplies by ``log(0)`` and does not select the product: its cotangent is
zero, and must remain so when it is multiplied by the infinite partial. Such products cost a comparison, so they are
written only where both can happen: where a partial reads a value that is not finite for every finite input, and where
the result reaches a branch, a ``where`` or an index that may leave it out. Neither is followed through stores into
views.
"""

from __future__ import annotations

from collections.abc import Iterable

from numba.core import types

from jitgrad import rules
from jitgrad.analysis.effects import rule_of
from jitgrad.analysis.scopes import Scope, Scopes
from jitgrad.program import ir


class Selections:
    """The values of a program that may not be finite, and those that may be left out."""

    def __init__(self, program: ir.Program, scopes: Scopes):
        self._scopes = scopes
        after: dict[ir.Value, list[ir.Value]] = {}
        before: dict[ir.Value, list[ir.Value]] = {}
        wild: list[ir.Value] = []
        left_out: list[ir.Value] = []
        for op in ir.walk(program.body):
            for source, target in _flows(op):
                after.setdefault(source, []).append(target)
                before.setdefault(target, []).append(source)
            if _unbounded(op) and not self._is_step(op):
                wild += op.results
            left_out += _selected(op)
        left_out += [value for value, uses in scopes.uses.items() if any(self._below(value, op) for op in uses)]
        self._wild = _reach(wild, after)
        self._left_out = _reach(left_out, before)

    def discards(self, result: ir.Value, operands: Iterable[ir.Value]) -> bool:
        """Whether `result` may be left out where one of `operands`, which its partial reads, is infinite or nan."""
        return result in self._left_out and any(value in self._wild for value in operands)

    def _is_step(self, op: ir.Op) -> bool:
        """Whether a number is divided by a count before all loops, as for a step size: nothing selects among those."""
        outside = self._scopes.at[op].loop is None and not isinstance(self._scopes.at[op].owner, ir.Map)
        return outside and isinstance(op, ir.Binary) and isinstance(op.rhs.type, types.Integer)

    def _below(self, value: ir.Value, op: ir.Op) -> bool:
        """Whether `op` reads a number in a branch that may not run, though `value` is always computed."""
        home = self._scopes.home.get(value)
        scope: Scope | None = self._scopes.at[op]
        while scope is not None and scope is not home:
            if isinstance(scope.owner, ir.If):
                return True
            scope = scope.parent
        return False


def _reach(seeds: list[ir.Value], edges: dict[ir.Value, list[ir.Value]]) -> set[ir.Value]:
    found, todo = set(seeds), list(seeds)
    while todo:
        for value in edges.get(todo.pop(), ()):
            if value not in found:
                found.add(value)
                todo.append(value)
    return found


def _flows(op: ir.Op) -> Iterable[tuple[ir.Value, ir.Value]]:
    """From which values an operation computes which."""
    match op:
        case ir.If():
            for arm in (op.then_yields, op.else_yields):
                yield from zip(arm, op.outs, strict=True)
        case ir.Loop():
            for param, init, out, new in zip(op.params, op.inits, op.outs, op.yields, strict=True):
                yield from ((init, param), (new, param), (param, out))
        case ir.Map():
            yield from zip(op.inputs, op.params, strict=True)
            yield op.output, op.result
        case ir.GetItem():
            yield op.base, op.result
        case ir.SetItem():
            yield op.value, op.base
        case _:
            for result in op.results:
                for operand in op.operands:
                    yield operand, result


def _unbounded(op: ir.Op) -> bool:
    """Whether a function can be infinite or nan where its operands are finite."""
    rule = rule_of(op) if isinstance(op, (ir.Unary, ir.Binary, ir.Call, ir.Method)) else None
    if not isinstance(rule, rules.ScalarRule) or not (rule.singular or rule.overflows):
        return False
    if isinstance(op, ir.Binary) and isinstance(op.rhs, ir.Literal):  # x / 2.0 and x ** 2 are finite
        name = getattr(op.fn, "__name__", "")
        return not (op.rhs.value and (name != "pow" or op.rhs.value > 0 and op.rhs.value == int(op.rhs.value)))
    return True


def _selected(op: ir.Op) -> list[ir.Value]:
    """The values of which an operation may select others, or a part."""
    match op:
        case ir.If():
            inside = {result for block in op.blocks for inner in block for result in inner.results}
            return [value for value in (*op.then_yields, *op.else_yields) if value not in inside]
        case ir.GetItem(base=base) if isinstance(base.type, types.Array):
            return [base]
        case ir.SetItem(base=base):
            return [base]
        case ir.Binary() | ir.Call() | ir.Method():
            rule = rule_of(op)
            row = rule.for_call([v.type for v in op.operands]) if isinstance(rule, rules.ScalarRule) else None
            return list(op.operands) if row is not None and row.select else []
    return []
