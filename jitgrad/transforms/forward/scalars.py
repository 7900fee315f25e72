"""Operators and functions of scalars, by their partial derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jitgrad import rules
from jitgrad.analysis import structure
from jitgrad.program import ir
from jitgrad.rules.kernels import with_kernels
from jitgrad.transforms.forward import algebra, zeros

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter

_KERNELS = rules.kernels_namespace()


def emit(e: Emitter, op: ir.Op, rule: rules.ScalarRule) -> None:
    """Value and tangent of a scalar operation that has a rule."""
    result = op.results[0]
    if not e.active(result):
        e.primal(op)
        return
    found = row_of(op, rule)
    assert found is not None
    row, bound = found
    e.rules[rule.name] = None
    out = e.name(result)
    terms, reads = _terms(e, row, bound, result, out)
    dot = e.dot(result)
    if not terms:
        e.primal(op)
        e.line(f"{dot} = {zeros.zero(e, result)}")
    elif "out" not in reads:
        e.assign(dot, e.algebra.total(e, terms, list(bound.values()), result.type), op.loc)
        e.primal(op)
    elif out not in {e.name(bound[param]) for param in reads if param in bound}:
        e.primal(op)
        e.assign(dot, e.algebra.total(e, terms, list(bound.values()), result.type))
    else:  # the result takes the variable of an operand that the tangent still reads
        new = e.writer.fresh(f"{out}_new")
        terms, _ = _terms(e, row, bound, result, new)
        e.line(f"{new} = {e.expression(op)}", op.loc)
        e.assign(dot, e.algebra.total(e, terms, list(bound.values()), result.type))
        e.line(f"{out} = {new}")


def row_of(op: ir.Op, rule: rules.ScalarRule) -> tuple[rules.ScalarRule, dict[str, ir.Value]] | None:
    """The row for the operands of this operation, and the operands by its names."""
    match op:
        case ir.Method():
            args, kwargs = [op.obj, *op.args], op.kwargs
        case ir.Call():
            args, kwargs = op.args, op.kwargs
        case ir.GetAttr():
            args, kwargs = [op.base], {}
        case _:
            args, kwargs = op.operands, {}
    kinds = [structure.strip(v.type) for v in (*args, *kwargs.values())]
    row = rule.for_call(kinds)
    return None if row is None else (with_kernels(row, kinds), row.bind(args, kwargs))


def constant(value: ir.Value) -> Any:
    """The number a value is known to be, or None."""
    known = getattr(value, "value", None) if isinstance(value, (ir.Literal, ir.Global)) else None
    return known if isinstance(known, (int, float)) and not isinstance(known, bool) else None


def _terms(
    e: Emitter, row: rules.ScalarRule, bound: dict[str, ir.Value], result: ir.Value, out: str
) -> tuple[list[str], set[str]]:
    """The contributions of the active operands, and which operands (and ``out``) they read."""
    literals = {name: constant(v) for name, v in bound.items() if constant(v) is not None}
    kinds = [*(structure.strip(v.type) for v in bound.values()), structure.strip(result.type)]
    names = {name: e.name(v) for name, v in bound.items()} | {"out": out}
    # parameters that are called like a helper stand back until the helpers have their names
    hidden = {f"{text}_operand": text for text in names.values() if text in _KERNELS}
    names |= {name: f"{text}_operand" for name, text in names.items() if text in _KERNELS}
    terms: list[str] = []
    reads: set[str] = set()
    for param, value in bound.items():
        if not e.active(value) or not row.differentiable(param):
            continue
        kernels = {name: e.use(_KERNELS[name], name) for name in kernels_in(row, param) if name not in names}
        text = e.algebra.term(row, param, e.dot(value), kinds, {**kernels, **names}, literals)
        if text is None or row.partial(param, literals=literals) == "0.0":
            continue
        text = _qualified(e, text)
        terms.append(rules.fill(text, hidden) if hidden else text)
        reads |= e.algebra.reads(row, param, literals)
    return terms, reads


def kernels_in(row: rules.ScalarRule, param: str) -> list[str]:
    """Helpers that the text of a partial names."""
    i = row.params.index(param)
    text = row.push[i] if row.push is not None else row.partials[i]
    assert text is not None
    return [name for name in algebra.names_read(text) if name in _KERNELS]


def _qualified(e: Emitter, text: str) -> str:
    """`text` with helpers that products and literals brought in entered into the namespace."""
    names = algebra.names_read(text)
    renamed: dict[str, str] = {}
    for name in ("mul0", "div0", "ratio0", "np", "math", "fastmath"):
        if name in names and e.writer.namespace.get(name) is not _KERNELS[name]:
            used = e.use(_KERNELS[name], name)
            if used != name:
                renamed[name] = used
    return rules.fill(text, renamed) if renamed else text
