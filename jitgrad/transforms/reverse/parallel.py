"""`prange` loops: both sweeps in parallel, where `analysis.independent` proves that iterations stay apart.

The iterations are cut into chunks (`runtime.chunks`); each chunk runs serially, the chunks in parallel. What all
iterations add to (adjoints of numbers, and of arrays that are only read) has an accumulator for each chunk. Where
neighbours may touch the same element, the even chunks run first, then the odd ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numba
from numba.core import types

from jitgrad.analysis import independent
from jitgrad.backend.text import Text
from jitgrad.program import ir
from jitgrad.runtime import chunks as runtime
from jitgrad.transforms.common import parallel_assignment
from jitgrad.transforms.reverse.leaves import Leaf, is_array, leaves

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.forward import ForwardSweep
    from jitgrad.transforms.reverse.saved import LoopTape
    from jitgrad.transforms.reverse.sweep import Sweep


class Serial(Exception):
    """Raised while a loop is written in parallel that turns out to tape what only a serial loop can."""

    def __init__(self, loop: ir.Loop):
        super().__init__(loop)
        self.loop = loop


class Region:
    """The backward code of one parallel loop while it is written.

    Attributes
    ----------
    own : dict
        Leaf from outside -> the variable that collects its adjoint in one chunk.
    """

    def __init__(self, sweep: Sweep, loop: ir.Loop, plan: independent.Plan):
        self._sweep, self._loop = sweep, loop
        self._direct = {sweep.adjoints.leaf(array) for array in plan.direct}
        self._shared = {sweep.adjoints.leaf(array) for array in plan.shared}
        self.own: dict[Leaf, str] = {}

    def outside(self, leaf: Leaf) -> bool:
        """Whether the adjoint of a leaf is born outside the loop."""
        return self._loop not in self._sweep.scopes.loops(self._sweep.scopes.home[leaf.value])

    def name(self, leaf: Leaf, name: str) -> str:
        """The variable that stands in the loop for the adjoint `name`."""
        if not self.outside(leaf) or leaf in self._direct:
            return name
        if is_array(leaf.type) and leaf not in self._shared:
            raise Serial(self._loop)
        if leaf not in self.own:
            self.own[leaf] = self._sweep.writer.fresh(f"{name}_own")
        return self.own[leaf]


def plan(sweep: Sweep, op: ir.Loop) -> independent.Plan | None:
    """How the adjoint of a loop may run in parallel; None where it runs serially."""
    if not may_run(sweep, op) or sweep.region is not None:
        return None
    if op in sweep.replays or any(inner in sweep.replays for inner in ir.walk(op.body)):
        return None
    return independent.plan(op, sweep.scopes, sweep.memory, sweep.activity)


def may_run(sweep: Sweep, op: ir.Loop) -> bool:
    """Whether the user asked for a parallel loop, and its forward sweep can be one as far as its operations go."""
    asked = independent.asked(op, sweep.program.options) and op not in sweep.serial
    return asked and independent.plain(op, sweep.scopes)


# ----- what is taped -------------------------------------------------------------------------------
def inner_tapes(sweep: Sweep, op: ir.Loop) -> list[tuple[ir.Loop, LoopTape]]:
    """The tapes of loops inside a parallel loop."""
    return [
        (inner, tape)
        for inner, tape in sweep.saved.tapes.items()
        if inner is not op and op in sweep.scopes.loops(sweep.scopes.at[inner]) and tape.strips
    ]


def tapes_apart(sweep: Sweep, op: ir.Loop) -> bool:
    """Whether every iteration knows beforehand where it tapes."""
    own = sweep.saved.tapes.get(op)
    if own is not None and any(strip.cursor is not None for strip in own.strips):
        return False
    for inner, tape in inner_tapes(sweep, op):
        if not sweep.saved.nest(inner) or not independent.straight(inner, op, sweep.scopes):
            return False
        if any(strip.cursor is not None for strip in tape.strips):
            return False
    return True


def _entries(sweep: Sweep, op: ir.Loop, inner: ir.Loop) -> str:
    """How many entries the tape of an inner loop gets in one iteration of the parallel loop."""
    around = sweep.scopes.loops(sweep.scopes.at[inner])
    counts = [x.count for x in [*around[around.index(op) + 1 :], inner]]
    return " * ".join(f"max({sweep.writer.name(n)}, 0)" for n in counts if n is not None)


def _place_bases(sweep: Sweep, op: ir.Loop, before: Text, body: Text, after: Text, *, backward: bool) -> None:
    """Let every iteration compute the running positions of the tapes inside it."""
    count = sweep.writer.name(op.count) if op.count is not None else "0"
    for inner, tape in inner_tapes(sweep, op):
        first, entries = sweep.writer.fresh(f"{tape.base}_first"), sweep.writer.fresh(f"{tape.base}_step")
        total = f"max({count}, 0) * {entries}"
        before.line(f"{entries} = {_entries(sweep, op, inner)}")
        before.line(f"{first} = {tape.base} - {total}" if backward else f"{first} = {tape.base}")
        index = sweep.writer.name(op.index)
        body.line(f"{tape.base} = {first} + {f'({index} + 1)' if backward else index} * {entries}")
        after.line(f"{tape.base} = {first}" if backward else f"{tape.base} = {first} + {total}")


# ----- chunks --------------------------------------------------------------------------------------
@contextmanager
def _chunked(
    sweep: Sweep, op: ir.Loop, count: str, trips: str, *, turns: bool
) -> Iterator[tuple[str, Text, Text, Text]]:
    """Open the loop over chunks; gives the chunk's number, and the text of its head, its loop and its end."""
    writer = sweep.writer
    number, chunk = writer.fresh("chunk"), writer.fresh("k")
    prange = writer.use(numba.prange, "prange")
    start = writer.use(runtime.chunk_start, "chunk_start")
    here = writer.here
    place = f"  # {op.loc}" if op.loc is not None and sweep.region is None else ""
    if turns:
        turn = writer.fresh("turn")
        here = here.suite(f"for {turn} in range(2):")
        chunks = here.suite(f"for {chunk} in {prange}(({count} + 1 - {turn}) // 2):{place}")
        chunks.line(f"{number} = 2 * {sweep.np}.int64({chunk}) + {turn}")
    else:
        chunks = here.suite(f"for {chunk} in {prange}({count}):{place}")
        chunks.line(f"{number} = {sweep.np}.int64({chunk})")
    head = chunks.section()
    bounds = ", ".join(f"{start}({k}, {count}, {trips})" for k in (number, f"{number} + 1"))
    loop = chunks.suite(f"for {writer.name(op.index)} in range({bounds}):")
    yield number, head, loop, chunks.section()


