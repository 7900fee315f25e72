"""Whether a function may write into its arguments."""

from __future__ import annotations

from typing import Any

from numba.core import types

from jitgrad.program import ir

MUTABLE = (types.Array, types.ListType, types.List, types.Record, types.ClassInstanceType, types.DictType, types.Set)
WRITING_METHODS = frozenset({"fill", "sort", "partition", "append", "extend", "insert", "pop", "clear", "remove", "reverse", "put"})
WRITING_FUNCTIONS = frozenset({"fill_diagonal", "shuffle", "copyto", "put", "putmask", "place", "at", "push", "heappush", "heappop"})


def writes_arguments(program: ir.Program) -> bool:
    """Whether running the program may change an array, list or record that it was given.

    Errs on the side of yes: a copy too many is slow, a copy too few is a wrong Jacobian.
    """
    reached = {p for p in program.params if _mutable(p.type)}
    if not reached:
        return False
    ops = list(ir.walk(program.body))
    growing = True
    while growing:  # what may share memory with an argument, through loops too
        before = len(reached)
        for op in ops:
            _spread(op, reached)
        growing = len(reached) > before
    return any(_writes(op, reached) for op in ops)


def _mutable(ty: types.Type) -> bool:
    if isinstance(ty, types.BaseTuple):
        return any(_mutable(item) for item in ty)
    if isinstance(ty, types.Optional):
        return _mutable(ty.type)
    return isinstance(ty, MUTABLE)


def _spread(op: ir.Op, reached: set[ir.Value]) -> None:
    """Add what `op` defines, where it may share memory with what is reached."""
    match op:
        case ir.If():
            for out, *sources in zip(op.outs, op.then_yields, op.else_yields, strict=True):
                if any(s in reached for s in sources):
                    reached.add(out)
        case ir.Loop():
            for param, out, *sources in zip(op.params, op.outs, op.inits, op.yields, strict=True):
                if any(s in reached for s in sources):
                    reached.update((param, out))
        case ir.Binary() | ir.Unary() | ir.Map():
            pass  # a fresh array
        case ir.SetItem():
            if op.value in reached and _mutable(op.value.type):
                reached.add(op.base)
        case ir.SetAttr():
            if op.value in reached:
                reached.add(op.base)
        case _:
            if any(v in reached for v in op.operands):
                reached.update(r for r in op.results if _mutable(r.type))


def _writes(op: ir.Op, reached: set[ir.Value]) -> bool:
    match op:
        case ir.SetItem() | ir.SetAttr():
            return op.base in reached
        case ir.InplaceBinary():
            return op.lhs in reached
        case ir.Method():
            return op.name in WRITING_METHODS and op.obj in reached
        case ir.Call():
            if "out" in op.kwargs or getattr(op.fn, "__name__", "") in WRITING_FUNCTIONS:
                return any(v in reached for v in op.operands)
            return _unknown(op.fn) and any(v in reached for v in op.operands)
        case ir.CallValue():
            return any(v in reached for v in op.operands)
    return False


def _unknown(fn: Any) -> bool:
    """A function whose body the program does not show: a recursive callee or one with rules of its own."""
    return hasattr(fn, "py_func")
