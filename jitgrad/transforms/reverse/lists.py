"""Pullbacks of lists: the adjoint of a list is a list of the adjoints of its items, as long as it is.

``append`` and ``extend`` backwards are ``pop``, and ``pop`` backwards is ``append``: the adjoint list always has the
length that the list had, so that negative indices mean the same in both.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from numba.core import types

from jitgrad.analysis import activity
from jitgrad.analysis.memory import viewed
from jitgrad.backend.structure import describe
from jitgrad.program import ir
from jitgrad.runtime import lists as runtime
from jitgrad.transforms.reverse import arrays
from jitgrad.transforms.reverse.leaves import is_array

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def is_list(typ: types.Type) -> bool:
    return isinstance(typ, (types.List, types.ListType))


def has_adjoint(typ: types.Type) -> bool:
    """Whether lists of this type are followed: those of numbers and of arrays."""
    return is_array(typ.dtype) or isinstance(typ.dtype, types.Number)


def zeros(sweep: Sweep, value: ir.Value) -> str:
    """How the adjoint of the list `value` starts: with zeros like its items, or parts of an adjoint."""
    items = () if is_list(value.type.dtype) else activity.leaves(activity.elements(sweep.activity.tree(value)))
    for cell in items:  # their adjoints would have to be shared with those of the arrays they are
        for op in sweep.memory.stores.get(cell, []) if is_array(value.type.dtype) else []:
            raise sweep.fail(op, f"an array in the list {value.name} is written in place", "use one array")
    made = sweep.scopes.definition.get(value)
    if made is not None and (whole := viewed(made)) is not None:  # as by np.split
        return arrays.view_text(sweep, made, sweep.adjoints.start(whole))
    if not sweep.live(sweep.scopes.home[value]):
        raise sweep.fail(
            sweep.scopes.definition[value], f"the list {value.name} is made inside a loop", "make an array there"
        )  # fmt: skip
    name = "zero_arrays" if is_array(value.type.dtype) else "zero_numbers"
    zero = "" if is_array(value.type.dtype) else f", {sweep.adjoints.zero(value.type.dtype)}"
    if isinstance(value.type, types.ListType):
        name = f"typed_{name}"
    return f"{sweep.writer.use(getattr(runtime, name), name)}({sweep.writer.name(value)}{zero})"


def follow(sweep: Sweep, op: ir.If | ir.Loop, k: int, block: ir.Block, yielded: ir.Value) -> None:
    """Refuse to let a name follow a list that changes in place, unless the list is made where it is yielded.

    Two names of one list share an adjoint list, which only a new list can be handed.
    """
    leaf = sweep.adjoints.leaf(yielded)
    taken = [other for j, other in enumerate(_yields(op, block)) if j != k and sweep.adjoints.leaf(other) == leaf]
    home = sweep.scopes.home.get(leaf.value)
    last = sweep.scopes.order[op] if isinstance(op, ir.Loop) else sweep.scopes.end[op]
    around = sweep.scopes.loops(sweep.scopes.at[op])
    changes = any(
        sweep.scopes.order[store] > last or set(around) & set(sweep.scopes.loops(sweep.scopes.at[store]))
        for store in sweep.memory.stores_of(op.outs[k])
    )
    if changes and (home is not sweep.scopes.of[block] or taken):
        raise sweep.fail(
            op, f"the list {op.outs[k].name} is changed in place and may be a list that has another name",
            "make a new list there, as by a list comprehension",
        )  # fmt: skip


def _yields(op: ir.If | ir.Loop, block: ir.Block) -> list[ir.Value]:
    if isinstance(op, ir.Loop):
        return op.yields
    return op.then_yields if block is op.then else op.else_yields


def load(sweep: Sweep, op: ir.GetItem) -> None:
    """``x = items[i]``."""
    _of_numbers_or_arrays(sweep, op, op.base)
    ct = sweep.adjoints.take(op.result)
    if ct is None or not sweep.is_active(op.base):
        return
    if is_list(op.result.type):
        raise sweep.fail(op, "a slice of a list is differentiated", "use an array")
    buffer = sweep.adjoints.start(op.base)
    sweep.writer.line(f"{buffer}[{sweep.index(op.index)}] += {ct}", op.loc)


def _of_numbers_or_arrays(sweep: Sweep, op: ir.Op, items: ir.Value) -> None:
    """Refuse a list of anything else: it has no adjoint, so that what is read from it would count as constant."""
    if sweep.is_active(items) and not has_adjoint(items.type):
        dtype = items.type.dtype
        kind = "nested list" if is_list(dtype) else f"list of {describe(dtype)}"
        raise sweep.fail(op, f"the {kind} {items.name} is differentiated", "use lists of numbers or of arrays")


def store(sweep: Sweep, op: ir.SetItem) -> None:
    """``items[i] = x``."""
    _of_numbers_or_arrays(sweep, op, op.base)
    if is_list(op.value.type) or is_array(op.value.type):
        raise sweep.fail(op, f"an item of the list {op.base.name} is replaced", "use an array")
    buffer = sweep.adjoints.start(op.base)
    target = f"{buffer}[{sweep.index(op.index)}]"
    sweep.adjoints.add(op.value, target)
    sweep.writer.line(f"{target} = {sweep.adjoints.zero(op.base.type.dtype)}", op.loc)


def method(sweep: Sweep, op: ir.Method) -> None:
    """``append``, ``insert``, ``extend``, ``pop`` and ``reverse``."""
    _of_numbers_or_arrays(sweep, op, op.obj)
    buffer = sweep.adjoints.start(op.obj)
    match op.name, len(op.args):
        case "append", 1:
            ct = sweep.writer.fresh("ct")
            sweep.writer.line(f"{ct} = {buffer}.pop()", op.loc)
            sweep.adjoints.add(op.args[0], ct)
        case "pop", 0 if not is_list(op.result.type):
            if is_array(op.result.type):
                sweep.adjoints.start(op.result)
            ct = sweep.adjoints.take(op.result) or sweep.adjoints.zero(op.result.type)
            sweep.writer.line(f"{buffer}.append({ct})", op.loc)
        case "pop", 1 if not is_list(op.result.type) and not is_array(op.result.type):
            ct = sweep.adjoints.take(op.result) or sweep.adjoints.zero(op.result.type)
            place, index = sweep.writer.use(runtime.place, "place"), sweep.saved.need(op.args[0])
            sweep.writer.line(f"{buffer}.insert({place}({index}, len({buffer}) + 1), {ct})", op.loc)
        case "insert", 2:
            ct, index = sweep.writer.fresh("ct"), sweep.saved.need(op.args[0])
            place = sweep.writer.use(runtime.place, "place")
            sweep.writer.line(f"{ct} = {buffer}.pop({place}({index}, len({buffer}) - 1))", op.loc)
            sweep.adjoints.add(op.args[1], ct)
        case "reverse", 0:
            sweep.writer.line(f"{buffer}.reverse()", op.loc)
        case "extend", 1 if is_list(op.args[0].type) and not is_list(op.obj.type.dtype):
            (source,) = op.args
            target, k = sweep.adjoints.start(source) if sweep.is_active(source) else None, sweep.writer.fresh("k")
            if target is None or sweep.adjoints.leaf(source) == sweep.adjoints.leaf(op.obj):
                raise sweep.fail(op, f"the list {op.obj.name} grows by itself or by constants", "append the items")
            with sweep.writer.indented(f"for {k} in range(len({target}) - 1, -1, -1):"):
                sweep.writer.line(f"{target}[{k}] += {buffer}.pop()", op.loc)
        case _:
            raise sweep.fail(op, f"`{op.name}` on the list {op.obj.name} is differentiated", "use an array")


def combined(sweep: Sweep, op: ir.Binary) -> None:
    """``items + others`` and ``items * n``."""
    ct, k = sweep.adjoints.take(op.result), sweep.writer.fresh("k")
    for at, value in enumerate(op.operands):
        if not sweep.is_active(value):
            continue
        _of_numbers_or_arrays(sweep, op, value)
        buffer = sweep.adjoints.start(value)
        if op.fn is operator.mul:
            with sweep.writer.indented(f"for {k} in range(len({ct})):"):
                sweep.writer.line(f"{buffer}[{k} % len({buffer})] += {ct}[{k}]", op.loc)
            continue
        start = "" if at == 0 else f"len({ct}) - len({buffer}) + "
        with sweep.writer.indented(f"for {k} in range(len({buffer})):"):
            sweep.writer.line(f"{buffer}[{k}] += {ct}[{start}{k}]", op.loc)


def from_array(sweep: Sweep, op: ir.Op, value: ir.Value, ct: str) -> None:
    """The list that an array was made of, given the array's cotangent."""
    made = sweep.scopes.definition.get(value)
    if isinstance(made, ir.BuildList) and not sweep.memory.written(value):
        for k, item in enumerate(made.items):
            if is_list(item.type):
                from_array(sweep, op, item, f"{ct}[{k}]")
            elif isinstance(item, ir.Value) and sweep.is_active(item):
                sweep.adjoints.add(item, f"{ct}[{k}]", fresh=False)
        return
    buffer = sweep.adjoints.start(value)
    if is_list(value.type.dtype):
        raise sweep.fail(op, f"an array is made of the nested list {value.name}", "fill an array in a loop")
    index = sweep.writer.fresh("k")
    with sweep.writer.indented(f"for {index} in range(len({buffer})):"):
        sweep.writer.line(f"{buffer}[{index}] += {ct}[{index}]")


def build(sweep: Sweep, op: ir.BuildList) -> None:
    """``[x, y, z]``."""
    name = sweep.adjoints.take(op.result)
    if name is not None:
        for k, item in enumerate(op.items):
            sweep.adjoints.add(item, f"{name}[{k}]", fresh=True)


def converted(sweep: Sweep, op: ir.Call) -> None:
    """``List()``, ``list(items)``, ``List(items)``."""
    name = sweep.adjoints.take(op.result)
    if not op.args or name is None:
        return
    (source,) = op.args
    if is_list(op.result.type.dtype) or not (is_list(source.type) or is_array(source.type)):
        raise sweep.fail(op, f"a list is made of a {source.type}", "append the items in a loop")
    buffer, k = sweep.adjoints.start(source), sweep.writer.fresh("k")
    with sweep.writer.indented(f"for {k} in range(len({buffer})):"):
        sweep.writer.line(f"{buffer}[{k}] += {name}[{k}]", op.loc)
