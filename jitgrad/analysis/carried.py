"""When an array that is written in place may be carried around a loop by value.

The adjoint of a loop-carried array is handed from iteration to iteration as a buffer, in step with the
array: ``a, b = b, a`` hands the buffers back crosswise. That needs every carried array to be the only
name of its memory: a parameter of the same loop yielded once, or an array born in the iteration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitgrad.analysis.scopes import Scope, Scopes
from jitgrad.program import ir

if TYPE_CHECKING:
    from jitgrad.analysis.memory import Memory


def problem(loop: ir.Loop, k: int, scopes: Scopes, memory: Memory) -> str | None:
    """Why carried array `k` of `loop` cannot be handed around by value, or None."""
    value, init = loop.yields[k], loop.inits[k]
    if loop.yields.count(value) > 1:
        return "is carried around this loop under two names"
    if value not in loop.params and not _born_in(value, loop, scopes, memory):
        return "is replaced in this loop by an array that has another name"
    if loop.inits.count(init) > 1:
        return "enters this loop under two names"
    if not isinstance(init, ir.Undefined):
        if not _born_in(init, scopes.at[loop].loop, scopes, memory):
            return "enters this loop as a part or another name of an array"
        if _used_beside(init, loop, scopes):
            return "is also used under the name it had before this loop"
    return None


def settled(loop: ir.Loop, k: int, scopes: Scopes, memory: Memory) -> bool:
    """Whether carried array `k`, though written somewhere, is never written once the loop carries it.

    New arrays may be filled in the iteration that makes them; from then on they are only read. Then it does
    not matter how many names they have, and their adjoints can be added up like those of plain values.
    """
    around = scopes.loops(scopes.at[loop])
    for store in memory.stores_of(loop.params[k]):
        if loop in scopes.loops(scopes.at[store]):
            roots = [memory.root(target) for target in memory.targets(store)]
            fresh = all(
                root in scopes.home
                and loop in scopes.loops(scopes.home[root])
                and not isinstance(scopes.definition.get(root), (ir.If, ir.Loop))
                and scopes.definition.get(root) is not None
                for root in roots
            )
            if not fresh:
                return False
        elif scopes.order[store] > scopes.order[loop] or any(x in around for x in scopes.loops(scopes.at[store])):
            return False
    return True


def branch_problem(branch: ir.If, k: int, scopes: Scopes, memory: Memory) -> str | None:
    """Why the adjoint of array `k` that a branch hands on cannot be handed back by value, or None."""
    end = scopes.end[branch]
    for block, yields in ((branch.then, branch.then_yields), (branch.orelse, branch.else_yields)):
        value = yields[k]
        if isinstance(value, ir.Undefined):
            continue
        if yields.count(value) > 1:
            return "leaves this branch under two names"
        if value in scopes.home and scopes.home[value].block is block:
            if not _is_own_name(value, scopes, memory):
                return "is a part or another name of an array"
            continue
        home = scopes.home.get(value)
        if home is None or home.loop is not scopes.at[branch].loop or not _is_own_name(value, scopes, memory):
            return "is a part or another name of an array"
        if home is not scopes.at[branch] and value in memory.has_views:
            return "is also seen through a view outside this branch"
        later = (use for name in _names(value, scopes) for use in scopes.uses.get(name, []))
        if any(scopes.order[use] > end and not _exclusive(use, branch, scopes) for use in later):
            return "is also used under another name after this branch"
        if any(isinstance(use, ir.Loop) and use is scopes.home[value].owner for use in scopes.uses.get(value, [])):
            return "is also carried around the loop under another name"
    return None


def handed(branch: ir.If, ks: list[int], scopes: Scopes) -> list[ir.Value]:
    """The arrays from outside that a branch, or a branch inside it, yields as its results `ks`."""
    found: list[ir.Value] = []
    for block, yields in ((branch.then, branch.then_yields), (branch.orelse, branch.else_yields)):
        for value in handed_by_arm(block, [yields[k] for k in ks], scopes):
            if value not in found:
                found.append(value)
    return found


def handed_by_arm(block: ir.Block, yields: list[ir.Value], scopes: Scopes) -> list[ir.Value]:
    """The same for one arm."""
    found: list[ir.Value] = []
    for value in yields:
        home = scopes.home.get(value)
        if home is not None and home.block is block:
            inner = scopes.definition.get(value)
            if isinstance(inner, ir.If):
                found += handed(inner, [inner.outs.index(value)], scopes)
        elif home is not None:
            found.append(value)
    return found


def _exclusive(a: ir.Op, b: ir.Op, scopes: Scopes) -> bool:
    """Whether two operations stand in different arms of one branch."""
    arms: dict[ir.Op, ir.Block] = {}
    scope: Scope | None = scopes.at[a]
    while scope is not None and scope.owner is not None:
        arms[scope.owner] = scope.block
        scope = scope.parent
    scope = scopes.at[b]
    while scope is not None and scope.owner is not None:
        if isinstance(scope.owner, ir.If) and arms.get(scope.owner, scope.block) is not scope.block:
            return True
        scope = scope.parent
    return False


def _is_own_name(value: ir.Value, scopes: Scopes, memory: Memory) -> bool:
    """Whether `value` is not defined as a part or renaming of another array."""
    op = scopes.definition.get(value)
    if isinstance(op, ir.If):
        return branch_problem(op, op.outs.index(value), scopes, memory) is None
    return not isinstance(op, (ir.GetItem, ir.GetAttr, ir.Cast, ir.InplaceBinary)) and memory.view_of(value) is None


def _names(value: ir.Value, scopes: Scopes) -> set[ir.Value]:
    """`value` and all values that may be views or other names of it."""
    names, todo = {value}, [value]
    while todo:
        for use in scopes.uses.get(todo.pop(), []):
            for result in use.results:
                # what branches and loops hand on is looked at where they do
                if not use.blocks and result not in names and result.type.__class__ is value.type.__class__:
                    names.add(result)
                    todo.append(result)
    return names


def _born_in(value: ir.Value, loop: ir.Loop | None, scopes: Scopes, memory: Memory) -> bool:
    """Whether `value` is a new array made in the body of `loop` (or a loop's or function's own)."""
    home = scopes.home.get(value)
    if home is None or home.loop is not loop:
        return False
    op = scopes.definition.get(value)
    if op is None:  # a parameter of the function
        return True
    if isinstance(op, ir.Loop):
        return value in op.outs or (value in op.params and op is loop)
    return _is_own_name(value, scopes, memory)


def _used_beside(value: ir.Value, loop: ir.Loop, scopes: Scopes) -> bool:
    """Whether `value` or a view of it is read in the loop or after it under its old name."""
    start = scopes.order[loop]
    return any(
        use is not loop
        and scopes.end[use] > start
        and not _exclusive(use, loop, scopes)
        and not _yields_elsewhere(use, name, loop, scopes)
        for name in _names(value, scopes)
        for use in scopes.uses.get(name, [])
    )


def _yields_elsewhere(branch: ir.Op, value: ir.Value, op: ir.Op, scopes: Scopes) -> bool:
    """Whether `value` is used by a branch around `op` only as what its other arm yields."""
    if not isinstance(branch, ir.If) or branch.cond is value:
        return False
    if not any(scopes.encloses(scopes.of[block], scopes.at[op]) for block in branch.blocks):
        return False
    for block, yields in ((branch.then, branch.then_yields), (branch.orelse, branch.else_yields)):
        if value in yields and scopes.encloses(scopes.of[block], scopes.at[op]):
            return False
    return True