def backward(sweep: Sweep, op: ir.Loop, found: independent.Plan) -> None:
    """Write the backward code of a parallel loop.

    Raises
    ------
    Serial
        Where a value it needs cannot be taped by iterations in any order.
    """
    adjoints, writer, scopes = sweep.adjoints, sweep.writer, sweep.scopes
    active = [(k, leaf) for k, param in enumerate(op.params) for leaf in leaves(param) if sweep.active(leaf)]
    for k, _ in active:
        adjoints.start(op.outs[k])
    for array in (*found.direct, *found.shared):
        adjoints.start(array)
    trips = sweep.saved.trips(op)
    outer, body_scope = sweep.scope, scopes.of[op.body]
    index = writer.name(op.index)
    nested = not sweep.live(scopes.at[op])
    sweep.positions[op] = f"{sweep.saved.tape_of(op).base} + {index}" if nested else index
    before = writer.here.section()
    count = writer.fresh("chunks")
    region = sweep.region = Region(sweep, op, found)
    with _chunked(sweep, op, count, trips, turns=found.window > 0) as (number, head, loop, end):
        with writer.into(loop):
            bases = writer.here.section()
            sweep.open(body_scope)
            for k, _ in active:
                adjoints.add(op.yields[k], adjoints.own_name(adjoints.leaf(op.outs[k])))
            sweep.block(op.body)
        sweep.region = None
        sweep.scope = outer
        if not tapes_apart(sweep, op):
            raise Serial(op)
        after = writer.here.section()
        _count_chunks(sweep, found, region, before, count, trips)
        _place_bases(sweep, op, before, bases, after, backward=True)
        _collect(sweep, region, count, number, before, head, end, after)
    tape = sweep.saved.tapes.get(op)
    if tape is not None and tape.base is not None and tape.strips:
        before.line(f"{tape.base} -= max({trips}, 0)")
    for k, leaf in active:
        adjoints.add(op.inits[k], adjoints.name(op.outs[k], leaf.path), leaf.path)


