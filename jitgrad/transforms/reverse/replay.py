"""Replay: filling scratch memory again in the backward sweep, instead of taping what is read from it.

Where a small nest fills a scratch array in every iteration of a loop and a larger nest reads it, taping
each read costs far more than the nest. Before the pullback of an iteration the nest runs once more; then
the scratch array holds what it held, and reads from it are done again like any others.

A nest may be replayed when it reads only memory that nothing overwrites afterwards, or that the iteration
itself has filled before (`covered`), and when the backward sweep sees the array by the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from numba.core import types

from jitgrad.analysis import disjoint
from jitgrad.analysis.activity import leaves
from jitgrad.analysis.memory import Memory, written_values
from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir
from jitgrad.transforms.reverse import cheap

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


@dataclass
class Replay:
    """What one loop replays: the scratch arrays, and the operations that fill them."""

    roots: set[ir.Value]
    ops: set[ir.Op]


def choose(sweep: Sweep) -> dict[ir.Loop, Replay]:
    """The replays worth having, given what a sweep without them would tape."""
    chosen: dict[ir.Loop, Replay] = {}
    scopes, memory = sweep.scopes, sweep.memory
    for loop, tape in sweep.saved.tapes.items():
        around = scopes.loops(scopes.at[loop])
        for strip in tape.strips:
            load = scopes.definition.get(strip.value)
            if not isinstance(load, ir.GetItem) or not isinstance(load.base.type, types.Array):
                continue
            root = memory.root(load.base)
            for depth, candidate in enumerate(reversed(around), start=1):
                ops = _nest_of(root, candidate, sweep)
                if (
                    ops is not None
                    and _depth(ops, candidate, scopes) <= depth
                    and _reads_filled(root, candidate, sweep)
                ):
                    replay = chosen.setdefault(candidate, Replay(set(), set()))
                    replay.roots.add(root)
                    replay.ops |= ops
                    break
    return chosen


def _depth(ops: set[ir.Op], loop: ir.Loop, scopes: Scopes) -> int:
    """How many loops deep, inside `loop`, the operations run."""
    outside = len(scopes.loops(scopes.of[loop.body]))
    return max(len(scopes.loops(scopes.at[op])) - outside for op in ops)


def _nest_of(root: ir.Value, loop: ir.Loop, sweep: Sweep) -> set[ir.Op] | None:
    """The operations of an iteration of `loop` that fill the scratch array `root`, or None if not legal."""
    scopes, memory = sweep.scopes, sweep.memory
    if root in sweep.program.params or loop in scopes.loops(scopes.home[root]):
        return None
    result = set(leaves(sweep.activity.tree(sweep.program.result)))
    if sweep.activity.alias_class(root) in result:  # the caller must get it as the forward sweep left it
        return None
    if scopes.home[root].loop is not None or isinstance(scopes.definition.get(root), (ir.Loop, ir.If)):
        return None
    stores = [op for op in memory.stores_of(root) if loop in scopes.loops(scopes.at[op])]
    if not stores or any(memory.root(v) is not root for op in stores for v in written_values(op)):
        return None
    ops: set[ir.Op] = set()
    todo: list[ir.Op] = list(stores)
    while todo:
        op = todo.pop()
        if op in ops:
            continue
        around = _loops_between(op, loop.body, scopes)
        if around is None or not (isinstance(op, ir.SetItem) or cheap.is_cheap(op, memory)):
            return None
        if isinstance(op, ir.GetItem) and isinstance(op.base.type, types.Array):
            own = memory.root(op.base) is root and covered(op, loop, scopes, memory)
            if not own and not memory.intact(op, op.base):
                return None
        ops.add(op)
        wanted = list(op.operands)
        for inner in around:
            if inner.again is not None or inner.count is None:
                return None
            wanted.append(inner.count)
        for value in wanted:
            home = scopes.home.get(value)
            if home is None or loop not in scopes.loops(home):
                continue
            source = scopes.definition[value]
            if isinstance(source, ir.Loop):
                if value is not source.index:
                    return None
            else:
                todo.append(source)
    return ops


def _reads_filled(root: ir.Value, loop: ir.Loop, sweep: Sweep) -> bool:
    """Whether every read of `root` in an iteration of `loop` comes after the store it sees, and none before."""
    scopes, memory = sweep.scopes, sweep.memory
    return all(
        isinstance(op, ir.GetItem) and not isinstance(op.result.type, types.Array) and covered(op, loop, scopes, memory)
        for op in ir.walk(loop.body)
        if not isinstance(op, ir.SetItem)
        and any(isinstance(v.type, types.Array) and v in scopes.home and memory.root(v) is root for v in op.operands)
    )


def covered(load: ir.GetItem, loop: ir.Loop, scopes: Scopes, memory: Memory) -> bool:
    """Whether the iteration of `loop` has stored the element that `load` reads before it reads it."""
    return any(
        isinstance(store, ir.SetItem)
        and loop in scopes.loops(scopes.at[store])
        and _covers(store, load, scopes, memory)
        for store in memory.stores_of(load.base)
    )


def _covers(store: ir.SetItem, load: ir.GetItem, scopes: Scopes, memory: Memory) -> bool:
    if memory.root(store.base) is not memory.root(load.base) or store.base is not load.base:
        return False
    if len(store.index) != len(load.index) or len(store.index) != store.base.type.ndim:
        return False
    shared = [x for x in scopes.loops(scopes.at[store]) if x in scopes.loops(scopes.at[load])]
    block = shared[-1].body
    first, second = _ancestor(store, block, scopes), _ancestor(load, block, scopes)
    if scopes.order[first] > scopes.order[second] or (first is second and first is not store):
        return False
    between = _loops_between(store, block, scopes)
    if between is None:
        return False
    for written, read in zip(store.index, load.index, strict=True):
        if not (isinstance(written, ir.Value) and isinstance(read, ir.Value)):
            return False
        if written is read or (
            isinstance(written, ir.Literal) and isinstance(read, ir.Literal) and written.value == read.value
        ):
            continue
        inner, offset = disjoint.linear(written, scopes)
        if inner not in between or offset != 0 or inner.again is not None:
            return False
        if not _below(read, inner.count, scopes):
            return False
        between = [x for x in between if x is not inner]
    return not between or all(_runs(x) for x in between)


def _runs(loop: ir.Loop) -> bool:
    """Whether a loop surely makes an iteration."""
    return isinstance(loop.count, ir.Literal) and loop.count.value > 0


def _below(value: ir.Value, bound: ir.Value | None, scopes: Scopes) -> bool:
    """Whether ``0 <= value < bound`` for certain."""
    loop, offset = disjoint.linear(value, scopes)
    if loop is None or loop.count is None or offset != 0:
        return False
    return _same(loop.count, bound) or _below(loop.count, bound, scopes)


def _same(a: ir.Value | None, b: ir.Value | None) -> bool:
    if isinstance(a, ir.Literal) and isinstance(b, ir.Literal):
        return a.value == b.value
    return a is b and a is not None


def _ancestor(op: ir.Op, block: ir.Block, scopes: Scopes) -> ir.Op:
    """The operation of `block` that is `op` or holds it."""
    while scopes.at[op].block is not block:
        owner = scopes.at[op].owner
        assert owner is not None
        op = owner
    return op


def _loops_between(op: ir.Op, block: ir.Block, scopes: Scopes) -> list[ir.Loop] | None:
    """The loops around `op` inside `block`; None when a branch may keep it from running."""
    found: list[ir.Loop] = []
    scope = scopes.at[op]
    while scope.block is not block:
        if not isinstance(scope.owner, ir.Loop):
            return None
        found.append(scope.owner)
        scope = scopes.at[scope.owner]
    return found
