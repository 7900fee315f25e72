"""The forward sweep: the primal as it is, plus what the backward sweep asked to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitgrad.analysis.scopes import Scope
from jitgrad.program import ir
from jitgrad.runtime import tape as runtime
from jitgrad.transforms.common import parallel_assignment, write_map
from jitgrad.transforms.reverse import parallel
from jitgrad.transforms.reverse.ahead import ahead_of
from jitgrad.transforms.reverse.leaves import is_array
from jitgrad.transforms.reverse.saved import LoopTape, Strip

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


class ForwardSweep:
    """Writes the forward sweep of a finished backward sweep."""

    def __init__(self, sweep: Sweep):
        self._sweep = sweep
        self._writer = sweep.writer
        self._saved = sweep.saved
        self._inside = False  # a parallel loop
        self._done: set[ir.Op] = set()  # kernels that ran ahead of their loop

    def run(self) -> None:
        """Write the whole forward sweep here."""
        self._open_nested_tapes()
        self._start(self._sweep.scopes.root)
        self._block(self._sweep.program.body)

    def replay(self, loop: ir.Loop) -> None:
        """Write what an iteration of `loop` replays, inside its backward iteration."""
        self._replay_block(loop.body, self._sweep.replays[loop].ops)

    def _replay_block(self, block: ir.Block, ops: set[ir.Op]) -> None:
        writer = self._writer
        for op in block:
            if op in ops:
                writer.statement(op)
            elif isinstance(op, ir.Loop) and any(inner in ops for inner in ir.walk(op.body)):
                assert op.count is not None  # `replay.choose` takes counted loops only
                with writer.indented(f"for {writer.name(op.index)} in range({writer.name(op.count)}):"):
                    self._replay_block(op.body, ops)

    def _open_nested_tapes(self) -> None:
        """Strips of nested loops start empty and grow; cursors start at zero."""
        for loop, tape in self._saved.tapes.items():
            if tape.base is not None and tape.strips:
                self._writer.line(f"{tape.base} = 0")
            for strip in tape.strips:
                if strip.cursor is not None:
                    self._writer.line(f"{strip.cursor} = 0")
                if strip.cursor is not None or not self._saved.nest(loop):
                    self._writer.line(f"{strip.name} = {self._empty(strip, '64')}")

    def _empty(self, strip: Strip, size: str) -> str:
        element = strip.value.type.dtype if is_array(strip.value.type) else strip.value.type
        shape = f"({', '.join([size, *strip.shape])})" if strip.shape else size
        return f"{self._sweep.np}.empty({shape}, {self._sweep.dtype(element)})"

    def _reserve_nests(self, op: ir.Loop) -> None:
        """Room for all iterations of rectangular nests, before their outermost loop runs."""
        for loop, tape in self._saved.tapes.items():
            nest = self._saved.nest(loop) if tape.strips else []
            if nest and nest[0] is op:
                counts = [x.count for x in nest if x.count is not None]
                size = " * ".join(f"max({self._writer.name(count)}, 0)" for count in counts)
                for strip in tape.strips:
                    if strip.cursor is None:
                        self._writer.line(f"{strip.name} = {self._empty(strip, size)}")

    # ----- blocks ------------------------------------------------------------------------------
    def _block(self, block: ir.Block) -> None:
        for op in block:
            for derived in self._saved.before.get(op, ()):
                self._writer.line(f"{self._writer.name(derived.value)} = {derived.text}")
                self._store(derived.value)
            if op in self._done:
                self._writer.line(f"{self._writer.name(op.results[0])} = {self._in_strip(op.results[0])}")
            else:
                self._op(op)
                for result in op.results:
                    self._store(result)
            self._after(op)
            if isinstance(op, ir.Raise):
                break

    def _after(self, anchor: ir.Op | Scope) -> None:
        for derived in self._saved.after.get(anchor, ()):
            self._writer.line(f"{self._writer.name(derived.value)} = {derived.text}")
            self._store(derived.value)

    def _start(self, scope: Scope) -> None:
        """What is kept of the values a block starts with: loop parameters."""
        if isinstance(scope.owner, ir.Loop):
            for param in scope.owner.params:
                self._store(param)
        self._after(scope)

    def _op(self, op: ir.Op) -> None:
        match op:
            case ir.If():
                self._branch(op)
            case ir.Loop():
                self._loop(op)
            case ir.Map():
                write_map(self._writer, op, self._sweep.extents)
            case _:
                self._writer.statement(op)

    def _branch(self, op: ir.If) -> None:
        writer = self._writer
        here = writer.here
        arms = ((op.then, op.then_yields, f"if {writer.name(op.cond)}:"), (op.orelse, op.else_yields, "else:"))
        for arm, yields, header in arms:
            text = here.suite(header)
            with writer.into(text):
                self._start(self._sweep.scopes.of[arm])
                self._block(arm)
                parallel_assignment(writer, op.outs, yields)
            if header == "else:" and text.empty:
                here.items.remove(text)

    def _loop(self, op: ir.Loop) -> None:
        writer = self._writer
        parallel_assignment(writer, op.params, op.inits)
        tape = self._saved.tapes.get(op)
        if tape is not None and not tape.strips:
            tape = None
        if self._sweep.scopes.at[op].loop is None:
            self._reserve_nests(op)
        if tape is not None and not self._saved.nest(op):
            self._reserve(op, tape)
        if parallel.may_run(self._sweep, op) and not self._inside and parallel.tapes_apart(self._sweep, op):
            self._inside = True
            parallel.forward(self, self._sweep, op)
            self._inside = False
            self._advance(op, tape)
            return
        index = writer.name(op.index)
        if op.trips is not None:
            writer.line(f"{writer.name(op.trips)} = 0")
        if op.count is None:
            writer.line(f"{index} = 0")
        header = "while True:" if op.count is None else f"for {index} in range({writer.name(op.count)}):"
        self._run_ahead(op, header)
        with writer.indented(header, op.loc):
            if tape is not None and self._saved.full_count(op) is None:
                position = self._sweep.positions[op]
                for strip in tape.strips:
                    if strip.cursor is None:
                        writer.line(f"{strip.name} = {self._saved.grow()}({strip.name}, {position} + 1)")
            self.iteration(op)
            parallel_assignment(writer, op.params, op.yields)
            if op.trips is not None:
                writer.line(f"{writer.name(op.trips)} += 1")
            if op.count is None:
                writer.line(f"{index} += 1")
            if op.again is not None:
                with writer.indented(f"if not {writer.name(op.again)}:"):
                    writer.line("break")
        self._advance(op, tape)

    def _run_ahead(self, op: ir.Loop, header: str) -> None:
        """Tape the kernels of a loop in one of their own, where that lets them vectorise."""
        found = ahead_of(self._sweep, op)
        if found is None:
            return
        with self._writer.indented(header, op.loc):
            for inner in found.ops:
                self._writer.statement(inner)
            for kernel in found.kernels:
                self._store(kernel.result)
        self._done.update(found.kernels)

    def iteration(self, op: ir.Loop) -> None:
        """One iteration of a loop, but for what it hands on."""
        self._start(self._sweep.scopes.of[op.body])
        self._block(op.body)

    def _advance(self, op: ir.Loop, tape: LoopTape | None) -> None:
        """Move the running position of a nested loop's tape behind what the loop taped."""
        writer = self._writer
        if tape is not None and tape.base is not None:
            if op.trips is not None:
                trips = writer.name(op.trips)
            else:
                assert op.count is not None
                trips = f"max({writer.name(op.count)}, 0)"
            writer.line(f"{tape.base} += {trips}")

    def _reserve(self, op: ir.Loop, tape: LoopTape) -> None:
        """Room for all iterations of a counted loop, once, before it runs."""
        count = self._saved.full_count(op)
        if count is None:
            return
        first = f"{tape.base} + " if tape.base is not None else ""
        for strip in tape.strips:
            if strip.cursor is None:
                size = f"{first}{self._writer.name(count)}"
                self._writer.line(f"{strip.name} = {self._saved.grow()}({strip.name}, {size})")

    def _store(self, value: ir.Value) -> None:
        """Write a value to its strip, where it has one."""
        strip = self._saved.strips.get(value)
        if strip is None:
            return
        writer, name = self._writer, self._writer.name(value)
        loop = self._sweep.scopes.loop_of(value)
        if strip.shape:
            put = writer.use(runtime.put(value.type.ndim), "put")
            writer.line(f"{put}({strip.name}, {self._sweep.positions[loop]}, {name})")
        elif strip.cursor is not None:
            count = self._saved.full_count(loop)
            left = "" if count is None else f" * ({writer.name(count)} - {writer.name(loop.index)})"
            writer.line(f"{strip.name} = {self._saved.grow()}({strip.name}, {strip.cursor} + {name}.size{left})")
            writer.line(f"{writer.use(runtime.store, 'store')}({strip.name}, {strip.cursor}, {name})")
            writer.line(f"{strip.cursor} += {name}.size")
        else:
            writer.line(f"{self._in_strip(value)} = {name}")

    def _in_strip(self, value: ir.Value) -> str:
        """The place of a number on the tape."""
        return f"{self._saved.strips[value].name}[{self._sweep.positions[self._sweep.scopes.loop_of(value)]}]"