def _count_chunks(sweep: Sweep, found: independent.Plan, region: Region, before: Text, count: str, trips: str) -> None:
    writer = sweep.writer
    before.line(f"{count} = {writer.use(runtime.chunk_count, 'chunk_count')}({trips}, {found.window})")
    for array, nested in found.shared.items():
        leaf = sweep.adjoints.leaf(array)
        if leaf in region.own:
            few = writer.use(runtime.few_chunks, "few_chunks")
            work = f"2 * {trips}" if nested else trips
            before.line(f"{count} = {few}({count}, {work}, {sweep.adjoints.name(array)}.size)")
    lowest: dict[ir.Value | None, int] = {}
    for start, constant in found.lowest:
        lowest[start] = min(constant, lowest.get(start, constant))
    with writer.into(before):
        tests = []
        for start, constant in lowest.items():
            if start is not None:
                tests.append(f"{sweep.saved.need(start)} < {-constant}")
            elif constant < 0:
                tests.append("True")
        if tests:  # these indices may count from the end: one chunk, so one thread
            with writer.indented(f"if {' or '.join(sorted(tests))}:"):
                writer.line(f"{count} = min({count}, 1)")


def _collect(
    sweep: Sweep, region: Region, count: str, number: str, before: Text, head: Text, end: Text, after: Text
) -> None:
    """Give every chunk its accumulators, and add them up, first chunk to last."""
    writer, np_ = sweep.writer, sweep.np
    sums = []
    for leaf, own in region.own.items():
        name = sweep.adjoints.own_name(leaf)
        parts = writer.fresh(f"{name}_parts")
        if is_array(leaf.type):
            dtype = sweep.dtype(leaf.type.dtype)
            before.line(f"{parts} = {np_}.zeros(({count},) + {name}.shape, {dtype})")
            head.line(f"{own} = {parts}[{number}]")
        else:
            before.line(f"{parts} = {np_}.zeros({count}, {sweep.dtype(leaf.type)})")
            head.line(f"{own} = {sweep.adjoints.zero(leaf.type)}")
            end.line(f"{parts}[{number}] = {own}")
        sums.append(f"{name} += {parts}")
    if sums:
        k = writer.fresh("k")
        loop = after.suite(f"for {k} in range({count}):")
        for text in sums:
            loop.line(f"{text}[{k}]")


def forward(forward: ForwardSweep, sweep: Sweep, op: ir.Loop) -> None:
    """Write the forward sweep of a parallel loop; its strips are reserved already."""
    writer, np_ = sweep.writer, sweep.np
    assert op.count is not None
    before, count = writer.here.section(), writer.name(op.count)
    names = [writer.name(param) for param in op.params]
    own = [writer.fresh(f"{name}_own") for name in names]
    for param, name in zip(op.params, own, strict=True):
        writer.alias(param, name)
    chunks = writer.fresh("chunks")
    before.line(f"{chunks} = {writer.use(runtime.chunk_count, 'chunk_count')}({count}, 1)")
    with _chunked(sweep, op, chunks, count, turns=False) as (number, head, loop, end):
        with writer.into(loop):
            bases = writer.here.section()
            forward.iteration(op)
            parallel_assignment(writer, op.params, op.yields)
    after = writer.here.section()
    _place_bases(sweep, op, before, bases, after, backward=False)
    for param, name, mine in zip(op.params, names, own, strict=True):
        writer.alias(param, name)
        parts = writer.fresh(f"{name}_parts")
        dtype = sweep.dtype(param.type)
        before.line(f"{parts} = {np_}.zeros({chunks}, {dtype})")
        head.line(f"{mine} = {_zero(param.type, dtype)}")
        end.line(f"{parts}[{number}] = {mine}")
        after.suite(f"for {(k := writer.fresh('k'))} in range({chunks}):").line(f"{name} += {parts}[{k}]")


def _zero(ty: types.Type, dtype: str) -> str:
    return "0.0" if ty == types.float64 else "0" if ty == types.int64 else f"{dtype}(0)"
