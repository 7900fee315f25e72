"""Programs for questions to the analyses, and how to find things in them."""

from __future__ import annotations

from numba import njit, typeof

from jitgrad import frontend
from jitgrad.analysis.activity import Activity
from jitgrad.analysis.memory import Memory, written_values
from jitgrad.analysis.scopes import Scopes
from jitgrad.optimize import expand_inplace, resolve_aliases
from jitgrad.program import ir


class Analysed:
    """A program with its scopes and memory; results and all arguments count as differentiated."""

    def __init__(self, function, *args):
        self.program = frontend.read(njit(function), tuple(typeof(a) for a in args))
        resolve_aliases(self.program)
        expand_inplace(self.program)
        self.scopes = Scopes(self.program)
        self.activity = Activity(self.program, range(len(args)))
        self.memory = Memory(self.program, self.scopes, self.activity)
        self.ops = list(ir.walk(self.program.body))

    @property
    def loops(self) -> list[ir.Loop]:
        return [op for op in self.ops if isinstance(op, ir.Loop)]

    @property
    def branches(self) -> list[ir.If]:
        return [op for op in self.ops if isinstance(op, ir.If)]

    @property
    def stores(self) -> list[ir.Op]:
        return [op for op in self.ops if written_values(op)]

    def loads(self, line_of: str | None = None) -> list[ir.GetItem]:
        """Loads of numbers from arrays; only those from arrays of one name."""
        return [
            op
            for op in self.ops
            if isinstance(op, ir.GetItem)
            and isinstance(op.base.type, ir.types.Array)
            and not isinstance(op.result.type, ir.types.Array)
            and line_of in (None, op.base.name)
        ]

    def value(self, name: str) -> ir.Value:
        """The last value of a name."""
        found = [v for v in self.scopes.home if v.name == name]
        assert found, f"no value is called {name}"
        return found[-1]

    def intact(self, name: str) -> list[bool]:
        """Of every load from arrays of a name: whether what it reads is still there afterwards."""
        return [self.memory.intact(op, op.base) for op in self.loads(name)]
