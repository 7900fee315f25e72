"""Text that all transforms write the same way: simultaneous assignments and elementwise loop nests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba.core import types

from jitgrad.analysis.extents import Extents
from jitgrad.backend.writer import Writer
from jitgrad.program import ir


def parallel_assignment(writer: Writer, targets: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
    """``targets = values`` at once: no value is overwritten before it is read."""
    pairs = [
        (writer.name(t), placeholder(writer, t.type) if isinstance(v, ir.Undefined) else writer.name(v))
        for t, v in zip(targets, values, strict=True)
    ]
    pairs = [(target, value) for target, value in pairs if value is not None and target != value]
    written: set[str] = set()
    clash = False
    for target, value in pairs:
        clash |= value in written
        written.add(target)
    if clash:
        left, right = zip(*pairs, strict=True)
        writer.line(f"{', '.join(left)} = {', '.join(right)}")
        return
    for target, value in pairs:
        writer.line(f"{target} = {value}")


def placeholder(writer: Writer, typ: types.Type) -> str | None:
    """Some value of a type, for a variable that is assigned but never read on this path."""
    np_ = writer.use(np, "np")
    match typ:
        case types.Boolean():
            return "False"
        case types.Number():
            return "0" if typ == types.int64 else f"{np_}.{typ}(0)"
        case types.Array():
            dtype = typ.dtype
            if isinstance(dtype, (types.Number, types.Boolean)):
                name = "bool_" if isinstance(dtype, types.Boolean) else dtype
                return f"{np_}.empty({(0,) * typ.ndim}, {np_}.{name})"
        case types.BaseTuple() if not isinstance(typ, types.BaseNamedTuple):
            items = typ.types if hasattr(typ, "types") else [typ.dtype] * len(typ)
            parts = [placeholder(writer, item) for item in items]
            return None if None in parts else "(" + "".join(f"{part}, " for part in parts).rstrip() + ")"
        case types.NoneType():
            return "None"
    return None


def stretches(extents: Extents, op: ir.Map, value: ir.Value, axis: int) -> bool:
    """Whether an input of a map may have to be broadcast along one of its own axes."""
    own = extents(value, axis)
    return own is None or own != extents(op.result, op.result.type.ndim - value.type.ndim + axis)


def write_map(writer: Writer, op: ir.Map, extents: Extents) -> None:
    """An elementwise expression as an allocation and a loop nest."""
    np_ = writer.use(np, "np")
    arrays = [v for v in op.inputs if isinstance(v.type, types.Array)]
    shapes = ", ".join(f"{writer.name(v)}.shape" for v in arrays)
    full = [v for v in arrays if v.type.ndim == op.result.type.ndim]
    alike = [v for v in full if not any(stretches(extents, op, v, axis) for axis in range(v.type.ndim))]
    if len(arrays) == 1 or (alike and len(alike) == len(arrays)):
        shape = f"{writer.name(alike[0] if alike else arrays[0])}.shape"
    else:
        shape = f"{np_}.broadcast_shapes({shapes})"
    out = writer.name(op.result)
    dtype = op.result.type.dtype
    writer.line(f"{out} = {np_}.empty({shape}, {np_}.{'bool_' if isinstance(dtype, types.Boolean) else dtype})", op.loc)
    counters = [writer.fresh("k") for _ in range(op.result.type.ndim)]
    index = {}
    for value in arrays:
        offset = len(counters) - value.type.ndim
        parts = []
        for axis in range(value.type.ndim):
            if len(arrays) > 1 and stretches(extents, op, value, axis):
                step = writer.fresh("step")
                writer.line(f"{step} = 0 if {writer.name(value)}.shape[{axis}] == 1 else 1")
                parts.append(f"{counters[offset + axis]} * {step}")
            else:
                parts.append(counters[offset + axis])
        index[value] = ", ".join(parts) if parts else "()"
    text = writer.here
    for axis, counter in enumerate(counters):
        text = text.suite(f"for {counter} in range({out}.shape[{axis}]):")
    with writer.into(text):
        for value, param in zip(op.inputs, op.params, strict=True):
            element = f"{writer.name(value)}[{index[value]}]" if value in index else writer.name(value)
            writer.line(f"{writer.name(param)} = {element}")
        for inner in op.body:
            writer.statement(inner)
        writer.line(f"{out}[{', '.join(counters) or '()'}] = {writer.name(op.output)}")
