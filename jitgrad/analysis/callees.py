"""What a function that is called, not inlined, does to its arguments."""

from __future__ import annotations

from typing import Any, NamedTuple

from numba.core import types

from jitgrad.program import ir


class Summary(NamedTuple):
    """Positions of the arguments whose memory a function writes, and of those whose memory it may return."""

    written: frozenset[int] = frozenset()
    returned: frozenset[int] = frozenset()


_known: dict[tuple[Any, tuple[types.Type, ...]], Summary] = {}


def summary(fn: Any, argtypes: tuple[types.Type, ...]) -> Summary:
    """What a function writes and returns of its arguments.

    A recursive call inside the function writes into nothing, and returns nothing, that the rest of the function does
    not: the least fixed point starts from there.
    """
    key = (fn, argtypes)
    if key not in _known:
        _known[key] = Summary()
        before: Summary | None = None
        while before != _known[key]:
            before = _known[key]
            _known[key] = _find(fn, argtypes)
    return _known[key]


def written_positions(fn: Any, argtypes: tuple[types.Type, ...]) -> frozenset[int]:
    """Positions of the arguments that a function writes into."""
    return summary(fn, argtypes).written


def _find(fn: Any, argtypes: tuple[types.Type, ...]) -> Summary:
    from jitgrad import frontend  # analysis is the frontend's user, but effects are asked for while it reads
    from jitgrad.analysis.activity import Activity, leaves
    from jitgrad.analysis.memory import viewed, written_values
    from jitgrad.analysis.scopes import Scopes

    program = frontend.read(fn, argtypes)
    scopes, activity = Scopes(program), Activity(program, ())

    def sharing(value: ir.Value) -> set[int]:
        """The parameters that share memory with `value`."""
        cells = {cell for cell in leaves(activity.tree(value)) if not cell.scalar}
        if cells:
            trees = enumerate(map(activity.tree, program.params))
            return {k for k, tree in trees if not cells.isdisjoint(leaves(tree))}
        root = value  # memory without derivatives has no cells
        while (source := scopes.definition.get(root)) is not None:
            base = source.operand if isinstance(source, ir.Cast) else viewed(source)
            if base is None and isinstance(source, ir.InplaceBinary):
                base = source.lhs
            if base is None:
                break
            root = base
        if root in program.params:
            return {program.params.index(root)}
        if isinstance(scopes.definition.get(root), (ir.Loop, ir.If)):
            return {k for k, p in enumerate(program.params) if p.type == root.type}
        return set()

    written = {k for op in ir.walk(program.body) for target in written_values(op) for k in sharing(target)}
    return Summary(frozenset(written), frozenset(sharing(program.result)))
