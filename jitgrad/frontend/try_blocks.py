"""Exception handlers: those that CPython itself adds are dropped, the user's are reported.

Since CPython 3.12 a comprehension is inlined with a handler that restores its variable and raises
again. When an exception leaves the function anyway, what the handler does to local variables does
not matter.
"""

from __future__ import annotations

from numba.core import ir
from numba.core.unsafe import eh

MARKERS = (eh.mark_try_block, eh.end_try_block, eh.exception_check)


def drop_cleanup_handlers(blocks: dict[int, ir.Block]) -> ir.Loc | None:
    """Remove handlers that only raise again; returns the place of a handler that does more, or None."""
    markers = {
        statement.target.name
        for block in blocks.values()
        for statement in block.body
        if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Global)
        if any(statement.value.value is marker for marker in MARKERS)
    }
    if not markers:
        return None
    calls = {
        statement.target.name
        for block in blocks.values()
        for statement in block.body
        if isinstance(statement, ir.Assign) and _calls(statement.value, markers)
    }
    for block in blocks.values():
        last = block.body[-1]
        if isinstance(last, ir.Branch) and last.cond.name in calls:
            if not _only_raises(blocks, last.truebr, markers, calls, set()):
                return last.loc
            block.body[-1] = ir.Jump(last.falsebr, last.loc)
    for block in blocks.values():
        block.body = [s for s in block.body if not (isinstance(s, ir.Assign) and s.target.name in markers | calls)]
    _remove_unreachable(blocks)
    return None


def _calls(value: object, functions: set[str]) -> bool:
    return isinstance(value, ir.Expr) and value.op == "call" and value.func.name in functions


def _only_raises(blocks: dict[int, ir.Block], label: int, markers: set[str], calls: set[str], seen: set[int]) -> bool:
    """Whether every path from `label` copies variables at most, then raises."""
    if label in seen:
        return True
    seen.add(label)
    *statements, last = blocks[label].body
    for statement in statements:
        if (
            isinstance(statement, ir.Del)
            or isinstance(statement, ir.Assign)
            and statement.target.name in markers | calls
        ):
            continue
        if not isinstance(statement, ir.Assign) or not isinstance(statement.value, (ir.Const, ir.Var)):
            return False
    if isinstance(last, (ir.StaticRaise, ir.DynamicRaise)):
        return True
    if isinstance(last, ir.Branch) and last.cond.name not in calls or isinstance(last, ir.Return):
        return False
    return all(_only_raises(blocks, target, markers, calls, seen) for target in last.get_targets())


def _remove_unreachable(blocks: dict[int, ir.Block]) -> None:
    reached, waiting = set(), [min(blocks)]
    while waiting:
        label = waiting.pop()
        if label in reached:
            continue
        reached.add(label)
        last = blocks[label].body[-1]
        waiting += [] if last.is_exit else last.get_targets()
    for label in set(blocks) - reached:
        del blocks[label]
