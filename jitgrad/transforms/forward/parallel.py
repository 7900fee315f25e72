"""`prange` loops with tangents: as parallel as the loops themselves.

Tangents are mirrored memory, so iterations that do not disturb each other do not with their tangents. Sums are
collected for each chunk of iterations, and added up in the order of the chunks (`runtime.chunks`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
from numba.core import types

from jitgrad.analysis import independent
from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir
from jitgrad.runtime import chunks as runtime
from jitgrad.transforms.forward.tangents import Numbers

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter


def runs(e: Emitter, op: ir.Loop) -> bool:
    """Whether a loop is written in parallel: the user asked for it, and all that it carries are sums."""
    if not independent.asked(op, e.program.options) or e.within or type(e.algebra) is not Numbers:
        return False
    return independent.plain(op, Scopes(e.program))


def loop(e: Emitter, op: ir.Loop) -> None:
    """Write the loop; its sums have their first value already."""
    writer, np_ = e.writer, e.use(np, "np")
    assert op.count is not None
    count, chunks, chunk, k = (writer.fresh(name) for name in ("count", "chunks", "chunk", "k"))
    start, prange = e.use(runtime.chunk_start, "chunk_start"), e.use(numba.prange, "prange")
    before, number = writer.here.section(), e.name(op.count)  # whose variable may be another's in the loop
    outer = [(param, e.name(param), e.dot(param) if e.active(param) else None) for param in op.params]
    with writer.indented(f"for {k} in {prange}({chunks}):", op.loc):
        e.line(f"{chunk} = {np_}.int64({k})")
        sums = [_Sum(e, param, name, dot) for param, name, dot in outer]
        for one in sums:
            one.begin()
        bounds = ", ".join(f"{start}({n}, {chunks}, {count})" for n in (chunk, f"{chunk} + 1"))
        with writer.indented(f"for {e.name(op.index)} in range({bounds}):"):
            e.within = True
            e.block(op.body)
            e.copies(zip(op.params, op.yields, strict=True))
            e.within = False
        for one in sums:
            one.end(chunk)
    with writer.into(before):
        e.line(f"{count} = {number}")
        e.line(f"{chunks} = {e.use(runtime.chunk_count, 'chunk_count')}({count}, 1)")
        for one in sums:
            one.reserve(chunks)
    if sums:
        with writer.indented(f"for {k} in range({chunks}):"):
            for one in sums:
                one.add(k)


class _Sum:
    """A carried number inside the loop: a variable for each chunk, and for its tangent."""

    def __init__(self, e: Emitter, param: ir.Value, name: str, dot: str | None):
        self._e, self._param, self._name, self._dot = e, param, name, dot
        self._own, self._parts = e.writer.fresh(f"{name}_own"), e.writer.fresh(f"{name}_parts")
        if dot is not None:
            self._own_dot, self._dot_parts = e.writer.fresh(f"{dot}_own"), e.writer.fresh(f"{dot}_parts")

    def begin(self) -> None:
        """Start at zero, and stand for the sum from here on."""
        e, ty = self._e, self._param.type
        zero = "0.0" if ty == types.float64 else "0" if ty == types.int64 else f"{e.use(np, 'np')}.{ty}(0)"
        e.line(f"{self._own} = {zero}")
        e.writer.alias(e.writer.variables.of(self._param), self._own)
        if self._dot is not None:
            e.line(f"{self._own_dot} = {e.algebra.zero(e, ty)}")
            e.writer.alias_dot(self._param, self._own_dot)

    def end(self, chunk: str) -> None:
        """Keep the chunk's sum."""
        e = self._e
        e.line(f"{self._parts}[{chunk}] = {self._own}")
        e.writer.alias(e.writer.variables.of(self._param), self._name)
        if self._dot is not None:
            e.line(f"{self._dot_parts}[{chunk}] = {self._own_dot}")
            e.writer.alias_dot(self._param, self._dot)

    def reserve(self, chunks: str) -> None:
        e, dtype = self._e, f"{self._e.use(np, 'np')}.{self._param.type}"
        e.line(f"{self._parts} = {e.use(np, 'np')}.zeros({chunks}, {dtype})")
        if self._dot is not None:
            e.line(f"{self._dot_parts} = {e.use(np, 'np')}.zeros_like({self._parts})")

    def add(self, k: str) -> None:
        e = self._e
        e.line(f"{self._name} += {self._parts}[{k}]")
        if self._dot is not None:
            e.line(f"{self._dot} += {self._dot_parts}[{k}]")
