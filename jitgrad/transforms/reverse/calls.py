"""Pullbacks of operators and calls, from the derivative rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numba
from numba.core import types
from numba.core.dispatcher import Dispatcher

from jitgrad import rules
from jitgrad.analysis import effects
from jitgrad.errors import NoRuleError, where
from jitgrad.program import ir
from jitgrad.rules.kernels import with_kernels
from jitgrad.rules.registry import function_name
from jitgrad.settings import current_math
from jitgrad.transforms.reverse import lists, recursion
from jitgrad.transforms.reverse.leaves import is_array, leaves, origin

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def cast(sweep: Sweep, op: ir.Cast) -> None:
    """A value as another type; renamings share their adjoint and need nothing."""
    for leaf in leaves(op.result):
        source = origin(leaf, sweep.scopes)
        if source != leaf or not sweep.active(leaf):
            continue
        ct = sweep.adjoints.take(op.result, leaf.path)
        if ct is not None:
            text = f"{ct}.real" if _complex(leaf.type) and not _complex(op.operand.type) else ct
            sweep.adjoints.add(op.operand, text, leaf.path)


def pullback(sweep: Sweep, op: ir.Op) -> None:
    """One operator, call, method or attribute."""
    result = op.results[0] if op.results else None
    mutates = [v for v in effects.effect(op).writes if sweep.is_active(v)]
    if mutates:
        mutation(sweep, op)
        return
    if result is None or not any(sweep.adjoints.is_set(result, leaf.path) for leaf in leaves(result)):
        return
    if sweep.memory.view_of(result) is op:
        return
    if all(origin(leaf, sweep.scopes) != leaf for leaf in leaves(result)):
        return
    rule = rule_of(op)
    match rule:
        case rules.ScalarRule() if isinstance(op, ir.Binary) and lists.is_list(result.type):
            lists.combined(sweep, op)
        case rules.ScalarRule():
            scalar(sweep, op, rule)
        case rules.ArrayRule():
            array(sweep, op, rule)
        case rules.AllocRule():
            allocation(sweep, op, rule)
        case rules.ZeroRule():
            pass
        case None if isinstance(op, ir.Call) and isinstance(op.fn, Dispatcher):
            recursion.pullback(sweep, op)
        case None if isinstance(op, ir.Call) and ir.among(op.fn, effects.CONTAINERS) and lists.is_list(result.type):
            lists.converted(sweep, op)
        case None if isinstance(op, ir.GetItem) and isinstance(op.base.type, types.BaseTuple):
            _choose_item(sweep, op)
        case _:
            raise NoRuleError(f"{where(op.loc)}: no derivative rule for {_called(op)}; {_way_out(op)}")
    if rule is not None:
        sweep.rules.add(rule.name)


def rule_of(op: ir.Op) -> Any:
    if isinstance(op, ir.GetAttr):
        return rules.lookup_attribute(op.attr, op.base.type)
    return effects.rule_of(op)


def _called(op: ir.Op) -> str:
    match op:
        case ir.Call():
            return function_name(op.fn)
        case ir.Method():
            return f"method {op.name} of {op.obj.type}"
        case ir.GetAttr():
            return f"attribute {op.attr} of {op.base.type}"
        case ir.Binary() | ir.Unary():
            return f"operator {op.fn.__name__} on {', '.join(str(v.type) for v in op.operands)}"
    return f"{type(op).__name__} on {', '.join(str(v.type) for v in op.operands)}"


def _complex(typ: types.Type) -> bool:
    return isinstance(typ, types.Complex)


# ----- scalar functions ----------------------------------------------------------------------
def arguments(op: ir.Op) -> tuple[list[ir.Value], Mapping[str, ir.Value]]:
    """Positional and keyword operands of an operator, call, method or attribute."""
    match op:
        case ir.Call():
            return list(op.args), op.kwargs
        case ir.Method():
            return [op.obj, *op.args], op.kwargs
    return list(op.operands), {}


def scalar(sweep: Sweep, op: ir.Op, rule: rules.ScalarRule) -> None:
    """``x_bar += ct * partial`` for every active operand."""
    result = op.results[0]
    if is_array(result.type):
        raise NoRuleError(f"{where(op.loc)}: {_called(op)} is not an elementwise expression jitgrad can read; "
                          "write the loop over its elements")  # fmt: skip
    ct = sweep.adjoints.take(result)
    args, kwargs = arguments(op)
    row = rule.for_call([v.type for v in (*args, *kwargs.values())])
    assert row is not None and ct is not None
    bound = row.bind(args, kwargs)
    operand_types = [v.type for v in bound.values()]
    if sweep.scope.block in sweep.elements or current_math() == "fast":
        # not by default in loops, where they are slower than the C library unless the loop vectorises
        row = with_kernels(row, [*operand_types, result.type])
    literals = {k: v.value for k, v in bound.items() if isinstance(v, ir.Literal)}
    for param, operand in bound.items():
        if not sweep.is_active(operand) or not row.differentiable(param):
            continue
        needs = {need: result if need == "out" else bound[need] for need in row.needs(param, literals)}
        names = {need: sweep.saved.need(value) for need, value in needs.items()}
        discarded = sweep.selections.discards(result, needs.values())
        text = row.pull_text(param, ct, [*operand_types, result.type], names, literals, discarded)
        if text is not None:
            sweep.adjoints.add(operand, text)


# ----- array functions -----------------------------------------------------------------------
def array(sweep: Sweep, op: ir.Op, rule: rules.ArrayRule) -> None:
    """The pullback functions of a rule, called on the cotangent and what else they ask for."""
    result = op.results[0]
    args, kwargs = arguments(op)
    bound = rule.bind(args, kwargs)
    typed = {name: _type_of(value) for name, value in bound.items()} | {"out": result.type}
    active = [p for p, v in bound.items() if isinstance(v, ir.Value) and sweep.is_active(v)]
    ct = cotangent(sweep, result)
    for param in [p for p in active if lists.is_list(bound[p].type)]:
        lists.from_array(sweep, op, bound[param], ct)
        active.remove(param)
    fresh = type(rule) is rules.ArrayRule  # what a user's own function returns may be what it was given
    covered: set[str] = set()
    for params, fn, needs in rule.pullbacks(active, typed):
        covered.update(params)
        texts = [_argument(sweep, op, bound, need) for need in needs]
        name = sweep.writer.use(fn, getattr(fn, "__name__", "pull"))
        text = f"{name}({', '.join([ct, *texts])})"
        if len(params) == 1 and not isinstance(bound[params[0]].type, types.BaseTuple):
            sweep.adjoints.add(bound[params[0]], text, fresh=fresh)
            continue
        parts = sweep.writer.fresh("parts")
        sweep.writer.line(f"{parts} = {text}", op.loc)
        for k, param in enumerate(params):
            for leaf in leaves(bound[param]):
                if sweep.active(leaf):
                    at = (*((k,) if len(params) > 1 else ()), *leaf.path)
                    sweep.adjoints.add(bound[param], sweep.path_text(parts, at), leaf.path, fresh=fresh)

    left = [] if rule.view else [p for p in active if p not in covered]
    missing = [p for p in left if not rule.differentiable(p) or rule.pushforward(p, typed) is not None]
    if missing:
        raise NoRuleError(
            f"{where(op.loc)}: {_called(op)} has no reverse-mode derivative in its argument {missing[0]} "
            f"({_type_of(bound[missing[0]])}); register one with jitgrad.custom_vjp"
        )


def cotangent(sweep: Sweep, result: ir.Value) -> str:
    """The cotangent of a result as one text: a tuple for a tuple, zeros for leaves without any."""

    def build(typ: types.Type, path: tuple[int, ...]) -> str:
        if isinstance(typ, types.BaseTuple):
            items = typ.types if hasattr(typ, "types") else [typ.dtype] * len(typ)
            built = "(" + "".join(build(item, (*path, k)) + ", " for k, item in enumerate(items)).rstrip() + ")"
            named = getattr(typ, "instance_class", None)
            return built if named is None else f"{sweep.writer.use(named, named.__name__)}{built}"
        if sweep.adjoints.is_set(result, path):
            return sweep.adjoints.name(result, path)
        if isinstance(typ, types.Array):
            return f"{sweep.np}.zeros_like({sweep.path_text(sweep.saved.need(result), path)})"
        return "0.0"

    return build(result.type, ())


def _argument(sweep: Sweep, op: ir.Op, bound: dict[str, Any], need: str) -> str:
    """The text of something that a pullback function asks for by name."""
    if need == "out":
        return sweep.saved.need_content(op.results[0], op, place="after")
    if need in bound:
        value = bound[need]
        if isinstance(value, rules.Default):
            return sweep.writer.literal(value.value)
        if isinstance(value, tuple):
            return "(" + "".join(_content(sweep, v, op) + ", " for v in value).rstrip() + ")"
        return _content(sweep, value, op)
    if need.endswith("_shape"):
        return _shape(sweep, bound[need.removesuffix("_shape")])
    if need.endswith("_dtype"):
        value = bound[need.removesuffix("_dtype")]
        return sweep.dtype(value.type.dtype if is_array(value.type) else value.type)
    raise KeyError(f"rule asks for {need!r}, which is neither a parameter, a shape nor out")


def _shape(sweep: Sweep, value: ir.Value) -> str:
    if is_array(value.type):
        return sweep.saved.shape(value)
    if isinstance(value.type, types.BaseTuple):
        op = sweep.scopes.definition.get(value)
        if isinstance(op, ir.BuildTuple):
            return "(" + "".join(_shape(sweep, item) + ", " for item in op.items).rstrip() + ")"
        base = sweep.saved.need(value)
        return "(" + "".join(f"{base}[{k}].shape, " for k in range(len(value.type))).rstrip() + ")"
    return "()"


def _content(sweep: Sweep, value: ir.Value, op: ir.Op) -> str:
    if isinstance(value.type, types.BaseTuple):
        built = sweep.scopes.definition.get(value)
        if isinstance(built, ir.BuildTuple):
            return "(" + "".join(_content(sweep, item, op) + ", " for item in built.items).rstrip() + ")"
    return sweep.saved.need_content(value, op)


def _type_of(value: Any) -> types.Type:
    if isinstance(value, rules.Default):
        return numba.typeof(value.value)
    if isinstance(value, tuple):
        return types.Tuple([v.type for v in value])
    return value.type


def allocation(sweep: Sweep, op: ir.Op, rule: rules.AllocRule) -> None:
    """A new array: only its fill value can be active."""
    if rule.fill is None:
        return
    args, kwargs = arguments(op)
    value = rule.bind(args, kwargs)[rule.fill]
    if isinstance(value, ir.Value) and sweep.is_active(value):
        sweep.adjoints.add(value, f"{sweep.adjoints.take(op.results[0])}.sum()")


def mutation(sweep: Sweep, op: ir.Op) -> None:
    """Functions that write into an argument."""
    assert isinstance(op, (ir.Call, ir.Method))
    rule = rule_of(op)
    target = op.obj if isinstance(op, ir.Method) else op.operands[0]
    if isinstance(op, ir.Method) and lists.is_list(target.type):
        lists.method(sweep, op)
        return
    name = op.name if isinstance(op, ir.Method) else function_name(op.fn)
    if name == "fill" and is_array(target.type):
        buffer = sweep.adjoints.start(target)
        sweep.adjoints.add(op.args[0], f"{buffer}.sum()")
        sweep.writer.line(f"{buffer}[...] = {sweep.adjoints.zero(target.type.dtype)}", op.loc)
        return
    if isinstance(op, ir.Call) and isinstance(op.fn, Dispatcher) and rule is None:
        recursion.pullback(sweep, op)
        return
    raise NoRuleError(
        f"{where(op.loc)}: {_called(op)} changes its argument in place, which has no reverse-mode derivative; "
        "write the elements in a loop"
    )


def _way_out(op: ir.Op) -> str:
    """What to do where there is no rule."""
    match op:
        case ir.GetAttr(base=base) if isinstance(base.type, types.Record):
            return "use forward mode (jvp, jacfwd), or pass the field as an array of its own"
        case ir.GetAttr(base=base) if isinstance(base.type, types.ClassInstanceType):
            return "pass the numbers and arrays to differentiate as arguments, or in a named tuple"
    return "register one with jitgrad.custom_vjp, or mark its result with jitgrad.stop_gradient"


def _choose_item(sweep: Sweep, op: ir.GetItem) -> None:
    """``t[i]`` of a uniform tuple with an index known only at run time."""
    if sweep.changes_in_use(op):
        raise sweep.fail(
            op, "an array that a variable picks from a tuple is written in place", "pick it with `if`, or copy it"
        )  # fmt: skip
    size, index = len(op.base.type), sweep.index(op.index)
    paths = [leaf.path for leaf in leaves(op.result) if sweep.adjoints.is_set(op.result, leaf.path)]
    # the items of a tuple may differ in what is differentiated: (2.0, x)
    active = [(k, p) for k in range(size) for p in paths if sweep.active(sweep.adjoints.leaf(op.base, (k, *p)))]
    for k, path in active:
        sweep.adjoints.start(op.base, (k, *path))
    for k in sorted({k for k, _ in active}):
        with sweep.writer.indented(f"if {index} == {k} or {index} == {k - size}:"):
            for path in (p for j, p in active if j == k):
                ct = sweep.adjoints.name(op.result, path)
                sweep.writer.line(f"{sweep.adjoints.name(op.base, (k, *path))} += {ct}")
