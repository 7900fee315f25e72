"""When an array that is written in place may be carried around a loop by value.

The adjoint of a loop-carried array is handed from iteration to iteration as a buffer, in step with the
array: ``a, b = b, a`` hands the buffers back crosswise. That needs every carried array to be the only
name of its memory: a parameter of the same loop yielded once, or an array born in the iteration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitgrad.analysis.scopes import Scopes
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
        if scopes.home.get(value) is not scopes.at[branch] or not _is_own_name(value, scopes, memory):
            return "is a part or another name of an array"
        if any(scopes.order[use] > end for name in _names(value, branch, scopes) for use in scopes.uses.get(name, [])):
            return "is also used under another name after this branch"
        if any(isinstance(use, ir.Loop) and use is scopes.home[value].owner for use in scopes.uses.get(value, [])):
            return "is also carried around the loop under another name"
    return None


def _is_own_name(value: ir.Value, scopes: Scopes, memory: Memory) -> bool:
    """Whether `value` is not defined as a part or renaming of another array."""
    op = scopes.definition.get(value)
    if isinstance(op, ir.If):
        return branch_problem(op, op.outs.index(value), scopes, memory) is None
    return not isinstance(op, (ir.GetItem, ir.GetAttr, ir.Cast, ir.InplaceBinary)) and memory.view_of(value) is None


def _names(value: ir.Value, besides: ir.Op, scopes: Scopes) -> set[ir.Value]:
    """`value` and all values that may be views or other names of it, not through `besides`."""
    names, todo = {value}, [value]
    while todo:
        for use in scopes.uses.get(todo.pop(), []):
            for result in use.results:
                if use is not besides and result not in names and result.type.__class__ is value.type.__class__:
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
        use is not loop and scopes.end[use] > start
        for name in _names(value, loop, scopes)
        for use in scopes.uses.get(name, [])
    )
