"""Whether a function may write into its arguments."""

from __future__ import annotations

from numba.core import types

from jitgrad.analysis import effects
from jitgrad.analysis.memory import written_values
from jitgrad.analysis.scopes import yielded
from jitgrad.api.again import UNCOPIED
from jitgrad.program import ir

MUTABLE = (types.Array, types.ListType, types.List, *UNCOPIED)


def writes_arguments(program: ir.Program) -> bool:
    """Whether running the program may change an array, list or record that it was given.

    Errs on the side of yes: a copy too many is slow, a copy too few is a wrong Jacobian.
    """
    return may_write(program, program.params)


def may_write(program: ir.Program, params: list[ir.Value]) -> bool:
    """Whether running the program may change what these of its parameters hold."""
    reached = _sharing(program, {p for p in params if _mutable(p.type)})
    return any(value in reached for op in ir.walk(program.body) for value in written_values(op))


def shared_with_result(program: ir.Program) -> list[int]:
    """Positions of the arguments whose memory the result may share; errs on the side of yes."""
    if not _mutable(program.result.type):
        return []
    mutable = [(k, p) for k, p in enumerate(program.params) if _mutable(p.type)]
    return [k for k, p in mutable if program.result in _sharing(program, {p})]


def _sharing(program: ir.Program, reached: set[ir.Value]) -> set[ir.Value]:
    """The values that may share memory with those in `reached`, through loops too."""
    ops = list(ir.walk(program.body))
    growing = bool(reached)
    while growing:
        before = len(reached)
        for op in ops:
            _spread(op, reached)
        growing = len(reached) > before
    return reached


def depends_on_before(program: ir.Program, param: ir.Value) -> bool:
    """Whether running the program again on what it left in this argument may give something else.

    Not where it leaves the argument alone, and not where it only stores numbers into it.
    """
    uses = [op for op in ir.walk(program.body) if param in (*op.operands, *yielded(op))]
    stored = all(
        (isinstance(op, ir.SetItem) and op.base is param and op.value is not param)
        or (isinstance(op, ir.GetAttr) and not _mutable(op.result.type))
        for op in uses
    )
    return not stored and may_write(program, [param])


def _mutable(ty: types.Type) -> bool:
    if isinstance(ty, types.BaseTuple):
        return any(_mutable(item) for item in ty)
    if isinstance(ty, types.Optional):
        return _mutable(ty.type)
    return isinstance(ty, MUTABLE)


def _spread(op: ir.Op, reached: set[ir.Value]) -> None:
    """Add the values that share memory with what is reached, because of `op`."""
    match op:
        case ir.If():
            for out, *sources in zip(op.outs, op.then_yields, op.else_yields, strict=True):
                if any(s in reached for s in sources):
                    reached.add(out)
        case ir.Loop():
            for param, out, *sources in zip(op.params, op.outs, op.inits, op.yields, strict=True):
                if any(s in reached for s in sources):
                    reached.update((param, out))
        case ir.Map():
            pass
        case ir.SetItem() | ir.SetAttr():
            if op.value in reached and not isinstance(op.base.type, types.Array):  # arrays take copies
                reached.add(op.base)
        case ir.GetItem() if effects.is_copy(op):
            pass
        case ir.Unary() | ir.Binary() | ir.InplaceBinary() | ir.Call() | ir.Method() | ir.CallValue():
            effect = effects.effect(op)
            sharing = op.operands if effect.escapes else [effect.views, effect.aliases]
            if any(v in reached for v in sharing if v is not None):
                reached.update(r for r in op.results if _mutable(r.type))
            for source, target in effect.flows:
                if source.value in reached:
                    reached.add(target.value)
        case _:
            if any(v in reached for v in op.operands):
                reached.update(r for r in op.results if _mutable(r.type))
