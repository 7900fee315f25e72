"""What the generator knows about the variables of the program it is writing."""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Float:
    """A float scalar."""


@dataclass(frozen=True)
class Int:
    """An integer; `low <= value < high` where the bounds are known."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True)
class Array:
    """A float array. A variable's shape never changes, so every index can be proven in range."""

    shape: tuple[int, ...]


@dataclass(frozen=True)
class Pair:
    """A tuple of two floats."""


Kind = Float | Int | Array | Pair


@dataclass(frozen=True)
class Helper:
    """A function the program calls: its parameters and what it returns (None for nothing)."""

    name: str
    params: tuple[Kind, ...]
    returns: Kind | None


class Scope:
    """The variables that are certainly assigned at the place being written."""

    def __init__(self, random_: random.Random):
        self.random = random_
        self._blocks: list[dict[str, Kind]] = [{}]
        self._fresh = 0
        self.frozen: set[str] = set()

    @contextmanager
    def block(self):
        """Names assigned first in a branch or loop body are not known after it."""
        self._blocks.append({})
        try:
            yield
        finally:
            self._blocks.pop()

    @contextmanager
    def freezing(self, *names: str):
        """Loop counters must not be assigned in their loop, or trip counts could depend on data."""
        added = set(names) - self.frozen
        self.frozen |= added
        try:
            yield
        finally:
            self.frozen -= added

    def fresh(self, prefix: str) -> str:
        self._fresh += 1
        return f"{prefix}{self._fresh}"

    def define(self, name: str, kind: Kind) -> str:
        self._blocks[-1][name] = kind
        return name

    def known(self) -> dict[str, Kind]:
        merged: dict[str, Kind] = {}
        for block in self._blocks:
            merged.update(block)
        return merged

    def names(self, kind: type | Kind, assignable: bool = False) -> list[str]:
        """Variables of a kind class (`Array`) or of exactly one kind (``Array((3,))``)."""
        return [
            name
            for name, have in self.known().items()
            if (isinstance(have, kind) if isinstance(kind, type) else have == kind)
            and not (assignable and name in self.frozen)
        ]

    def pick(self, kind: type | Kind, assignable: bool = False) -> str | None:
        names = self.names(kind, assignable)
        if not names:
            return None
        if len(names) > 3 and self.random.random() < 0.5:
            names = names[-3:]  # programs that use what they just computed are deeper
        return self.random.choice(names)

    def shape(self, name: str) -> tuple[int, ...]:
        kind = self.known()[name]
        assert isinstance(kind, Array)
        return kind.shape
