"""Writing a `Map` as loops; for the printer and for the transforms.

``write_allocation`` makes the result, ``write_nest`` the loops around a body that the caller writes,
``write_body`` the scalar operations for one element. A transform that needs loops of its own around
the same elements calls `write_nest` with another body.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype

from jitgrad.backend.writer import Writer
from jitgrad.program import ir
from jitgrad.runtime.broadcast import broadcast_length

# Division of scalars may raise, that of array elements does not.
DIVISIONS = {operator.truediv: np.true_divide, operator.floordiv: np.floor_divide, operator.mod: np.remainder}


@dataclass
class Element:
    """Where the loops are.

    Attributes
    ----------
    index : str
        The index of the element in the result: ``"i, j"``.
    inputs : dict of Value to str
        The index of the element in each array input: ``"i, j"``, or ``"i * step, j"`` for one that is
        broadcast, as it is in any array of that input's shape.
    """

    index: str
    inputs: dict[ir.Value, str]


def is_array(value: ir.Value) -> bool:
    return isinstance(value.type, types.Array)


def write_shape(writer: Writer, op: ir.Map) -> list[str]:
    """Write the lengths of the result's axes; returns their texts. Raises like NumPy on a mismatch."""
    arrays = [v for v in op.inputs if is_array(v)]
    lengths = []
    for axis in range(op.result.type.ndim):
        parts = []
        for value in arrays:
            own = axis - op.result.type.ndim + value.type.ndim
            if own >= 0:
                parts.append(f"{writer.name(value)}.shape[{own}]")
        text = parts[0]
        for part in parts[1:]:
            text = f"{writer.use(broadcast_length, 'broadcast_length')}({text}, {part})"
        name = writer.fresh("n")
        writer.line(f"{name} = {text}", op.loc)
        lengths.append(name)
    return lengths


def write_allocation(writer: Writer, array: str, type_: types.Array, lengths: list[str]) -> None:
    """Write ``array = np.empty(...)`` for an array of `type_`."""
    empty, dtype = writer.use(np.empty, "empty"), writer.use(as_dtype(type_.dtype).type, str(type_.dtype))
    if type_.layout == "F" and type_.ndim > 1:
        writer.line(f"{array} = {empty}(({', '.join(reversed(lengths))}), {dtype}).T")
    else:
        writer.line(f"{array} = {empty}(({', '.join(lengths)},), {dtype})")


def write_nest(writer: Writer, op: ir.Map, lengths: list[str], body: Callable[[Element], None]) -> None:
    """Write loops over all elements.

    Where arrays could be broadcast at run time, the body is written twice: for arrays that all have
    the result's shape, with plain indices that vectorise, and for the others.

    Parameters
    ----------
    lengths : list of str
        From `write_shape`.
    body : callable
        Writes the statements for one `Element`.
    """
    arrays = [v for v in op.inputs if is_array(v)]
    indices = [writer.fresh("ijklmnpq"[axis % 8]) for axis in range(len(lengths))]
    plain = {v: ", ".join(indices[len(indices) - v.type.ndim :]) for v in arrays}
    if len(arrays) == 1:
        _write_loops(writer, op, indices, lengths, lambda: body(Element(", ".join(indices), plain)))
        return
    same = [
        f"{writer.name(v)}.shape[{axis}] == {length}"
        for v in arrays
        for axis, length in enumerate(lengths[len(lengths) - v.type.ndim :])
    ]
    with writer.indented(f"if {' and '.join(same)}:"):
        _write_loops(writer, op, indices, lengths, lambda: body(Element(", ".join(indices), plain)))
    with writer.indented("else:"):
        stepped = {v: _write_steps(writer, v, indices) for v in arrays}
        _write_loops(writer, op, indices, lengths, lambda: body(Element(", ".join(indices), stepped)))


def _write_steps(writer: Writer, value: ir.Value, indices: list[str]) -> str:
    """Write the step of each axis, 0 where it is broadcast; returns the index text of `value`."""
    parts = []
    for axis, index in enumerate(indices[len(indices) - value.type.ndim :]):
        step = writer.fresh("step")
        writer.line(f"{step} = 0 if {writer.name(value)}.shape[{axis}] == 1 else 1")
        parts.append(f"{index} * {step}")
    return ", ".join(parts)


def _write_loops(writer: Writer, op: ir.Map, indices: list[str], lengths: list[str], body: Callable[[], None]) -> None:
    axes = list(zip(indices, lengths, strict=True))
    if op.result.type.layout == "F":
        axes.reverse()

    def nest(rest: list[tuple[str, str]]) -> None:
        if not rest:
            body()
            return
        with writer.indented(f"for {rest[0][0]} in range({rest[0][1]}):"):
            nest(rest[1:])

    nest(axes)


def write_body(writer: Writer, op: ir.Map, element: Element) -> str:
    """Write the loads and scalar operations for one element; returns the text of the output."""
    for value, param in zip(op.inputs, op.params, strict=True):
        if is_array(value):
            writer.line(f"{writer.name(param)} = {writer.name(value)}[{element.inputs[value]}]")
        else:
            writer.alias(param, writer.name(value))
    for inner in op.body.ops:
        writer.line(f"{writer.name(inner.results[0])} = {scalar_expression(writer, inner)}", inner.loc)
    return writer.name(op.output)


def scalar_expression(writer: Writer, op: ir.Op) -> str:
    """The right-hand side of an operation in the body of a map."""
    name = writer.name
    match op:
        case ir.Binary() if op.fn in DIVISIONS:
            ufunc = DIVISIONS[op.fn]
            return f"{writer.use(ufunc, ufunc.__name__)}({name(op.lhs)}, {name(op.rhs)})"
        case ir.Call(fn=np.where):
            condition, then, orelse = (name(v) for v in op.args)
            return f"{then} if {condition} else {orelse}"
        case ir.Call(fn=np.clip):
            value, low, high = (name(v) for v in op.args)
            return f"{writer.use(np.minimum, 'minimum')}({writer.use(np.maximum, 'maximum')}({value}, {low}), {high})"
        case ir.Cast():
            return f"{writer.use(op.result.type, str(op.result.type))}({name(op.operand)})"
    return writer.expression(op)


def write_map(writer: Writer, op: ir.Map) -> None:
    """Write ``op.result`` as an allocation and loops."""
    result = writer.name(op.result)
    lengths = write_shape(writer, op)
    write_allocation(writer, result, op.result.type, lengths)

    def body(element: Element) -> None:
        writer.line(f"{result}[{element.index}] = {write_body(writer, op, element)}")

    write_nest(writer, op, lengths, body)
