"""Where things are: the block, loop nest and program order of every operation and value."""

from __future__ import annotations

from dataclasses import dataclass

from jitgrad.program import ir


@dataclass(eq=False)
class Scope:
    """One block with its surroundings.

    Attributes
    ----------
    block : Block
    owner : Op or None
        The operation that owns the block; None for the function body.
    parent : Scope or None
    loop : Loop or None
        The innermost loop around the block.
    depth : int
        Number of loops around the block.
    """

    block: ir.Block
    owner: ir.Op | None
    parent: Scope | None
    loop: ir.Loop | None
    depth: int


class Scopes:
    """Scope, position and definition of everything in a program.

    Attributes
    ----------
    home : dict
        Value -> the `Scope` whose block defines it; constants and captured values are at home in the outermost.
    definition : dict
        Value -> the operation that defines it; parameters of functions have none, parameters and index
        of a loop map to the `Loop`.
    at : dict
        Operation -> the `Scope` of the block it stands in.
    order : dict
        Operation -> its position in program order; `end` is the position after all it owns.
    uses : dict
        Value -> the operations that read it as an operand or yield it.
    """

    def __init__(self, program: ir.Program):
        self.home: dict[ir.Value, Scope] = {}
        self.definition: dict[ir.Value, ir.Op] = {}
        self.at: dict[ir.Op, Scope] = {}
        self.order: dict[ir.Op, int] = {}
        self.end: dict[ir.Op, int] = {}
        self.uses: dict[ir.Value, list[ir.Op]] = {}
        self.of: dict[ir.Block, Scope] = {}
        self._clock = 0
        self.root = Scope(program.body, None, None, None, 0)
        for param in program.params:
            self.home[param] = self.root
        self._visit(self.root)

    def _visit(self, scope: Scope) -> None:
        self.of[scope.block] = scope
        for op in scope.block:
            self._clock += 1
            self.order[op] = self._clock
            self.at[op] = scope
            for value in (*op.operands, *yielded(op)):
                self.uses.setdefault(value, []).append(op)
                if isinstance(value, (ir.Global, ir.Literal)):
                    self.home[value] = self.root
            for inner in op.blocks:
                loop = op if isinstance(op, ir.Loop) else scope.loop
                child = Scope(inner, op, scope, loop, scope.depth + isinstance(op, ir.Loop))
                if isinstance(op, (ir.Loop, ir.Map)):
                    for value in (*op.params, *([op.index] if isinstance(op, ir.Loop) else [])):
                        self.home[value] = child
                        self.definition[value] = op
                self._visit(child)
            for result in op.results:
                self.home[result] = scope
                self.definition[result] = op
            self._clock += 1
            self.end[op] = self._clock

    def loops(self, scope: Scope) -> list[ir.Loop]:
        """The loops around `scope`, outermost first."""
        found: list[ir.Loop] = []
        walk: Scope | None = scope
        while walk is not None:
            if isinstance(walk.owner, ir.Loop):
                found.append(walk.owner)
            walk = walk.parent
        return found[::-1]

    def loop_of(self, value: ir.Value) -> ir.Loop:
        """The innermost loop around a value that is defined inside one."""
        loop = self.home[value].loop
        assert loop is not None
        return loop

    def encloses(self, outer: Scope, inner: Scope) -> bool:
        """Whether `inner` is `outer` or lies inside it."""
        walk: Scope | None = inner
        while walk is not None:
            if walk is outer:
                return True
            walk = walk.parent
        return False


def yielded(op: ir.Op) -> list[ir.Value]:
    """What the blocks of an operation yield to it."""
    match op:
        case ir.If():
            return [*op.then_yields, *op.else_yields]
        case ir.Loop():
            return [*op.yields, *([op.again] if op.again is not None else [])]
        case ir.Map():
            return [op.output]
    return []
