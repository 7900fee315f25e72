"""Pullback of an elementwise array expression: one loop nest over the elements.

Inside, the scalar block is differentiated like any other code, its values computed again from the
elements of the inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitgrad.analysis.scopes import Scope
from jitgrad.program import ir
from jitgrad.transforms.reverse import cheap
from jitgrad.transforms.reverse.leaves import is_array

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def pullback(sweep: Sweep, op: ir.Map) -> None:
    """``input_bar[k] += ct[k] * d result[k] / d input[k]`` for every element k."""
    ct = sweep.adjoints.take(op.result)
    if ct is None:
        return
    writer, adjoints = sweep.writer, sweep.adjoints
    ndim = op.result.type.ndim
    elements = Elements(sweep, op)
    sweep.elements[op.body] = elements
    active = [(v, p) for v, p in zip(op.inputs, op.params, strict=True) if sweep.is_active(v)]
    buffers = {p: adjoints.start(v) for v, p in active}
    elements.prepare(writer.here.section())
    outer, nest = sweep.scope, writer.here
    for axis in range(ndim):
        nest = nest.suite(f"for {elements.counters[axis]} in range({ct}.shape[{axis}]):")
    with writer.into(nest):
        sweep.open(sweep.scopes.of[op.body])
        adjoints.add(op.output, f"{ct}[{', '.join(elements.counters)}]")
        sweep.block(op.body)
        for value, param in active:
            text = adjoints.take(param)
            if text is None:
                continue
            target = f"{buffers[param]}[{elements.index(value)}]" if is_array(value.type) else buffers[param]
            writer.line(f"{target} += {adjoints.typed(getattr(value.type, 'dtype', value.type), text)}")
    sweep.scope = outer


class Elements:
    """The elements of a map's inputs inside its backward loop nest.

    Attributes
    ----------
    counters : list of str
        The loop variables, one per axis of the result.
    """

    def __init__(self, sweep: Sweep, op: ir.Map):
        self._sweep, self._op = sweep, op
        self.counters = [sweep.writer.fresh("k") for _ in range(op.result.type.ndim)]
        self._steps: dict[ir.Value, list[str | None]] = {}
        arrays = [v for v in op.inputs if is_array(v.type)]
        for value in arrays:
            stretched = len(arrays) > 1
            self._steps[value] = [sweep.writer.fresh("step") if stretched else None for _ in range(value.type.ndim)]

    def prepare(self, text) -> None:
        """Compute the steps of inputs that may be broadcast: zero along an axis of size one."""
        sweep = self._sweep
        for value, steps in self._steps.items():
            if any(steps):
                shape = sweep.saved.shape(value)
                with sweep.writer.into(text):
                    for axis, step in enumerate(steps):
                        sweep.writer.line(f"{step} = 0 if {shape}[{axis}] == 1 else 1")

    def index(self, value: ir.Value) -> str:
        """The index of the current element of an array input."""
        steps = self._steps[value]
        offset = len(self.counters) - len(steps)
        parts = [
            self.counters[offset + axis] + ("" if step is None else f" * {step}") for axis, step in enumerate(steps)
        ]
        return ", ".join(parts) if parts else "()"

    def provide(self, value: ir.Value, home: Scope) -> str:
        """The text of a value of the scalar block, computed at the top of the innermost loop."""
        sweep, op, writer = self._sweep, self._op, self._sweep.writer
        name = writer.name(value)
        if value in op.params:
            source = op.inputs[op.params.index(value)]
            text = sweep.saved.need_content(source, op)
            if is_array(source.type):
                text = f"{text}[{self.index(source)}]"
            with writer.into(sweep.head[home]):
                writer.line(f"{name} = {text}")
            return name
        inner = sweep.scopes.definition[value]
        if value is op.output and not cheap.is_cheap(inner, sweep.memory) and sweep.memory.intact(op, op.result):
            text = f"{sweep.saved.need(op.result)}[{', '.join(self.counters)}]"
            with writer.into(sweep.head[home]):
                writer.line(f"{name} = {text}")
            return name
        for operand in inner.operands:
            sweep.saved.need(operand)
        with writer.into(sweep.head[home]):
            writer.statement(inner)
        return name
