"""What calls and operators do to their operands: compute from them, write them, share them."""

from __future__ import annotations

import builtins
import operator
from dataclasses import dataclass
from typing import Any

from numba import literal_unroll, literally, typeof
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.typed import List

from jitgrad import rules
from jitgrad.analysis import structure
from jitgrad.analysis.callees import summary
from jitgrad.program import ir


@dataclass(frozen=True)
class Part:
    """A value, an element of a tuple at a known position, or the elements of a list."""

    value: ir.Value
    position: int | None = None
    item: bool = False


@dataclass(frozen=True)
class Effect:
    """What one operation does, as far as derivatives and aliasing are concerned.

    Attributes
    ----------
    depends : tuple of Value or None
        The operands the result is computed from; None stands for all.
    flows : tuple of (Part, Part)
        Assignments that happen inside containers.
    writes : tuple of Value
        Operands whose memory is written.
    mixes : bool
        What is written is computed from all operands.
    views : Value or None
        The operand that the result is a view of.
    aliases : Value or None
        The operand that the result is.
    escapes : bool
        The result may share memory with any operand.
    """

    depends: tuple[ir.Value, ...] | None = None
    flows: tuple[tuple[Part, Part], ...] = ()
    writes: tuple[ir.Value, ...] = ()
    mixes: bool = False
    views: ir.Value | None = None
    aliases: ir.Value | None = None
    escapes: bool = False


NOTHING = Effect(depends=())

# Functions that look at their arguments and return no float made of them.
HARMLESS: frozenset[Any] = frozenset(
    {len, range, int, bool, str, isinstance, hasattr, type, print, ord, chr, hash, any, all, builtins.slice}
)
# Functions that return their argument, and that make containers of one.
IDENTITY: frozenset[Any] = frozenset({literally, literal_unroll})
CONTAINERS: frozenset[Any] = frozenset({list, List, tuple})


def rule_of(op: ir.Op) -> Any:
    """The derivative rule of an operator, call or method; None without one."""
    match op:
        case ir.Unary() | ir.Binary() | ir.InplaceBinary() | ir.Call():
            return rules.lookup(op.fn)
        case ir.Method():
            return rules.lookup_method(op.name, op.obj.type)
    return None


def binding(op: ir.Op, rule: Any) -> dict[str, Any]:
    """The operands of a call by the parameter names of its rule; `Default` for those not passed."""
    match op:
        case ir.Method():
            return rule.bind([op.obj, *op.args], op.kwargs)
        case ir.Call():
            return rule.bind(op.args, op.kwargs)
    return rule.bind(op.operands)


def binding_types(op: ir.Op, bound: dict[str, Any]) -> dict[str, types.Type]:
    """What a rule asks for as `types`: the Numba type of each parameter and, last, of ``out``."""
    found: dict[str, Any] = {}
    for name, value in bound.items():
        match value:
            case rules.Default():
                found[name] = types.none if value.value is None else typeof(value.value)
            case tuple():
                found[name] = types.Tuple([structure.strip(v.type) for v in value])
            case _:
                found[name] = structure.strip(value.type)
    found["out"] = structure.strip(op.results[0].type) if op.results else types.none
    return found


def harmless(fn: Any) -> bool:
    """Whether a function looks at its arguments and returns nothing made of their floats."""
    try:
        return fn in HARMLESS
    except TypeError:
        return False


def is_namedtuple(fn: Any) -> bool:
    """Whether a callee is a named tuple class."""
    return isinstance(fn, type) and issubclass(fn, tuple) and hasattr(fn, "_fields")


def is_slice(item: ir.IndexItem) -> bool:
    """Whether an index item selects a range."""
    return isinstance(item, ir.Slice) or isinstance(item.type, types.SliceType)


def is_copy(op: ir.GetItem) -> bool:
    """Whether indexing makes a new array (a fancy or boolean index) and not a view or a number."""
    if not isinstance(structure.strip(op.result.type), types.Array):
        return False
    return any(isinstance(v.type, (types.Array, types.List, types.ListType)) for v in ir.index_values(op.index))


def effect(op: ir.Op) -> Effect:
    """What an operator, call or method does."""
    match op:
        case ir.InplaceBinary():
            return _inplace(op)
        case ir.Unary() | ir.Binary():
            return _operator(op)
        case ir.Call():
            return _call(op)
        case ir.Method():
            return _method(op)
        case ir.CallValue():
            return _unknown(op)
    return Effect()


def _operator(op: ir.Unary | ir.Binary) -> Effect:
    match structure.strip(op.result.type):
        case types.BaseTuple():
            flows, at = [], 0
            for operand in op.operands:
                if isinstance(ty := structure.strip(operand.type), types.BaseTuple):
                    flows += [(Part(operand, k), Part(op.result, at + k)) for k in range(len(ty))]
                    at += len(ty)
            return Effect(depends=(), flows=tuple(flows))
        case types.List() | types.ListType():
            lists = [v for v in op.operands if structure.kind(v.type) == structure.LIST]
            return Effect(depends=(), flows=tuple((Part(v, item=True), Part(op.result, item=True)) for v in lists))
    return _ruled(op, rule_of(op))


