"""Undoing CPython's duplication of `while` tests where it makes loops nest.

CPython compiles ``while test: body`` as ``if test: repeat: body; if not test: leave``. A `continue`
in the body jumps to the first copy of the test, which makes two nested loops of one. Both copies do
the same, so we let such jumps go to the second.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core.analysis import compute_cfg_from_blocks


def merge_while_tests(blocks: dict[int, ir.Block]) -> bool:
    """Redirect `continue` to the test at the end of its loop; returns whether anything changed."""
    changed = False
    for header, members in _loops(blocks):
        changed |= _merge_one(blocks, header, members)
    return changed


def _loops(blocks: dict[int, ir.Block]) -> list[tuple[int, set[int]]]:
    return [(loop.header, set(loop.body)) for loop in compute_cfg_from_blocks(blocks).loops().values()]


def _merge_one(blocks: dict[int, ir.Block], header: int, members: set[int]) -> bool:
    first = blocks[header]
    if not isinstance(first.body[-1], ir.Branch):
        return False
    for label in sorted(members - {header}, reverse=True):
        second = blocks[label]
        start = len(second.body) - len(first.body)
        if start < 0 or not isinstance(second.body[-1], ir.Branch):
            continue
        match = _Match(blocks)
        if not match.chains(header, label, start):
            continue
        if start > 0:
            label = _split(blocks, label, start)
        for member in members:
            if member in blocks and header in _targets(blocks[member]):
                _redirect(blocks[member], header, label)
        return True
    return False


def _targets(block: ir.Block) -> list[int]:
    return block.body[-1].get_targets() if not block.body[-1].is_exit else []


def _split(blocks: dict[int, ir.Block], label: int, start: int) -> int:
    """Move the statements from `start` on into a block of their own."""
    block = blocks[label]
    later = [other for other in blocks if other > label]
    new = label + 1 if label + 1 not in later else max(blocks) + 1
    tail = ir.Block(block.scope, block.body[start].loc)
    tail.body = block.body[start:]
    block.body = [*block.body[:start], ir.Jump(new, block.body[start].loc)]
    blocks[new] = tail
    return new


def _redirect(block: ir.Block, old: int, new: int) -> None:
    last = block.body[-1]
    if isinstance(last, ir.Jump):
        block.body[-1] = ir.Jump(new, last.loc)
    else:
        true, false = (new if target == old else target for target in (last.truebr, last.falsebr))
        block.body[-1] = ir.Branch(last.cond, true, false, last.loc)


class _Match:
    """Whether two chains of blocks compute the same test and lead to the same places."""

    def __init__(self, blocks: dict[int, ir.Block]):
        self.blocks = blocks
        self.temporaries: dict[str, str] = {}

    def chains(self, label: int, other: int, start: int = 0, depth: int = 0) -> bool:
        first, second = self.blocks[label].body, self.blocks[other].body[start:]
        if len(first) != len(second) or depth > 20:
            return False
        if not all(self._statements(a, b) for a, b in zip(first[:-1], second[:-1], strict=True)):
            return False
        a, b = first[-1], second[-1]
        if not (isinstance(a, ir.Branch) and isinstance(b, ir.Branch)) or not self._same(a.cond, b.cond):
            return False
        if not self._used_only_here(label):
            return False
        ways = ((self._place(a.truebr), self._place(b.truebr)), (self._place(a.falsebr), self._place(b.falsebr)))
        return all(to == other_to or self.chains(to, other_to, 0, depth + 1) for to, other_to in ways)

    def _place(self, label: int) -> int:
        """Where a jump to `label` leads through blocks that only jump."""
        seen = set()
        while (
            len(self.blocks[label].body) == 1 and isinstance(self.blocks[label].body[0], ir.Jump) and label not in seen
        ):
            seen.add(label)
            label = self.blocks[label].body[0].target
        return label

    def _used_only_here(self, label: int) -> bool:
        """Whether the temporaries of the first chain stay in their block."""
        own = {s.target.name for s in self.blocks[label].body if isinstance(s, ir.Assign) and _temporary(s.target.name)}
        return not any(
            variable.name in own
            for other, block in self.blocks.items()
            if other != label
            for statement in block.body
            for variable in statement.list_vars()
        )

    def _statements(self, a: ir.Stmt, b: ir.Stmt) -> bool:
        if not (isinstance(a, ir.Assign) and isinstance(b, ir.Assign)) or a.loc.line != b.loc.line:
            return False
        if not self._same(a.value, b.value):
            return False
        if a.target.name == b.target.name:
            return True
        self.temporaries[a.target.name] = b.target.name
        return _temporary(a.target.name) and _temporary(b.target.name)

    def _same(self, a: Any, b: Any) -> bool:
        if type(a) is not type(b):
            return False
        match a:
            case ir.Var():
                return self.temporaries.get(a.name, a.name) == b.name
            case ir.Const():
                return type(a.value) is type(b.value) and repr(a.value) == repr(b.value)
            case ir.Global() | ir.FreeVar():
                return a.value is b.value
            case ir.Expr():
                parts, others = a._kws, b._kws
                return (
                    a.op == b.op
                    and parts.keys() == others.keys()
                    and all(self._same(parts[k], others[k]) for k in parts)
                )
            case list() | tuple():
                return len(a) == len(b) and all(self._same(x, y) for x, y in zip(a, b, strict=True))
        return a is b or a == b


def _temporary(name: str) -> bool:
    return name.startswith("$") or "__v" in name
