"""Indexing, attributes, containers: everything done to memory is done to its tangent too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba.core import types

from jitgrad import rules
from jitgrad.analysis import effects, structure
from jitgrad.errors import UnsupportedError, where
from jitgrad.program import ir
from jitgrad.transforms.forward import scalars, zeros

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter


def getitem(e: Emitter, op: ir.GetItem) -> None:
    if e.active(op.result):
        _followed(op.base, op)
        e.line(f"{e.dot(op.result)} = {e.dot(op.base)}[{e.writer.index(op.index)}]", op.loc)
    e.primal(op)


def setitem(e: Emitter, op: ir.SetItem) -> None:
    if _stores_itself(e, op):
        return
    if e.active(op.base):
        _followed(op.base, op)
        e.line(f"{e.dot(op.base)}[{e.writer.index(op.index)}] = {_stored(e, op)}", op.loc)
    e.primal(op)


def _stores_itself(e: Emitter, op: ir.SetItem) -> bool:
    """Whether this is the last step of ``a[1:] += b``, after the view ``a[1:]`` has been written in place."""
    update = e.producers.get(op.value)
    load = e.producers.get(update.lhs) if isinstance(update, ir.InplaceBinary) else None
    return (
        isinstance(load, ir.GetItem)
        and structure.kind(op.base.type) == structure.ARRAY
        and isinstance(load.result.type, types.Array)
        and not effects.is_copy(load)
        and load.base is op.base
        and len(load.index) == len(op.index)
        and all(_same(a, b) for a, b in zip(load.index, op.index, strict=True))
    )


def _same(a: ir.IndexItem | None, b: ir.IndexItem | None) -> bool:
    """Whether two items of an index are known to be equal."""
    if isinstance(a, ir.Slice) and isinstance(b, ir.Slice):
        return _same(a.start, b.start) and _same(a.stop, b.stop) and _same(a.step, b.step)
    if isinstance(a, ir.Literal) and isinstance(b, ir.Literal):
        return a.value == b.value and type(a.value) is type(b.value)
    return a is b


def _stored(e: Emitter, op: ir.SetItem) -> str:
    """The tangent of what is stored; a zero that broadcasts where it has none."""
    base = structure.strip(op.base.type)
    if isinstance(base, types.Record) and not structure.kind(op.value.type):
        return "0"
    if e.active(op.value) and not _is_integer_field(op):
        return e.dot(op.value)
    if structure.kind(base) == structure.LIST:
        whole = effects.is_slice(op.index[0])
        return zeros.zero(e, op.value) if whole else zeros.zero(e, op.value, base.dtype)
    if structure.kind(op.value.type) == structure.RECORD:
        return zeros.zero(e, op.value)
    return e.algebra.zero(e, getattr(base, "dtype", types.float64))


def _is_integer_field(op: ir.SetItem) -> bool:
    base = structure.strip(op.base.type)
    record = base if isinstance(base, types.Record) else getattr(base, "dtype", None)
    if not isinstance(record, types.Record):
        return False
    item = op.index[0] if op.index else None
    field = item.value if isinstance(item, ir.Literal) else None
    return isinstance(field, str) and structure.kind(record.typeof(field)) is None


def getattr_(e: Emitter, op: ir.GetAttr) -> None:
    if not e.active(op.result):
        e.primal(op)
        return
    _followed(op.base, op)
    rule = rules.lookup_attribute(op.attr, structure.strip(op.base.type))
    if isinstance(rule, rules.ScalarRule) and structure.kind(op.base.type) == structure.SCALAR:
        scalars.emit(e, op, rule)
        return
    if structure.kind(op.base.type) == structure.SCALAR and op.attr not in ("real", "imag"):
        raise UnsupportedError(f"no derivative of the attribute `.{op.attr}` at {where(op.loc)}; compute it otherwise")
    e.line(f"{e.dot(op.result)} = {e.dot(op.base)}.{op.attr}", op.loc)
    e.primal(op)


def setattr_(e: Emitter, op: ir.SetAttr) -> None:
    if e.active(op.base):
        _followed(op.base, op)
        record = structure.strip(op.base.type)
        carries = not isinstance(record, types.Record) or structure.kind(record.typeof(op.attr))
        if carries:
            value = e.dot(op.value) if e.active(op.value) else "0.0"
            e.line(f"{e.dot(op.base)}.{op.attr} = {value}", op.loc)
    e.primal(op)


def _followed(base: ir.Value, op: ir.Op) -> None:
    """Refuse containers that hold floats in a way tangents cannot follow."""
    if structure.kind(base.type) == structure.OPAQUE:
        what = {types.DictType: "dict", types.Set: "set", types.ClassInstanceType: "jitclass object"}
        name = next((n for t, n in what.items() if isinstance(base.type, t)), str(base.type))
        raise UnsupportedError(
            f"a number to differentiate goes through the {name} `{base.name}` at {where(op.loc)}; jitgrad does not "
            "follow derivatives through it: use an array, a tuple or a list"
        )


def build_tuple(e: Emitter, op: ir.BuildTuple) -> None:
    if e.active(op.result):
        parts = [part(e, item) for item in op.items]
        e.line(f"{e.dot(op.result)} = {zeros.build(e, types.Tuple([]), parts)}", op.loc)
    e.primal(op)


def part(e: Emitter, value: ir.Value) -> str:
    """The tangent of a value as a part of a container: a zero where it has none."""
    return e.dot(value) if e.active(value) else zeros.zero(e, value)


def build_list(e: Emitter, op: ir.BuildList) -> None:
    if e.active(op.result):
        item = structure.strip(op.result.type).dtype
        parts = [e.dot(v) if e.active(v) else zeros.zero(e, v, item) for v in op.items]
        e.line(f"{e.dot(op.result)} = [{', '.join(parts)}]", op.loc)
    e.primal(op)


def build_opaque(e: Emitter, op: ir.BuildMap | ir.BuildSet) -> None:
    if e.active(op.result):
        _followed(op.result, op)
    e.primal(op)


def cast(e: Emitter, op: ir.Cast) -> None:
    if e.active(op.result):
        source = e.dot(op.operand) if e.active(op.operand) else zeros.zero(e, op.operand, op.result.type)
        source = e.algebra.cast(e, source, structure.strip(op.operand.type), structure.strip(op.result.type))
        if source != e.dot(op.result):
            e.line(f"{e.dot(op.result)} = {source}", op.loc)
    e.primal(op)


def list_method(e: Emitter, op: ir.Method) -> None:
    """A method of a list: the same on the list of tangents."""
    if not e.active(op.obj):
        e.primal(op)
        return
    dot, item = e.dot(op.obj), structure.strip(op.obj.type).dtype

    def of(value: ir.Value) -> str:
        return e.dot(value) if e.active(value) else zeros.zero(e, value, item)

    match op.name:
        case "append":
            text = f"{dot}.append({of(op.args[0])})"
        case "insert":
            text = f"{dot}.insert({e.name(op.args[0])}, {of(op.args[1])})"
        case "extend":
            source = op.args[0]
            text = f"{dot}.extend({e.dot(source) if e.active(source) else zeros.zero(e, source)})"
        case "pop":
            text = f"{dot}.pop({', '.join(e.name(a) for a in op.args)})"
        case "clear" | "reverse" | "copy":
            text = f"{dot}.{op.name}()"
        case "count" | "index":
            e.primal(op)
            return
        case "remove":
            text = f"{dot}.pop({e.name(op.obj)}.index({e.name(op.args[0])}))"
        case _:
            raise UnsupportedError(
                f"`{op.obj.name}.{op.name}` on a list to differentiate is not supported at {where(op.loc)}; "
                "use an array"
            )
    if op.result is not None and e.active(op.result):
        text = f"{e.dot(op.result)} = {text}"
    e.line(text, op.loc)
    e.primal(op)
