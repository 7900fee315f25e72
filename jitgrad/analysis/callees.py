"""What a function that is called, not inlined, does to its arguments."""

from __future__ import annotations

from typing import Any

from numba.core import types

from jitgrad.program import ir

_known: dict[tuple[Any, tuple[types.Type, ...]], frozenset[int]] = {}


def written_positions(fn: Any, argtypes: tuple[types.Type, ...]) -> frozenset[int]:
    """Positions of the array arguments that a function writes into.

    A recursive call inside the function writes into nothing that the rest of the function does not: the
    least fixed point starts from there.
    """
    key = (fn, argtypes)
    if key not in _known:
        _known[key] = frozenset()
        before: frozenset[int] | None = None
        while before != _known[key]:
            before = _known[key]
            _known[key] = _find(fn, argtypes)
    return _known[key]


def _find(fn: Any, argtypes: tuple[types.Type, ...]) -> frozenset[int]:
    from jitgrad import frontend  # analysis is the frontend's user, but effects are asked for while it reads
    from jitgrad.analysis.memory import viewed, written_values
    from jitgrad.analysis.scopes import Scopes

    program = frontend.read(fn, argtypes)
    scopes = Scopes(program)
    found: set[int] = set()
    for op in ir.walk(program.body):
        for target in written_values(op):
            root = target
            while (source := scopes.definition.get(root)) is not None:
                base = source.operand if isinstance(source, ir.Cast) else viewed(source)
                if base is None and isinstance(source, ir.InplaceBinary):
                    base = source.lhs
                if base is None:
                    break
                root = base
            if root in program.params:
                found.add(program.params.index(root))
            elif isinstance(scopes.definition.get(root), (ir.Loop, ir.If)):
                found.update(k for k, p in enumerate(program.params) if p.type == root.type)
    return frozenset(found)
