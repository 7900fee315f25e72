"""The structured tree: Numba statements under branches and loops, variables still assigned many times.

Between Numba's control flow graph (`regions` builds this tree from it) and the Program (`ssa` builds
that from this tree). Items of a suite are Numba statements and the classes below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from numba.core import ir

RETURN = "$return"  # the variable that holds the function's result


@dataclass(eq=False)
class SetFlag:
    """``variable = value``: which way control takes next, or whether a loop goes on.

    Without a variable it marks the end of a path whose way nobody asks for.
    """

    variable: str | None
    value: int | bool


@dataclass(eq=False)
class TestFlag:
    """``target = variable == value``."""

    target: str
    variable: str
    value: int


@dataclass(eq=False)
class SetVariable:
    """``target = source`` between names: the result of the function, a test of two conditions."""

    target: str
    source: str | bool
    loc: ir.Loc | None = None


@dataclass(eq=False)
class IteratorHeader:
    """``for item in iterator``; `item` is None where the item is not used."""

    iterator: ir.Var
    item: ir.Var | None
    loc: ir.Loc


@dataclass(eq=False)
class Branch:
    """`outs`: the variables assigned here and read later (filled by `liveness`)."""

    condition: str
    then: list
    orelse: list
    loc: ir.Loc | None = None
    outs: list[str] = field(default_factory=list)


@dataclass(eq=False)
class Repeat:
    """A loop left when `again` is false after the body, or when `header` has no more items.

    `label` is the block of the header, whose phis tell the types of carried variables; `carried`
    are the variables assigned in the body and read in a later iteration or after the loop (filled by
    `liveness`).
    """

    body: list
    header: IteratorHeader | None
    again: str | None
    label: int
    loc: ir.Loc | None = None
    carried: list[str] = field(default_factory=list)


def is_raise(item) -> bool:
    return isinstance(item, (ir.StaticRaise, ir.DynamicRaise))