def _ruled(op: ir.Op, rule: Any) -> Effect:
    """The effect of an operation that has a rule."""
    if (out := ir.output(op)) is not None:
        return Effect(writes=(out,), mixes=True, aliases=out)
    match rule:
        case rules.ZeroRule():
            return NOTHING
        case rules.AllocRule():
            fill = binding(op, rule).get(rule.fill) if rule.fill else None
            return Effect(depends=(fill,)) if isinstance(fill, ir.Value) else NOTHING
        case rules.MutatingRule():
            return _mutation(op, rule)
        case rules.ArrayRule():
            bound = binding(op, rule)
            if rule.is_view(binding_types(op, bound)):
                viewed = next(iter(bound.values()))
                if isinstance(viewed, tuple):  # *args
                    return Effect(depends=(), views=viewed[0]) if len(viewed) == 1 else Effect(escapes=True)
                return Effect(depends=(), views=viewed)
    return Effect()


def _mutation(op: ir.Op, rule: Any) -> Effect:
    target = binding(op, rule)[rule.target]
    others = tuple(v for v in op.operands if v is not target)
    return Effect(depends=others, writes=(target,), mixes=True)


def _inplace(op: ir.InplaceBinary) -> Effect:
    if structure.kind(op.lhs.type) == structure.LIST:
        source = Part(op.rhs, item=True) if structure.kind(op.rhs.type) == structure.LIST else Part(op.rhs)
        flows = ((source, Part(op.lhs, item=True)),) if op.fn is operator.add else ()
        return Effect(depends=(), flows=flows, writes=(op.lhs,), aliases=op.lhs)
    return Effect(writes=(op.lhs,), mixes=True, aliases=op.lhs)


def _call(op: ir.Call) -> Effect:
    fn, rule = op.fn, rule_of(op)
    if harmless(fn):
        return NOTHING
    if ir.among(fn, IDENTITY):
        return Effect(depends=(), aliases=op.args[0])
    if is_namedtuple(fn):
        flows = [(Part(v), Part(op.result, k)) for k, v in enumerate(op.args)]
        flows += [(Part(v), Part(op.result, fn._fields.index(k))) for k, v in op.kwargs.items()]
        return Effect(depends=(), flows=tuple(flows))
    if ir.among(fn, CONTAINERS):
        return _convert(op)
    if rule is not None:
        return _ruled(op, rule)
    if isinstance(fn, Dispatcher) and not op.kwargs and op.vararg is None:
        found = summary(fn, tuple(types.unliteral(a.type) for a in op.args))
        written = tuple(op.args[k] for k in sorted(found.written))
        return Effect(writes=written, mixes=True, escapes=bool(found.returned))
    if isinstance(fn, Dispatcher) or op.result is None or isinstance(op.result.type, types.NoneType):
        return _unknown(op)
    return Effect()


def _convert(op: ir.Call) -> Effect:
    if not op.args:
        return NOTHING
    source = op.args[0]
    match structure.kind(source.type):
        case structure.LIST:
            return Effect(depends=(), flows=((Part(source, item=True), Part(op.result, item=True)),))
        case structure.TUPLE if op.fn is tuple:
            return Effect(depends=(), aliases=source)
        case structure.TUPLE:
            count = len(structure.strip(source.type))
            return Effect(depends=(), flows=tuple((Part(source, k), Part(op.result, item=True)) for k in range(count)))
    return Effect()


def _method(op: ir.Method) -> Effect:
    of = structure.kind(op.obj.type)
    if of == structure.LIST:
        return _list_method(op)
    rule = rule_of(op)
    if rule is not None:
        return _ruled(op, rule)
    return _unknown(op) if of == structure.OPAQUE or op.result is None else Effect()


def _list_method(op: ir.Method) -> Effect:
    items = Part(op.obj, item=True)
    match op.name:
        case "append":
            return Effect(depends=(), flows=((Part(op.args[0]), items),), writes=(op.obj,))
        case "insert":
            return Effect(depends=(), flows=((Part(op.args[1]), items),), writes=(op.obj,))
        case "extend":
            source = op.args[0]
            if structure.kind(source.type) == structure.LIST:
                return Effect(depends=(), flows=((Part(source, item=True), items),), writes=(op.obj,))
            return Effect(depends=(source,), writes=(op.obj,), mixes=True)
        case "pop":
            return Effect(depends=(), flows=((items, Part(op.result)),), writes=(op.obj,))
        case "copy":
            return Effect(depends=(), flows=((items, Part(op.result, item=True)),))
        case "remove" | "clear" | "reverse" | "sort":
            return Effect(depends=(), writes=(op.obj,))
        case "count" | "index":
            return NOTHING
    return _unknown(op)


def shares(op: ir.Op) -> bool:
    """Whether the result is taken for a copy although it shares the memory of operands."""
    rule = rule_of(op) if isinstance(op, (ir.Call, ir.Method)) else None
    return isinstance(rule, rules.ArrayRule) and rule.shares


def _unknown(op: ir.Op) -> Effect:
    """A callee that may write and return whatever it was given."""
    memory = tuple(v for v in op.operands if structure.kind(v.type) not in (None, structure.SCALAR))
    return Effect(writes=memory, mixes=True, escapes=True)
