"""Functions of arrays by their rules: tangent functions, views, allocation, methods that write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from jitgrad import rules
from jitgrad.analysis import effects, structure
from jitgrad.errors import NoRuleError, where
from jitgrad.program import ir
from jitgrad.transforms.forward import zeros

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter


def emit(e: Emitter, op: ir.Op, rule: rules.ArrayRule) -> None:
    """Value and tangent of a function that has an array rule."""
    result = op.results[0]
    if not e.active(result):
        e.primal(op)
        return
    bound = effects.binding(op, rule)
    kinds = effects.binding_types(op, bound)
    e.rules[rule.name] = None
    if rule.is_view(kinds):
        viewed = effects.effect(op).views
        assert viewed is not None
        view(e, op, viewed)
        return
    out = e.name(result)
    read = {e.name(v) for value in bound.values() for v in flat(value) if not isinstance(v, ir.Literal)}
    target = e.writer.fresh(f"{out}_new") if out in read else out
    e.line(f"{target} = {e.expression(op)}", op.loc)
    whole = e.algebra.function(e, rule, bound, kinds, target)
    terms = _contributions(e, op, rule, bound, kinds, target) if whole is None else [whole]
    dot = e.dot(result)
    scalar = structure.kind(result.type) == structure.SCALAR
    if not terms:
        e.line(f"{dot} = {zeros.zero_like(e, target, result.type)}")
    elif scalar:
        e.line(f"{dot} = {' + '.join(terms)}")
    else:
        inner = e.writer.fresh(f"{dot}_sum") if len(terms) > 1 and dot in "".join(terms) else dot
        e.line(f"{inner} = {terms[0]}")
        for term in terms[1:]:
            _accumulate(e, inner, term, structure.strip(result.type))
        if inner != dot:
            e.line(f"{dot} = {inner}")
    if target != out:
        e.line(f"{out} = {target}")


def _contributions(
    e: Emitter, op: ir.Op, rule: rules.ArrayRule, bound: dict[str, Any], kinds: dict[str, Any], target: str
) -> list[str]:
    """What each active argument adds to the tangent."""
    terms = []
    for param, value in bound.items():
        if not any(e.active(v) for v in flat(value)):
            continue
        if not rule.differentiable(param):
            raise NoRuleError(
                f"no derivative rule for {rule.name} with respect to `{param}` at {where(op.loc)}; register one with "
                "jitgrad.custom_jvp or mark the argument with jitgrad.stop_gradient"
            )
        found = e.algebra.pushforward(rule, param, kinds)
        if found is not None:
            fn, needs = found
            wanted = [need(e, name, bound, kinds, target) for name in needs]
            terms.append(e.algebra.push(e, fn, tangent(e, value), wanted))
    return terms


def _accumulate(e: Emitter, dot: str, term: str, ty: types.Type) -> None:
    if isinstance(ty, types.BaseTuple):
        more = e.writer.fresh("more")
        e.line(f"{more} = {term}")
        parts = []
        for k, item in enumerate(ty.types):
            parts.append(e.writer.fresh("part"))
            e.line(f"{parts[k]} = {dot}[{k}]")
            if structure.kind(item):
                _accumulate(e, parts[k], f"{more}[{k}]", structure.strip(item))
        e.line(f"{dot} = {zeros.build(e, ty, parts)}")
    else:
        e.line(e.algebra.accumulate(e, dot, term))


def flat(value: Any) -> list[ir.Value]:
    """The values in one bound argument: none for a default, several for a star parameter."""
    if isinstance(value, rules.Default):
        return []
    return list(value) if isinstance(value, tuple) else [value]


def tangent(e: Emitter, value: Any) -> str:
    """The tangent of one bound argument: zero where it has none, a tuple for a star parameter."""
    if isinstance(value, tuple):
        return zeros.build(e, types.Tuple([]), [tangent(e, v) for v in value])
    return e.dot(value) if e.active(value) else zeros.zero(e, value)


def need(e: Emitter, name: str, bound: dict[str, Any], kinds: dict[str, Any], out: str) -> str:
    """The text of what a rule's function asks for by `name`."""
    if name == "out":
        return out
    if name in bound:
        return _text(e, bound[name])
    param, _, what = name.rpartition("_")
    ty = kinds[param]
    if what == "shape":
        return f"{_text(e, bound[param])}.shape" if isinstance(ty, types.Array) else "()"
    if what == "dtype":
        return f"{e.use(np, 'np')}.{getattr(ty, 'dtype', ty)}"
    raise TypeError(f"a rule asks for {name!r}")


def _text(e: Emitter, value: Any) -> str:
    match value:
        case rules.Default():
            return e.writer.literal(value.value)
        case tuple():
            return zeros.build(e, types.Tuple([]), [_text(e, v) for v in value])
    return e.name(value)


def view(e: Emitter, op: ir.Op, base: ir.Value) -> None:
    """The same view of the tangent."""
    out = op.results[0]
    e.line(f"{e.dot(out)} = {replaced(e, op, base)}", op.loc)
    e.primal(op)


def replaced(e: Emitter, op: ir.Op, base: ir.Value) -> str:
    """The text of an operation with `base` replaced by its tangent."""
    variable = e.writer.variables.of(base)
    name = e.writer.name(variable)
    e.writer.alias(variable, e.dot(base))
    try:
        return e.writer.expression(op)
    finally:
        e.writer.alias(variable, name)


def allocate(e: Emitter, op: ir.Op, rule: rules.AllocRule) -> None:
    """A new array and its tangent, zero or filled."""
    e.primal(op)
    result = op.results[0]
    if not e.active(result):
        return
    bound = effects.binding(op, rule)
    fill = bound.get(rule.fill) if rule.fill else None
    out, ty = e.name(result), structure.strip(result.type)
    if isinstance(fill, ir.Value) and e.active(fill):
        e.line(f"{e.dot(result)} = {e.algebra.full_like(e, out, ty, e.dot(fill))}")
    else:
        e.line(f"{e.dot(result)} = {e.algebra.zeros_like(e, out, ty)}")


def mutate(e: Emitter, op: ir.Op, rule: rules.MutatingRule) -> None:
    """A function that writes into an argument: the same on the tangent."""
    bound = effects.binding(op, rule)
    target = bound[rule.target]
    if not any(e.active(v) for v in flat(target)):
        e.primal(op)
        return
    e.rules[rule.name] = None
    name = rule.name.rpartition(".")[2]
    dot = e.dot(target)
    others = [v for key, value in bound.items() if key != rule.target for v in flat(value)]
    match name:
        case "fill" | "itemset" | "put":
            spots = [v for v in others if structure.kind(v.type) is not None or v is others[-1]]
            value = spots[-1]
            tangent = e.dot(value) if e.active(value) else e.algebra.zero(e, structure.strip(target.type).dtype)
            args = [dot if v is target else tangent if v is value else e.name(v) for v in op.operands]
            if isinstance(op, ir.Method):
                e.line(f"{args[0]}.{op.name}({', '.join(args[1:])})", op.loc)
            else:
                assert isinstance(op, ir.Call)
                e.line(f"{e.use(op.fn, name)}({', '.join(args)})", op.loc)
        case _:
            raise NoRuleError(
                f"{rule.name} writes into `{target.name}`, which is being differentiated, at {where(op.loc)}; "
                "jitgrad has no tangent for that: write it as a loop"
            )
    e.primal(op)
