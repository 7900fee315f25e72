"""Which way an operator, call or method is differentiated; errors where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba.core import types
from numba.core.dispatcher import Dispatcher

from jitgrad import rules
from jitgrad.analysis import effects, structure
from jitgrad.errors import NoRuleError, UnsupportedError, where
from jitgrad.program import ir
from jitgrad.rules.registry import function_name
from jitgrad.transforms.forward import arrays, elementwise, memory, scalars, zeros

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter


def operation(e: Emitter, op: ir.Unary | ir.Binary) -> None:
    """An operator."""
    result = structure.kind(op.result.type)
    if not e.active(op.result):
        e.primal(op)
    elif result in (structure.TUPLE, structure.LIST):
        _container(e, op)
    else:
        ruled(e, op)


def _container(e: Emitter, op: ir.Unary | ir.Binary) -> None:
    """Tuples and lists joined or repeated: so are their tangents."""
    from jitgrad.backend.writer import BINARY

    sides = [memory.part(e, v) if _holds(v) else e.name(v) for v in op.operands]
    e.line(f"{e.dot(op.result)} = {sides[0]} {BINARY[op.fn]} {sides[1]}", op.loc)
    e.primal(op)


def _holds(value: ir.Value) -> bool:
    return isinstance(structure.strip(value.type), (types.BaseTuple, types.List, types.ListType))


def inplace(e: Emitter, op: ir.InplaceBinary) -> None:
    """``a += b`` on an array or list."""
    if not e.active(op.lhs):
        e.primal(op)
    elif structure.kind(op.lhs.type) == structure.LIST:
        from jitgrad.backend.writer import BINARY

        rhs = memory.part(e, op.rhs) if _holds(op.rhs) else e.name(op.rhs)
        e.line(f"{e.dot(op.lhs)} {BINARY[op.fn]}= {rhs}", op.loc)
        e.primal(op)
        _rename(e, op)
    else:
        elementwise.update(e, op)
        _rename(e, op)


def _rename(e: Emitter, op: ir.InplaceBinary) -> None:
    if op.result is not None and e.dot(op.result) != e.dot(op.lhs):
        e.line(f"{e.dot(op.result)} = {e.dot(op.lhs)}")


def call(e: Emitter, op: ir.Call) -> None:
    """A call of a known function."""
    fn = op.fn
    if effects.harmless(fn):
        e.primal(op)
    elif effects.is_namedtuple(fn):
        if e.active(op.result):
            parts = [memory.part(e, v) for v in op.args] + [f"{k}={memory.part(e, v)}" for k, v in op.kwargs.items()]
            e.line(f"{e.dot(op.result)} = {e.use(fn)}({', '.join(parts)})", op.loc)
        e.primal(op)
    elif ir.among(fn, effects.IDENTITY) or ir.among(fn, effects.CONTAINERS):
        if e.active(op.result):
            args = [memory.part(e, v) for v in op.args]
            e.line(f"{e.dot(op.result)} = {e.use(fn)}({', '.join(args)})", op.loc)
        e.primal(op)
    elif effects.rule_of(op) is not None:
        ruled(e, op)
    elif not _concerned(e, op):
        e.primal(op)
    elif isinstance(fn, Dispatcher):
        _dispatcher(e, op)
    else:
        raise no_rule(op)


def method(e: Emitter, op: ir.Method) -> None:
    """A method of an array, list or number."""
    if structure.kind(op.obj.type) == structure.LIST:
        memory.list_method(e, op)
    elif effects.rule_of(op) is not None:
        ruled(e, op)
    elif _concerned(e, op):
        raise no_rule(op)
    else:
        e.primal(op)


def call_value(e: Emitter, op: ir.CallValue) -> None:
    """A call of a function that is not known while compiling."""
    if _concerned(e, op):
        raise UnsupportedError(
            f"`{op.callee.name}` is called as a function value at {where(op.loc)}, and jitgrad cannot see which "
            "function it is; pass an njit function itself, or give the call a custom derivative"
        )
    e.primal(op)


def _concerned(e: Emitter, op: ir.Op) -> bool:
    """Whether an operation without a rule takes part in the derivative."""
    if any(e.active(r) for r in op.results):
        return True
    return any(e.active(v) and structure.is_memory(v.type) for v in op.operands)


def ruled(e: Emitter, op: ir.Unary | ir.Binary | ir.Call | ir.Method) -> None:
    """An operation by its rule, or an error."""
    if not op.results and not isinstance(effects.rule_of(op), rules.MutatingRule):
        e.primal(op)  # nothing reads what it computes
        return
    rule = effects.rule_of(op)
    match rule:
        case rules.ZeroRule():
            e.primal(op)
        case rules.AllocRule():
            arrays.allocate(e, op, rule)
        case rules.MutatingRule():
            arrays.mutate(e, op, rule)
        case rules.ArrayRule():
            arrays.emit(e, op, rule)
        case rules.ScalarRule() if scalars.row_of(op, rule) is not None:
            if any(structure.kind(v.type) == structure.ARRAY for v in op.operands):
                elementwise.single(e, op)
            else:
                scalars.emit(e, op, rule)
        case _:
            if _concerned(e, op):
                raise no_rule(op, rule)
            e.primal(op)


def no_rule(op: ir.Op, rule: Any = None) -> NoRuleError | UnsupportedError:
    """The error for a function whose derivative is not known."""
    match op:
        case ir.Method():
            name = f"the method `.{op.name}` of {op.obj.type}"
        case ir.Call():
            name = function_name(op.fn)
        case ir.Unary() | ir.Binary() | ir.InplaceBinary():
            name = f"`{op.fn.__name__}` of {', '.join(str(v.type) for v in op.operands)}"
        case _:
            name = type(op).__name__
    return NoRuleError(
        f"no derivative rule for {name} at {where(op.loc)}; give it one with jitgrad.custom_jvp or jitgrad.custom_vjp "
        "around an njit function that calls it, or take its result as a constant with jitgrad.stop_gradient"
    )


def _dispatcher(e: Emitter, op: ir.Call) -> None:
    """A call of an njit function that is not inlined (a recursive one): by its own derivative."""
    wrt = tuple(k for k, v in enumerate(op.args) if e.active(v))
    if op.kwargs or op.vararg is not None:
        raise UnsupportedError(
            f"the recursive call of `{op.fn.__name__}` at {where(op.loc)} uses keyword or star arguments; "
            "pass them by position"
        )
    derivative = e.algebra.callee(op.fn, wrt)
    tangents = zeros.build(e, types.Tuple([]), [e.dot(op.args[k]) for k in wrt])
    args = ", ".join([tangents, *(e.name(v) for v in op.args)])
    text = f"{e.use(derivative, f'jvp_{op.fn.__name__}')}({args})"
    if op.result is not None and e.active(op.result):
        both = e.writer.fresh("both")
        e.line(f"{both} = {text}", op.loc)
        e.line(f"{e.name(op.result)} = {both}[0]")
        e.line(f"{e.dot(op.result)} = {both}[1]")
    elif op.result is not None:
        e.line(f"{e.name(op.result)} = {text}[0]", op.loc)
    else:
        e.line(text, op.loc)
