"""Elementwise array expressions as loop nests: value and tangent of each element together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from numba.core import types

from jitgrad.analysis import structure
from jitgrad.frontend.maps import write_allocation, write_shape
from jitgrad.program import ir
from jitgrad.runtime.shapes import check_broadcast

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter


def emit(e: Emitter, op: ir.Map) -> None:
    """A new array, element by element."""
    result = structure.strip(op.result.type)
    out, active = e.name(op.result), e.active(op.result)
    lengths = write_shape(e.writer, op)
    write_allocation(e.writer, out, result, lengths)
    if active:
        e.line(f"{e.dot(op.result)} = {e.algebra.empty_like(e, out, result)}")
    with nest(e, lengths, [v for v in op.inputs if is_array(v)], result.layout) as at:
        for value, param in zip(op.inputs, op.params, strict=True):
            _element(e, value, param, at)
        e.block(op.body)
        e.line(f"{out}[{at.index}] = {e.name(op.output)}")
        if active:
            dot = e.dot(op.output) if e.active(op.output) else e.algebra.zero(e, op.output.type)
            e.line(f"{e.dot(op.result)}[{at.index}] = {dot}")


def update(e: Emitter, op: ir.InplaceBinary) -> None:
    """``a += b`` for arrays: each element in place, in the order in which Numba does it."""
    ty = structure.strip(op.lhs.type)
    a = ir.Value(op.lhs.name, ty.dtype)
    new = ir.Value("new", ty.dtype)
    b = ir.Value(op.rhs.name, structure.strip(op.rhs.type).dtype) if is_array(op.rhs) else op.rhs
    e.marks[a] = e.marks[new] = True
    if b is not op.rhs:
        e.marks[b] = e.active(op.rhs)
    arrays = [op.rhs] if is_array(op.rhs) else []
    target, dot = e.name(op.lhs), e.dot(op.lhs)
    if arrays and structure.strip(op.rhs.type).ndim and op.rhs is not op.lhs:
        e.line(f"{e.use(check_broadcast)}({e.name(op.rhs)}.shape, {target}.shape)", op.loc)
    lengths = [f"{target}.shape[{axis}]" for axis in range(ty.ndim)]
    with nest(e, lengths, arrays, ty.layout, target) as at:
        _element(e, op.lhs, a, at)
        if b is not op.rhs:
            _element(e, op.rhs, b, at)
        e.op(ir.Binary(new, op.fn, a, b, loc=op.loc))
        e.line(f"{target}[{at.index}] = {e.name(new)}")
        e.line(f"{dot}[{at.index}] = {e.dot(new)}")
    if op.result is not None and e.name(op.result) != target:
        e.line(f"{e.name(op.result)} = {target}")


def single(e: Emitter, op: ir.Unary | ir.Binary | ir.Call | ir.Method) -> None:
    """One operation on whole arrays that the front end did not read as a `Map`."""
    operands = op.operands
    params = [ir.Value(v.name, structure.strip(v.type).dtype) if is_array(v) else v for v in operands]
    output = ir.Value("t", structure.strip(op.result.type).dtype)
    e.marks[output] = e.active(op.result)
    for value, param in zip(operands, params, strict=True):
        e.marks[param] = e.active(value)
    match op:
        case ir.Unary():
            inner: ir.Op = ir.Unary(output, op.fn, params[0])
        case ir.Binary():
            inner = ir.Binary(output, op.fn, params[0], params[1])
        case ir.Method():
            inner = ir.Method(output, op.name, params[0], params[1:])
        case _:
            inner = ir.Call(
                output, op.fn, params[: len(op.args)], dict(zip(op.kwargs, params[len(op.args) :], strict=True))
            )
    inner.loc = op.loc
    inputs = [(v, p) for v, p in zip(operands, params, strict=True) if v is not p]
    emit(e, ir.Map(op.result, [v for v, _ in inputs], [p for _, p in inputs], ir.Block([inner]), output, loc=op.loc))


def is_array(value: ir.Value) -> bool:
    return isinstance(structure.strip(value.type), types.Array)


class At:
    """Where a loop nest is: the index of the result, and of each array that is broadcast."""

    def __init__(self, names: list[str], steps: dict[str, list[str]]):
        self._names = names
        self._steps = steps
        self.loaded: dict[str, ir.Value] = {}

    @property
    def index(self) -> str:
        return ", ".join(self._names) or "()"

    def of(self, name: str, ndim: int) -> str:
        """The index of the array `name`, aligned at the last axis."""
        own = self._names[len(self._names) - ndim :]
        steps = self._steps.get(name)
        return ", ".join(own if steps is None else [f"{i} * {s}" for i, s in zip(own, steps, strict=True)]) or "()"


@contextmanager
def nest(e: Emitter, lengths: list[str], arrays: list[ir.Value], layout: str, target: str = "") -> Iterator[At]:
    """Loops over axes of these lengths; where several arrays may be broadcast, an axis of size one is read again."""
    distinct = {e.name(v): structure.strip(v.type).ndim for v in arrays}
    steps: dict[str, list[str]] = {}
    for name, own in distinct.items() if len(distinct) > 1 or target not in ("", *distinct) else ():
        steps[name] = []
        for axis in range(own):
            step = e.writer.fresh(f"{name}_step")
            e.line(f"{step} = 0 if {name}.shape[{axis}] == 1 else 1")
            steps[name].append(step)
    while len(e.indices) < len(lengths):
        e.indices.append(e.writer.fresh("ijklmnpq"[len(e.indices) % 8]))
    names = e.indices[: len(lengths)]
    axes = list(zip(names, lengths, strict=True))
    with ExitStack() as stack:
        for name, length in axes[::-1] if layout == "F" else axes:
            stack.enter_context(e.writer.indented(f"for {name} in range({length}):"))
        yield At(names, steps)


def _element(e: Emitter, value: ir.Value, param: ir.Value, at: At) -> None:
    """Let `param` stand for one element of `value` and its tangent."""
    name = e.name(value)
    if not is_array(value):
        e.writer.alias(param, name)
        if e.active(param):
            e.writer.alias_dot(param, e.dot(value))
        return
    if name in at.loaded:
        e.writer.alias(param, e.name(at.loaded[name]))
        if e.active(param):
            e.writer.alias_dot(param, e.dot(at.loaded[name]))
        return
    at.loaded[name] = param
    index = at.of(name, structure.strip(value.type).ndim)
    element = e.writer.element(name)
    e.writer.alias(param, element)
    e.line(f"{element} = {name}[{index}]")
    if e.active(param):
        e.writer.alias_dot(param, e.writer.element(e.dot(value)))
        e.line(f"{e.dot(param)} = {e.dot(value)}[{index}]")
