"""Out of SSA: which values can be one variable of the generated function.

Values that a branch or loop joins, and values with the user's same name, become one variable wherever
they are never alive at the same time, so that generated code reads like the code it came from.
"""

from __future__ import annotations

from collections.abc import Iterable

from numba.core import types

from jitgrad.analysis.scopes import yielded
from jitgrad.program import ir


class Variables:
    """The variable of every value of a program.

    Parameters
    ----------
    program : Program
    keep : iterable of Value
        Values that stay alive to the end of the function.
    """

    def __init__(self, program: ir.Program, keep: Iterable[ir.Value] = ()):
        self._conflicts: dict[ir.Value, set[ir.Value]] = {}
        self._parent: dict[ir.Value, ir.Value] = {}
        self._wishes: list[tuple[ir.Value, ir.Value]] = []
        self._order: list[ir.Value] = []
        self._params = set(program.params)
        self._elements: set[ir.Value] = set()  # parameters of maps: they stand for elements, never for variables
        for param in program.params:
            self._seen(param)
        live = self._block(program.body, _variables([program.result, *keep]))
        self._define(program.params, live | set(program.params))
        self._coalesce()

    def of(self, value: ir.Value) -> ir.Value:
        """The value whose name stands for the variable that holds `value`."""
        while (parent := self._parent.get(value, value)) is not value:
            value = parent
        return value

    # ----- liveness, backwards -----------------------------------------------------------------
    def _block(self, block: ir.Block, live: set[ir.Value]) -> set[ir.Value]:
        for op in block:
            for value in op.results:
                self._seen(value)
            for value in (*getattr(op, "params", ()), getattr(op, "index", None)):
                if isinstance(value, ir.Value) and isinstance(op, (ir.Loop, ir.Map)):
                    self._seen(value)
        for op in reversed(block.ops):
            live = self._op(op, live)
        return live

    def _op(self, op: ir.Op, after: set[ir.Value]) -> set[ir.Value]:
        self._define(op.results, after)
        live = after - set(op.results)
        match op:
            case ir.If():
                self._wish(zip(op.outs, op.then_yields, strict=True))
                self._wish(zip(op.outs, op.else_yields, strict=True))
                then = self._block(op.then, live | _variables(op.then_yields))
                orelse = self._block(op.orelse, live | _variables(op.else_yields))
                return then | orelse | _variables([op.cond])
            case ir.Loop():
                return self._loop(op, live)
            case ir.Map():
                around = live | free(op) | _variables([*op.inputs, op.result])
                self._define([op.result], _variables(op.inputs))
                body = self._block(op.body, around | _variables([op.output]))
                self._define(op.params, body | set(op.params) | around)
                self._elements.update(op.params)
                return live | free(op) | _variables(op.inputs)
            case ir.InplaceBinary():
                if op.result is not None:
                    self._wish((result, op.lhs) for result in op.results)
            case ir.Cast():
                self._wish([(op.result, op.operand)])
            case _ if any(isinstance(r.type, (types.Array, types.BaseTuple)) for r in op.results):
                self._define(op.results, _variables(op.operands))  # may take several statements
        return live | _variables(op.operands)

    def _loop(self, op: ir.Loop, live: set[ir.Value]) -> set[ir.Value]:
        self._wish(zip(op.params, op.outs, strict=True))
        self._wish(zip(op.params, op.yields, strict=True))
        self._wish(zip(op.params, op.inits, strict=True))
        again = _variables([op.again] if op.again is not None else [])
        counters = {v for v in (op.trips, op.index if op.count is None else None) if v is not None}
        through = live | free(op) | counters
        body = self._block(op.body, through | _variables(op.yields) | again)
        self._define([*op.params, op.index, *counters], body | set(op.params) | again | counters)
        self._define(op.outs, counters)
        if op.count is not None:  # read after the parameters have got their initial values
            self._define(op.params, _variables([op.count]))
        inside = {*op.params, op.index, *counters}
        return (body - inside) | live | _variables(op.operands)

    def _seen(self, value: ir.Value) -> None:
        if value not in self._conflicts:
            self._conflicts[value] = set()
            self._order.append(value)

    def _define(self, values: Iterable[ir.Value], live: set[ir.Value]) -> None:
        values = list(values)
        for value in values:
            self._seen(value)
        for value in values:
            for other in (*live, *values):
                if other is not value:
                    self._seen(other)
                    self._conflicts[value].add(other)
                    self._conflicts[other].add(value)

    def _wish(self, pairs: Iterable[tuple[ir.Value, ir.Value]]) -> None:
        self._wishes += pairs

    # ----- coalescing --------------------------------------------------------------------------
    def _coalesce(self) -> None:
        for a, b in self._wishes:
            if _is_variable(a) and _is_variable(b):
                self._merge(a, b)
        homes: dict[tuple, list[ir.Value]] = {}
        for value in self._order:
            if value in self._elements:
                continue
            known = homes.setdefault((value.name, value.type), [])
            if not any(self._merge(other, value) for other in known):
                known.append(value)

    def _merge(self, a: ir.Value, b: ir.Value) -> bool:
        a, b = self.of(a), self.of(b)
        if a is b:
            return True
        if a.type != b.type or b in self._conflicts[a] or (a in self._params and b in self._params):
            return False
        if b in self._params or (a not in self._params and a.name == "t"):
            a, b = b, a
        self._parent[b] = a
        for other in self._conflicts.pop(b):
            self._conflicts[other].discard(b)
            self._conflicts[other].add(a)
            self._conflicts[a].add(other)
        return True


def free(op: ir.Op) -> set[ir.Value]:
    """The values read inside the blocks of an operation that are defined outside them."""
    used = _variables(yielded(op))
    defined = {*getattr(op, "params", ()), getattr(op, "index", None)}
    for block in op.blocks:
        for inner in ir.walk(block):
            used |= _variables([*inner.operands, *yielded(inner)])
            defined.update(inner.results)
            if isinstance(inner, (ir.Loop, ir.Map)):
                defined.update([*inner.params, getattr(inner, "index", None)])
    return used - defined


def _is_variable(value: ir.Value) -> bool:
    return not isinstance(value, (ir.Literal, ir.Global, ir.Undefined))


def _variables(values: Iterable[ir.Value]) -> set[ir.Value]:
    return {v for v in values if _is_variable(v)}
