"""Pullbacks of branches and loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitgrad.analysis import carried
from jitgrad.program import ir
from jitgrad.transforms.reverse import lists, order, parallel
from jitgrad.transforms.reverse.forward import ForwardSweep
from jitgrad.transforms.reverse.leaves import Leaf, is_array, leaves

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def branch(sweep: Sweep, op: ir.If) -> None:
    """``if cond`` backwards: the arm that ran, backwards."""
    moved = [
        (k, leaf) for k, out in enumerate(op.outs) for leaf in leaves(out) if sweep.adjoints.is_set(out, leaf.path)
    ]
    written = [k for k, leaf in moved if is_array(leaf.type) and sweep.memory.written(leaf.value)]
    moved = [(k, leaf) for k, leaf in moved if k not in written]
    shared = [k for k in written if op.outs[k] in sweep.adjoints.shared]
    written = [k for k in written if k not in shared]
    for k in written:
        problem = carried.branch_problem(op, k, sweep.scopes, sweep.memory)
        if problem is not None:
            raise sweep.fail(
                op, f"array {op.outs[k].name} is written in place and {problem}",
                "write into the array inside each arm, or copy it where it gets its second name",
            )  # fmt: skip
    if not moved and not written and not shared and not any(sweep.relevant(block) for block in op.blocks):
        return
    cond = sweep.saved.need(op.cond)
    _hand_buffers(sweep, op, written, cond)
    outer, here = sweep.scope, sweep.writer.here
    arms = ((op.then, op.then_yields, f"if {cond}:"), (op.orelse, op.else_yields, "else:"))
    for arm, yields, header in arms:
        text = here.suite(header)
        with sweep.writer.into(text):
            sweep.open(sweep.scopes.of[arm])
            for k in written:
                if sweep.scopes.home.get(yields[k]) is sweep.scope:
                    sweep.adjoints.rename(yields[k], sweep.adjoints.name(op.outs[k]))
            for k in shared:
                if sweep.scopes.home.get(yields[k]) is sweep.scope and sweep.memory.view_of(yields[k]) is None:
                    sweep.adjoints.rename(yields[k], sweep.adjoints.name(op.outs[k]))
            for k, leaf in moved:
                if lists.is_list(leaf.type):
                    lists.follow(sweep, op, k, arm, yields[k])
                sweep.adjoints.add(yields[k], sweep.adjoints.name(op.outs[k], leaf.path), leaf.path, fresh=True)
            sweep.block(arm)
        if header == "else:" and text.empty:
            here.items.remove(text)
    sweep.scope = outer


def _hand_buffers(sweep: Sweep, op: ir.If, written: list[int], cond: str) -> None:
    """Let the adjoint buffers of written arrays follow the arrays back through the arm that ran."""
    adjoints, scopes = sweep.adjoints, sweep.scopes
    outer = carried.handed(op, written, scopes)
    if not outer:
        return
    with sweep.writer.into(sweep.birth[sweep.scope]):
        for arm, yields, header in ((op.then, op.then_yields, f"if {cond}:"), (op.orelse, op.else_yields, "else:")):
            inside = carried.handed_by_arm(arm, [yields[k] for k in written], scopes)
            with sweep.writer.indented(header):
                for value in outer:
                    from_ = [k for k in written if yields[k] is value]
                    if from_ or value not in inside:  # else a branch inside this arm hands it
                        text = adjoints.name(op.outs[from_[0]]) if from_ else sweep.saved.zeros(adjoints.leaf(value))
                        sweep.writer.line(f"{adjoints.name(value)} = {text}")
    for value in outer:
        adjoints.rename(value, adjoints.name(value))


def loop(sweep: Sweep, op: ir.Loop) -> None:
    """A loop backwards: iterations last to first, carried adjoints handed from each to the one before."""
    adjoints, writer, scopes = sweep.adjoints, sweep.writer, sweep.scopes
    active = [
        (k, leaf) for k, param in enumerate(op.params) for leaf in leaves(param) if sweep.active(leaf)
    ]  # fmt: skip
    if not sweep.relevant(op.body) and not any(adjoints.is_set(op.outs[k], leaf.path) for k, leaf in active):
        return
    independent = parallel.plan(sweep, op)
    if independent is not None:
        parallel.backward(sweep, op, independent)
        return
    buffers: set[int] = set()  # arrays whose adjoints are handed around as buffers
    for k, leaf in active:
        if (
            is_array(leaf.type)
            and sweep.memory.written(leaf.value)
            and not carried.settled(op, k, scopes, sweep.memory)
        ):
            problem = carried.problem(op, k, scopes, sweep.memory)
            if problem is not None:
                raise sweep.fail(
                    op, f"array {leaf.value.name} is written in place and {problem}",
                    "copy the array where it gets its second name",
                )  # fmt: skip
            buffers.add(k)
        if lists.is_list(leaf.type):
            lists.follow(sweep, op, k, op.body, op.yields[k])
        adjoints.start(op.outs[k], leaf.path)
    trips = sweep.saved.trips(op)
    index = writer.name(op.index)
    outer, body_scope = sweep.scope, scopes.of[op.body]
    before = writer.here.section()
    nested = not sweep.live(scopes.at[op])
    sweep.positions[op] = f"{sweep.saved.tape_of(op).base} + {index}" if nested else index
    suite = writer.here.suite(f"for {index} in range({trips} - 1, -1, -1):")
    with writer.into(suite):
        if op in sweep.replays:
            ForwardSweep(sweep).replay(op)
        sweep.open(body_scope)
        incoming = {(k, leaf.path): adjoints.name(op.outs[k], leaf.path) for k, leaf in active}
        for k, leaf in active:
            text = incoming[k, leaf.path]
            if k in buffers:
                adjoints.rename(op.yields[k], writer.fresh(f"{op.yields[k].name}_bar"), leaf.path)
                with writer.into(sweep.birth[body_scope]):
                    writer.line(f"{adjoints.name(op.yields[k], leaf.path)} = {text}")
            else:
                adjoints.add(op.yields[k], text, leaf.path, fresh=_owned(op, k, sweep))
        sweep.block(op.body)
        handed = []
        for k, leaf in active:
            name = adjoints.take(op.params[k], leaf.path)
            if name is None:
                name = adjoints.start(op.params[k], leaf.path) if is_array(leaf.type) else adjoints.zero(leaf.type)
            handed.append((incoming[k, leaf.path], name))
        for target, name in handed:
            writer.line(f"{target} = {name}")
    if order.ascending(sweep, op, active):
        suite.header = f"for {index} in range({trips}):"
    tape = sweep.saved.tapes.get(op)
    if tape is not None and tape.base is not None and tape.strips:
        before.line(f"{tape.base} -= {_count(sweep, op, trips)}")
    sweep.scope = outer
    for k, leaf in active:
        _to_init(sweep, op, k, leaf, k in buffers)


def _to_init(sweep: Sweep, op: ir.Loop, k: int, leaf: Leaf, buffer: bool) -> None:
    """Pass the adjoint that the first iteration leaves to the value the loop started from."""
    adjoints = sweep.adjoints
    name = adjoints.name(op.outs[k], leaf.path)
    init = adjoints.leaf(op.inits[k], leaf.path)
    if isinstance(init.value, (ir.Literal, ir.Global, ir.Undefined)) or not sweep.active(init):
        return
    if buffer and not adjoints.is_set(init.value, init.path):
        if sweep.scopes.home[init.value] is sweep.scope:
            adjoints.rename(init.value, name, init.path)  # the buffer itself: nothing else names this memory
            return
    adjoints.add(op.inits[k], name, leaf.path, fresh=True)


def _owned(op: ir.Loop, k: int, sweep: Sweep) -> bool:
    """Whether the incoming adjoint buffer may become the yielded value's own."""
    value = sweep.adjoints.leaf(op.yields[k]).value
    return sweep.scopes.home.get(value) is sweep.scopes.of[op.body]


def _count(sweep: Sweep, op: ir.Loop, trips: str) -> str:
    return f"max({trips}, 0)" if op.count is not None and op.again is None else trips
