"""Pullback of an elementwise array expression: one loop nest over the elements.

Inside, the scalar block is differentiated like any other code, its values computed again from the
elements of the inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitgrad.analysis.scopes import Scope
from jitgrad.optimize.kernels import as_kernel, is_smooth
from jitgrad.program import ir
from jitgrad.settings import current_math
from jitgrad.transforms.common import stretches
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
    elements = Elements(sweep, op)
    sweep.elements[op.body] = elements
    active = [(v, p) for v, p in zip(op.inputs, op.params, strict=True) if sweep.is_active(v)]
    # an input of the result's own shape that nothing has contributed to yet needs no zeros to add to
    begins = [v for v, _ in active if is_array(v.type) and elements.plain(v) and adjoints.whole(v)]
    begins = [v for v in begins if sum(adjoints.leaf(w) == adjoints.leaf(v) for w, _ in active) == 1]
    births = writer.here.section()
    elements.prepare(writer.here.section())
    outer, nest = sweep.scope, writer.here
    for axis in range(op.result.type.ndim):
        nest = nest.suite(f"for {elements.counters[axis]} in range({ct}.shape[{axis}]):")
    passed: ir.Value | None = None
    with writer.into(nest):
        sweep.open(sweep.scopes.of[op.body])
        element = writer.fresh("ct")
        writer.line(f"{element} = {ct}[{', '.join(elements.counters) or '()'}]")
        adjoints.add(op.output, element)
        sweep.block(op.body)
        for value, param in active:
            text = adjoints.take(param)
            if not is_array(value.type):
                if text is not None:
                    adjoints.add(value, text)
                continue
            same = value.type.dtype == op.result.type.dtype
            if value in begins and passed is None and same and text is not None and adjoints.equals(text, element):
                passed = value  # its adjoint is the result's, which nobody needs any more
                continue
            name = adjoints.name(value)
            if value in begins:
                with writer.into(births):
                    writer.line(f"{name} = {sweep.np}.empty({ct}.shape, {sweep.dtype(value.type.dtype)})")
            elif text is not None:
                adjoints.start(value)
            if text is None and value not in begins:
                continue
            text = adjoints.typed(value.type.dtype, text or adjoints.zero(value.type.dtype))
            writer.line(f"{name}[{elements.index(value)}] {'=' if value in begins else '+='} {text}")
    sweep.scope = outer
    for value in begins:
        adjoints.rename(value, adjoints.name(value))
    if passed is not None:
        writer.line(f"{adjoints.name(passed)} = {ct}")


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
            self._steps[value] = [
                sweep.writer.fresh("step") if len(arrays) > 1 and stretches(sweep.extents, op, value, axis) else None
                for axis in range(value.type.ndim)
            ]

    def plain(self, value: ir.Value) -> bool:
        """Whether an input surely has the shape of the result."""
        if value.type.ndim != len(self.counters):
            return False
        return not any(stretches(self._sweep.extents, self._op, value, k) for k in range(value.type.ndim)) or (
            len(self._steps) == 1 and value.type.ndim > 0
        )

    def prepare(self, text) -> None:
        """Compute the steps of inputs that may be broadcast: zero along an axis of size one."""
        sweep = self._sweep
        for value, steps in self._steps.items():
            if any(steps):
                shape = sweep.saved.shape(value)
                with sweep.writer.into(text):
                    for axis, step in enumerate(steps):
                        if step is not None:
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
        if current_math() != "libm" and is_smooth(op.body):
            inner = as_kernel(inner)  # computed again for partials only
        with writer.into(sweep.head[home]):
            writer.statement(inner)
        return name
