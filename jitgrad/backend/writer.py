"""Writing readable Python source: names, namespace, and the text of primal operations.

A `Writer` collects lines of one generated function. Values keep the user's variable names where they
can; objects that the code refers to (functions, classes, captured arrays) get a name in
`Writer.namespace`, the globals of the generated function.
"""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba.core import types

from jitgrad.backend.text import Text
from jitgrad.program import ir

BINARY = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.eq: "==", operator.ne: "!=",
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.is_: "is",
    operator.is_not: "is not", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
UNARY = {operator.neg: "-", operator.pos: "+", operator.not_: "not ", operator.invert: "~"}
RESERVED = set(keyword.kwlist) | set(dir(builtins))


class Writer:
    """Collects the source of one function.

    Parameters
    ----------
    namespace : dict, optional
        Globals of the generated function; filled by `use`.
    """

    # In functions with parallel loops Numba (`parfor_lowering.legalize_names_with_typemap`) calls the second value of
    # a variable x `x_1`, and fails where there is another variable of that name: there new names are x1, x2, ...
    legalised = False

    def __init__(self, namespace: dict[str, Any] | None = None):
        self.namespace: dict[str, Any] = {} if namespace is None else namespace
        self.text = Text()
        self.here = self.text
        self._names: dict[ir.Value, str] = {}
        self._taken: set[str] = set(RESERVED) | set(self.namespace)
        self._objects: dict[int, str] = {id(obj): name for name, obj in self.namespace.items()}

    # ----- names -----------------------------------------------------------------------------
    def fresh(self, hint: str) -> str:
        """A new identifier that resembles `hint`."""
        base = re.sub(r"\W", "_", hint.split(".")[0].lstrip("$")) or "t"
        if base[0].isdigit():
            base = "t" + base
        if self.legalised:
            base = re.sub(r"(_\d+)+$", "", base) or "t"
        name, k = base, 1
        while name in self._taken:
            name, k = f"{base}{k}" if self.legalised else f"{base}_{k}", k + 1
        self._taken.add(name)
        return name

    def alias(self, value: ir.Value, name: str) -> None:
        """Let `value` be written as `name`."""
        self._names[value] = name

    def name(self, value: ir.Value) -> str:
        """The text that stands for `value`: its identifier, or the text of a constant."""
        if isinstance(value, ir.Literal):
            return self.literal(value.value)
        if isinstance(value, ir.Global):
            return self.use(value.value, value.name)
        if value not in self._names:
            self._names[value] = self.fresh(value.name)
        return self._names[value]

    def use(self, obj: Any, hint: str) -> str:
        """The name of `obj` in the namespace, entering it there when new."""
        own_name = getattr(obj, "__name__", "")
        if getattr(builtins, own_name, None) is obj:
            return own_name
        key = id(obj)
        if key not in self._objects:
            name = self.fresh(hint)
            self.namespace[name] = obj  # also keeps the object alive, so that its id stays its own
            self._objects[key] = name
        return self._objects[key]

    def literal(self, value: Any) -> str:
        """The text of a compile-time constant."""
        if value is Ellipsis:
            return "..."
        if isinstance(value, slice):
            return f"slice({self.literal(value.start)}, {self.literal(value.stop)}, {self.literal(value.step)})"
        if type(value) is tuple:
            return "(" + "".join(self.literal(v) + ", " for v in value).rstrip(" ") + ")"
        if value is None or isinstance(value, (bool, str, bytes)):
            return repr(value)
        if isinstance(value, (int, float)) and not isinstance(value, np.generic) and math.isfinite(value):
            return repr(value) if math.copysign(1.0, value) > 0 else f"({value!r})"
        if isinstance(value, float) and not isinstance(value, np.generic):
            return self.use(value, "nan" if value != value else "inf" if value > 0 else "neg_inf")
        return self.use(value, "const")

    # ----- lines -----------------------------------------------------------------------------
    def line(self, text: str, loc: ir.Location | None = None) -> None:
        """Append one line here, with its place in the user's source."""
        self.here.line(_located(text, loc))

    @contextmanager
    def into(self, text: Text):
        """Write into `text` for a while."""
        before, self.here = self.here, text
        try:
            yield text
        finally:
            self.here = before

    def indented(self, header: str, loc: ir.Location | None = None):
        """Write `header` and indent what follows; an empty suite becomes ``pass``."""
        return self.into(self.here.suite(_located(header, loc)))

    def source(self) -> str:
        return "\n".join(self.text.render()) + "\n"

    # ----- expressions -----------------------------------------------------------------------
    def index(self, index: tuple[ir.IndexItem, ...]) -> str:
        """The text between the brackets of ``a[...]``."""
        if len(index) == 1:
            return self._item(index[0])
        return ", ".join(self._item(item) for item in index) if index else "()"

    def _item(self, item: ir.IndexItem) -> str:
        if not isinstance(item, ir.Slice):
            return self.name(item)
        start, stop = ("" if v is None else self.name(v) for v in (item.start, item.stop))
        return f"{start}:{stop}" + ("" if item.step is None else f":{self.name(item.step)}")

    def arguments(self, op: ir.Call | ir.CallValue | ir.Method) -> str:
        parts = [self.name(a) for a in op.args]
        if not isinstance(op, ir.Method) and op.vararg is not None:
            parts.append("*" + self.name(op.vararg))
        parts += [f"{k}={self.name(v)}" for k, v in op.kwargs.items()]
        return ", ".join(parts)

    def expression(self, op: ir.Op) -> str:
        """The right-hand side of an operation with one result and no blocks."""
        n = self.name
        match op:
            case ir.Binary(fn=operator.contains):
                return f"{n(op.rhs)} in {n(op.lhs)}"
            case ir.Binary() if op.free is not None:
                return f"{self.use(op.free, 'accumulate')}({n(op.lhs)}, {n(op.rhs)})"
            case ir.Binary():
                return f"{n(op.lhs)} {BINARY[op.fn]} {n(op.rhs)}"
            case ir.Unary():
                return f"{UNARY[op.fn]}{n(op.operand)}"
            case ir.Call(fn=np.where, args=[c, x, y]) if _all_scalar(op):
                return f"{n(x)} if {n(c)} else {n(y)}"
            case ir.Call(fn=np.clip, args=[x, lo, hi]) if _all_scalar(op):
                np_, text = self.use(np, "np"), n(x)
                text = text if _is_none(lo) else f"{np_}.maximum({text}, {n(lo)})"
                return text if _is_none(hi) else f"{np_}.minimum({text}, {n(hi)})"
            case ir.Call():
                hint = str(getattr(op.fn, "__jitgrad_hint__", None) or getattr(op.fn, "__name__", "fn"))
                return f"{self.use(op.fn, hint)}({self.arguments(op)})"
            case ir.CallValue():
                return f"{n(op.callee)}({self.arguments(op)})"
            case ir.Method():
                return f"{n(op.obj)}.{op.name}({self.arguments(op)})"
            case ir.GetItem():
                return f"{n(op.base)}[{self.index(op.index)}]"
            case ir.GetAttr():
                return f"{n(op.base)}.{op.attr}"
            case ir.BuildTuple():
                return "(" + "".join(n(v) + ", " for v in op.items).rstrip(" ") + ")"
            case ir.BuildList():
                return "[" + ", ".join(n(v) for v in op.items) + "]"
            case ir.BuildSet():
                return "{" + ", ".join(n(v) for v in op.items) + "}"
            case ir.BuildMap():
                return "{" + ", ".join(f"{n(k)}: {n(v)}" for k, v in op.items) + "}"
            case ir.Cast():
                return present(n(op.operand), op) or n(op.operand)
        raise TypeError(f"no expression for {type(op).__name__}")

    def statement(self, op: ir.Op) -> None:
        """Write an operation without blocks as one statement."""
        n = self.name
        match op:
            case ir.SetItem():
                self.line(f"{n(op.base)}[{self.index(op.index)}] = {n(op.value)}", op.loc)
            case ir.SetAttr():
                self.line(f"{n(op.base)}.{op.attr} = {n(op.value)}", op.loc)
            case ir.InplaceBinary():
                self.line(f"{n(op.lhs)} {BINARY[op.fn]}= {n(op.rhs)}", op.loc)
                if op.result is not None:
                    self.line(f"{n(op.result)} = {n(op.lhs)}")
            case ir.Raise():
                if op.exception is None:
                    self.line("raise", op.loc)
                    return
                name = self.use(op.exception, getattr(op.exception, "__name__", "error"))
                self.line(f"raise {name}({', '.join(n(a) for a in op.args)})", op.loc)
            case ir.Print():
                self.line(f"print({', '.join(n(a) for a in op.args)})", op.loc)
            case _:
                self.line(f"{n(op.results[0])} = {self.expression(op)}", op.loc)


def present(text: str, op: ir.Cast) -> str | None:
    """The number that an optional one is; None for other casts. As another name it could still be None to Numba."""
    optional = isinstance(op.operand.type, types.Optional) and isinstance(op.result.type, types.Number)
    return f"+{text}" if optional else None


def _all_scalar(op: ir.Call) -> bool:
    """Whether a NumPy function is applied to one element: Numba compiles some for arrays only."""
    return not op.kwargs and not any(isinstance(v.type, types.ArrayCompatible) for v in (*op.args, op.result))


def _is_none(value: ir.Value) -> bool:
    return isinstance(value.type, types.NoneType)


def _located(text: str, loc: ir.Location | None) -> str:
    return text if loc is None else f"{text}  # {loc}"
