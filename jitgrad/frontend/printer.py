"""Printing a Program as Python source that computes the same."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype
from numba.typed import List

from jitgrad.backend.writer import Writer, present
from jitgrad.errors import UnsupportedError
from jitgrad.frontend.maps import write_map
from jitgrad.program import ir


def print_program(program: ir.Program) -> tuple[str, dict[str, Any]]:
    """Source of a function that computes what `program` does, and its globals."""
    printer = Printer()
    printer.program(program)
    return printer.writer.source(), printer.writer.namespace


class Printer:
    """Writes the operations of a Program with a `Writer`."""

    def __init__(self, writer: Writer | None = None):
        self.writer = writer or Writer()

    def program(self, program: ir.Program) -> None:
        writer = self.writer
        name = writer.fresh(program.name)
        with writer.indented(f"def {name}({signature_text(writer, program)}):"):
            self.block(program.body)
            writer.line(f"return {writer.name(program.result)}")

    def block(self, block: ir.Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: ir.Op) -> None:
        match op:
            case ir.If():
                self._branch(op)
            case ir.Loop():
                self._loop(op)
            case ir.Map():
                write_map(self.writer, op)
            case ir.Cast():
                self._cast(op)
            case ir.Call() | ir.Method() | ir.CallValue() if op.result.type == types.none:
                self.writer.line(self.writer.expression(op), op.loc)
                self.writer.alias(op.result, "None")
            case _:
                self.writer.statement(op)

    def assign(self, targets: list[ir.Value], sources: list[ir.Value]) -> None:
        """``targets = sources`` at once; undefined sources leave their targets alone."""
        name = self.writer.name
        pairs = [(name(t), name(s)) for t, s in zip(targets, sources, strict=True) if not isinstance(s, ir.Undefined)]
        pairs = [(target, source) for target, source in pairs if target != source]
        clash = any(target in {source for _, source in pairs} for target, _ in pairs)
        if clash and len(pairs) > 1:
            self.writer.line(", ".join(t for t, _ in pairs) + " = " + ", ".join(s for _, s in pairs))
            return
        for target, source in pairs:
            self.writer.line(f"{target} = {source}")

    def _branch(self, op: ir.If) -> None:
        writer = self.writer
        with writer.indented(f"if {writer.name(op.cond)}:", op.loc):
            self.block(op.then)
            self.assign(op.outs, op.then_yields)
        if op.orelse.ops or op.outs:
            with writer.indented("else:"):
                self.block(op.orelse)
                self.assign(op.outs, op.else_yields)

    def _loop(self, op: ir.Loop) -> None:
        writer = self.writer
        for param, out in zip(op.params, op.outs, strict=True):
            writer.alias(out, writer.name(param))
        for param, init in zip(op.params, op.inits, strict=True):
            if isinstance(init, ir.Undefined) and _reads(op, param):  # Numba wants an assignment before
                writer.line(f"{writer.name(param)} = {placeholder(writer, param.type)}")
        self.assign(op.params, op.inits)
        header = f"for {writer.name(op.index)} in range({writer.name(op.count)}):" if op.count else "while True:"
        if op.trips is not None:
            writer.line(f"{writer.name(op.trips)} = 0")
        if op.count is None and _reads(op, op.index):
            raise TypeError("a while loop whose body reads its index")
        with writer.indented(header, op.loc):
            self.block(op.body)
            self.assign(op.params, op.yields)
            if op.trips is not None:
                writer.line(f"{writer.name(op.trips)} += 1")
            if op.again is not None:
                with writer.indented(f"if not {writer.name(op.again)}:"):
                    writer.line("break")

    def _cast(self, op: ir.Cast) -> None:
        writer, type_ = self.writer, op.result.type
        text, numbers = writer.name(op.operand), (types.Number, types.Boolean)
        if isinstance(type_, numbers) and isinstance(op.operand.type, numbers):
            text = f"{writer.use(type_, str(type_))}({text})"
        text = present(text, op) or text
        writer.line(f"{writer.name(op.result)} = {text}", op.loc)


def _reads(op: ir.Loop, value: ir.Value) -> bool:
    """Whether an iteration reads `value`, be it only to hand it on."""
    if value in op.yields:
        return True
    for inner in ir.walk(op.body):
        handed_on = getattr(inner, "yields", [])
        if isinstance(inner, ir.If):
            handed_on = [*inner.then_yields, *inner.else_yields]
        if value in inner.operands or value in handed_on:
            return True
    return False


def placeholder(writer: Writer, type_: types.Type) -> str:
    """The text of some value of a type, for a variable that is assigned before it is used."""
    match type_:
        case types.Boolean():
            return "False"
        case types.Number():
            return f"{writer.use(type_, str(type_))}(0)"
        case types.Array():
            dtype = writer.use(as_dtype(type_.dtype).type, str(type_.dtype))
            empty = f"{writer.use(np.empty, 'empty')}(({'0, ' * type_.ndim}), {dtype})"
            return f"{empty}.T" if type_.layout == "F" and type_.ndim > 1 else empty
        case types.BaseTuple():
            items = "".join(placeholder(writer, item) + ", " for item in type_)
            named = getattr(type_, "instance_class", None)
            return f"{writer.use(named, named.__name__)}({items})" if named else f"({items})"
        case types.ListType():
            return f"{writer.use(List, 'List')}.empty_list({writer.use(type_.dtype, 'item_type')})"
        case types.List():
            return f"[{placeholder(writer, type_.dtype)} for _ in range(0)]"
        case types.UnicodeType():
            return '""'
    raise UnsupportedError(f"a variable of type {type_} may be read before it is assigned; assign it before the loop")


def signature_text(writer: Writer, program: ir.Program) -> str:
    """The parameter list of the primal, with its defaults; names the parameters in `writer`."""
    parts, star = [], False
    for value, parameter in zip(program.params, program.signature.parameters.values(), strict=True):
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        text = writer.name(value)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            text, star = "*" + text, True
        elif parameter.default is not inspect.Parameter.empty:
            default = parameter.default
            plain = default is None or type(default) in (bool, int, float, str)
            text += "=" + (writer.literal(default) if plain else writer.use(default, f"default_{parameter.name}"))
        parts.append(text)
    return ", ".join(parts)
