"""A Program as Python-like text with types, for people and tests."""

from __future__ import annotations

from typing import Any

from numba.core import types

from jitgrad.backend.writer import BINARY, Writer
from jitgrad.program import ir


def dump(program: ir.Program) -> str:
    """The text of `program`.

    Every value is shown with its type where it is defined. A branch lists what it yields behind
    ``yield``, a loop what it carries behind ``carry``::

        def f(x: float64[::1]):
            n: int64 = x.size
            for i in range(n) carry s: float64 = 0.0:
                t: float64 = x[i]
                t_1: float64 = s + t
                yield t_1
            -> s_1
            return s_1
    """
    dumper = _Dumper()
    params = ", ".join(dumper.declared(param) for param in program.params)
    with dumper.indented(f"def {program.name}({params}):"):
        dumper.block(program.body)
        dumper.line(f"return {dumper.name(program.result)}")
    return dumper.source()


class _Dumper(Writer):
    """A writer whose constants read as in the user's source."""

    def use(self, obj: Any, hint: str) -> str:
        module = getattr(obj, "__module__", None) or ""
        name = getattr(obj, "__name__", None) or hint
        if isinstance(obj, types.Type):
            return type_text(obj)
        short = {"numpy": "np.", "math": "math.", "cmath": "cmath.", "numpy.linalg": "np.linalg."}.get(module, "")
        if type(obj).__name__ == "ufunc":
            short = "np."
        return short + name if callable(obj) else hint

    def name(self, value: ir.Value) -> str:
        return "undefined" if isinstance(value, ir.Undefined) else super().name(value)

    def literal(self, value: Any) -> str:
        return repr(value) if isinstance(value, float) else super().literal(value)

    def declared(self, value: ir.Value) -> str:
        return f"{self.name(value)}: {type_text(value.type)}"

    def block(self, block: ir.Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: ir.Op) -> None:
        match op:
            case ir.If():
                with self.indented(f"if {self.name(op.cond)}:"):
                    self.block(op.then)
                    self._yield(op.then_yields)
                if op.orelse.ops or op.outs:
                    with self.indented("else:"):
                        self.block(op.orelse)
                        self._yield(op.else_yields)
                self._results(op.outs)
            case ir.Loop():
                self._loop(op)
            case ir.Map():
                pairs = zip(op.params, op.inputs, strict=True)
                params = ", ".join(f"{self.declared(p)} in {self.name(i)}" for p, i in pairs)
                with self.indented(f"{self.declared(op.result)} = map {params}:"):
                    self.block(op.body)
                    self._yield([op.output])
            case ir.InplaceBinary():
                name = "" if op.result is None else f"{self.declared(op.result)} = "
                self.line(f"{name}{self.name(op.lhs)} {BINARY[op.fn]}= {self.name(op.rhs)}")
            case ir.Cast():
                self.line(f"{self.declared(op.result)} = cast {self.name(op.operand)}")
            case ir.SetItem() | ir.SetAttr() | ir.Raise() | ir.Print():
                op_loc, op.loc = op.loc, None
                self.statement(op)
                op.loc = op_loc
            case _:
                self.line(f"{self.declared(op.results[0])} = {self.expression(op)}")

    def _loop(self, op: ir.Loop) -> None:
        header = "while" if op.count is None else f"for {self.name(op.index)} in range({self.name(op.count)})"
        if op.parallel:
            header = "parallel " + header
        carried = ", ".join(f"{self.declared(p)} = {self.name(i)}" for p, i in zip(op.params, op.inits, strict=True))
        with self.indented(header + (f" carry {carried}:" if carried else ":")):
            self.block(op.body)
            again = "" if op.again is None else f" while {self.name(op.again)}"
            if op.yields or again:
                self.line("yield " + ", ".join(self.name(v) for v in op.yields) + again)
        self._results(op.results)

    def _yield(self, values: list[ir.Value]) -> None:
        if values:
            self.line("yield " + ", ".join(self.name(v) for v in values))

    def _results(self, values: list[ir.Value]) -> None:
        if values:
            self.line("-> " + ", ".join(self.declared(v) for v in values))


def type_text(type_: types.Type) -> str:
    """A Numba type as one writes it: ``float64[:, ::1]``."""
    match type_:
        case types.Array():
            axes = [":"] * type_.ndim
            if type_.layout == "C" and axes:
                axes[-1] = "::1"
            if type_.layout == "F" and axes:
                axes[0] = "::1"
            return f"{type_text(type_.dtype)}[{', '.join(axes)}]"
        case types.Boolean():
            return "bool"
        case types.UnicodeType():
            return "str"
        case types.BaseTuple() if type(type_) in (types.Tuple, types.UniTuple):
            return "(" + ", ".join(type_text(item) for item in type_) + ")"
    return str(type_)
