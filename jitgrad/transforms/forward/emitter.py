"""Blocks, branches and loops with their tangents; the dispatch to everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numba.core import types

from jitgrad import rules
from jitgrad.analysis import structure
from jitgrad.analysis.activity import Activity
from jitgrad.backend.text import Text
from jitgrad.backend.writer import BINARY, present
from jitgrad.frontend.maps import scalar_expression
from jitgrad.program import ir
from jitgrad.transforms.common import placeholder
from jitgrad.transforms.forward import algebra, parallel, zeros
from jitgrad.transforms.forward.tangents import Numbers
from jitgrad.transforms.forward.writer import DualWriter


class Emitter:
    """Writes a program and its tangents, operation by operation.

    Attributes
    ----------
    writer : DualWriter
    activity : Activity
    rules : dict
        Names of the rules used, in order (values are not used).
    handlers : dict
        Operation class -> function of ``(emitter, op)``, for operations without blocks.
    algebra : Numbers
        What a tangent is.
    """

    def __init__(
        self,
        program: ir.Program,
        activity: Activity,
        writer: DualWriter,
        handlers: dict[type, Callable],
        kind: Numbers | None = None,
    ):
        self.program = program
        self.activity = activity
        self.writer = writer
        self.handlers = handlers
        self.algebra = kind or Numbers()
        self.rules: dict[str, None] = {}
        self.marks: dict[ir.Value, bool] = {}  # activity of values that the emitter itself made
        self.producers: dict[ir.Value, ir.Op] = {}
        self.within = False  # a loop that is written in parallel
        self.indices: list[str] = []  # index variables of loop nests, outermost first

    # ----- texts -------------------------------------------------------------------------------
    def active(self, value: ir.Value) -> bool:
        return self.marks[value] if value in self.marks else self.activity.active(value)

    def name(self, value: ir.Value) -> str:
        return self.writer.name(value)

    def dot(self, value: ir.Value) -> str:
        """The variable that holds the tangent of an active value."""
        return self.writer.dot_name(value)

    def use(self, obj: Any, hint: str = "") -> str:
        return self.writer.use(obj, hint or getattr(obj, "__name__", "fn"))

    def line(self, text: str, loc: ir.Location | None = None) -> None:
        self.writer.line(text, loc)

    def assign(self, target: str, text: str, loc: ir.Location | None = None) -> None:
        """``target = text``, unless that says nothing."""
        if target != text:
            self.line(f"{target} = {text}", loc)

    # ----- operations --------------------------------------------------------------------------
    def block(self, block: ir.Block) -> None:
        for op in block:
            self.op(op)

    def op(self, op: ir.Op) -> None:
        match op:
            case ir.If():
                self._if(op)
            case ir.Loop():
                self._loop(op)
            case _:
                self.handlers[type(op)](self, op)
        for result in op.results:
            self.producers[result] = op

    def primal(self, op: ir.Op) -> None:
        """The operation as it stands in the program."""
        match op:
            case ir.Cast():
                text = self.expression(op)
                if text != self.name(op.result):
                    self.line(f"{self.name(op.result)} = {text}", op.loc)
            case ir.Call() | ir.Method() | ir.CallValue():
                if op.result is None or isinstance(op.result.type, types.NoneType):
                    self.line(self.expression(op), op.loc)
                    if op.result is not None:
                        self.writer.alias(self.writer.variables.of(op.result), "None")
                else:
                    self.line(f"{self.name(op.result)} = {self.expression(op)}", op.loc)
            case ir.InplaceBinary():
                self.line(f"{self.name(op.lhs)} {BINARY[op.fn]}= {self.name(op.rhs)}", op.loc)
                if op.result is not None:
                    self.assign(self.name(op.result), self.name(op.lhs))
            case _:
                self.writer.statement(op)

    def expression(self, op: ir.Op) -> str:
        """The right-hand side of an operation as it stands in the program."""
        if isinstance(op, ir.Cast):
            return self._cast(op)
        value = self._value(op) if isinstance(op, ir.Call) else None
        return self.writer.expression(op) if value is None else value

    def _cast(self, op: ir.Cast) -> str:
        """A number converted, where that changes it; anything else under another type is left to Numba."""
        text, to = self.name(op.operand), op.result.type
        numbers = (types.Number, types.Boolean)
        if (number := present(text, op)) is not None:
            return number
        if not isinstance(to, numbers) or not isinstance(op.operand.type, numbers) or op.operand.type == to:
            return text
        return f"{self.use(to, str(to))}({text})"

    def _value(self, op: ir.Call) -> str | None:
        """The expression of a function of one element that cannot be called with scalars (np.where)."""
        if op.fn not in (np.where, np.clip) or any(isinstance(v.type, types.Array) for v in op.operands):
            return None
        if len(op.args) == 3:
            return scalar_expression(self.writer, op)
        rule = rules.lookup(op.fn)
        assert isinstance(rule, rules.ScalarRule)
        row = rule.for_call([structure.strip(v.type) for v in op.operands])
        assert row is not None
        return row.value_text({name: self.name(v) for name, v in row.bind(op.args, op.kwargs).items()})

    def _if(self, op: ir.If) -> None:
        then, orelse = Text(), Text()
        place = self.writer.place
        with self.writer.into(then):
            self._arm(op.then, op.outs, op.then_yields)
        self.writer.place = place
        with self.writer.into(orelse):
            self._arm(op.orelse, op.outs, op.else_yields)
        cond = self.name(op.cond)
        if then.empty and not orelse.empty:
            cond, then, orelse = f"not {cond}", orelse, then
        with self.writer.indented(f"if {cond}:", op.loc) as suite:
            suite.items += then.items
        if not orelse.empty:
            with self.writer.indented("else:") as suite:
                suite.items += orelse.items

    def _arm(self, block: ir.Block, outs: list[ir.Value], yields: list[ir.Value]) -> None:
        self.block(block)
        if not (block.ops and isinstance(block.ops[-1], ir.Raise)):
            self.copies(zip(outs, yields, strict=True))

    def copies(self, pairs: Iterable[tuple[ir.Value, ir.Value]], begin: bool = False) -> None:
        """Assign values and tangents to variables, all at once.

        Undefined sources leave their targets alone, except at the beginning of a loop, where Numba wants
        to see an assignment.
        """
        moves: list[tuple[str, str]] = []
        for target, source in pairs:
            if isinstance(source, ir.Undefined):
                text = placeholder(self.writer, structure.strip(target.type)) if begin else None
                if text is not None:
                    moves.append((self.name(target), text))
                    if self.active(target):
                        moves.append((self.dot(target), zeros.zero_like(self, text, target.type)))
                continue
            moves.append((self.name(target), self.name(source)))
            if self.active(target):
                dot = self.dot(source) if self.active(source) else zeros.zero(self, source, target.type)
                moves.append((self.dot(target), dot))
        for text in algebra.in_order(moves):
            self.line(text)

    def _loop(self, op: ir.Loop) -> None:
        self.copies(zip(op.params, op.inits, strict=True), begin=True)
        if parallel.runs(self, op):
            parallel.loop(self, op)
            self.copies(zip(op.outs, op.params, strict=True))
            return
        index = self.name(op.index)
        if op.trips is not None:
            self.line(f"{self.name(op.trips)} = 0")
        if op.count is None:
            self.line(f"{index} = 0")
        header = "while True:" if op.count is None else f"for {index} in range({self.name(op.count)}):"
        with self.writer.indented(header, op.loc):
            self.block(op.body)
            self.copies(zip(op.params, op.yields, strict=True))
            if op.trips is not None:
                self.line(f"{self.name(op.trips)} += 1")
            if op.count is None:
                self.line(f"{index} += 1")
            if op.again is not None:
                with self.writer.indented(f"if not {self.name(op.again)}:"):
                    self.line("break")
        self.copies(zip(op.outs, op.params, strict=True))
