"""Adjoint variables: their names, their births and the sums that collect in them.

In the generated code the adjoint of a value is one Python variable ``x_bar``. It is born in the backward
code of the block that defines the value. Where the first contribution stands in that same block the
variable simply is that contribution; otherwise it starts at zero at the top of the block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba.core import types

from jitgrad.analysis import carried
from jitgrad.analysis.memory import viewed
from jitgrad.analysis.scopes import Scope
from jitgrad.program import ir
from jitgrad.runtime.lists import add_items
from jitgrad.runtime.sums import accumulate
from jitgrad.transforms.reverse import arrays, lists
from jitgrad.transforms.reverse.leaves import Leaf, is_array, origin

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


class Adjoints:
    """The adjoint variables of one reverse sweep."""

    def __init__(self, sweep: Sweep):
        self._sweep = sweep
        self._names: dict[Leaf, str] = {}
        self._set: set[Leaf] = set()
        self.shared: set[ir.Value] = set()  # arrays that a branch picks, whose adjoint is that of the one picked
        self._equal: dict[str, str] = {}  # adjoint variable -> the variable it was last set equal to

    def leaf(self, value: ir.Value, path: tuple[int, ...] = ()) -> Leaf:
        """The leaf that owns this adjoint."""
        return origin(Leaf(value, path), self._sweep.scopes)

    def name(self, value: ir.Value, path: tuple[int, ...] = ()) -> str:
        """The variable of an adjoint, whether or not it has been set; in a parallel loop that of its chunk."""
        leaf = self.leaf(value, path)
        name = self.own_name(leaf)
        return name if self._sweep.region is None else self._sweep.region.name(leaf, name)

    def own_name(self, leaf: Leaf) -> str:
        """The variable that an adjoint is in where it is born."""
        if leaf not in self._names:
            self._names[leaf] = self._sweep.writer.fresh(f"{leaf.name}_bar")
        return self._names[leaf]

    def is_set(self, value: ir.Value, path: tuple[int, ...] = ()) -> bool:
        return self.leaf(value, path) in self._set

    def adopt(self, value: ir.Value, text: str, path: tuple[int, ...] = ()) -> None:
        """Write ``x_bar = text`` here: `text` is a buffer that becomes the adjoint."""
        self._set.add(self.leaf(value, path))
        self._sweep.writer.line(f"{self.name(value, path)} = {text}")

    def rename(self, value: ir.Value, name: str, path: tuple[int, ...] = ()) -> None:
        """Let the variable `name`, which exists already, be the adjoint."""
        leaf = self.leaf(value, path)
        self._names[leaf] = name
        self._set.add(leaf)

    def add(self, value: ir.Value, text: str, path: tuple[int, ...] = (), *, fresh: bool = True) -> None:
        """Add a contribution.

        Parameters
        ----------
        text : str
            An expression; for arrays one of the adjoint's own shape.
        fresh : bool
            For arrays: nobody else holds the array that `text` gives, so it may be kept and changed.
        """
        sweep, leaf = self._sweep, self.leaf(value, path)
        if isinstance(leaf.value, (ir.Literal, ir.Global, ir.Undefined)) or not sweep.active(leaf):
            return
        text = self.typed(leaf.type, text)
        name = self.name(value, path)
        owner = sweep.scopes.home[leaf.value]
        if leaf not in self._set and owner is sweep.scope and not sweep.shadowed(leaf):
            self._set.add(leaf)
            if text.isidentifier():
                self._equal[name] = text
            sweep.writer.line(f"{name} = {text}" if fresh or not is_array(leaf.type) else f"{name} = {text}.copy()")
            return
        self.start(value, path)
        sweep.writer.line(self.accumulation(leaf, name, text))

    def accumulation(self, leaf: Leaf, name: str, text: str) -> str:
        """The statement that adds `text` to an adjoint.

        A sum that a loop collects in one variable may be taken in any order, so that the loop vectorises.
        """
        sweep = self._sweep
        self._equal.pop(name, None)
        if lists.is_list(leaf.type):
            return f"{sweep.writer.use(add_items, 'add_items')}({name}, {text})"
        around = sweep.scope.loop is not sweep.scopes.home[leaf.value].loop or isinstance(sweep.scope.owner, ir.Map)
        if around and isinstance(leaf.type, types.Float):
            return f"{name} = {sweep.writer.use(accumulate, 'accumulate')}({name}, {text})"
        if text.startswith("-") and text[1:].isidentifier():
            return f"{name} -= {text[1:]}"
        return f"{name} += {text}"

    def start(self, value: ir.Value, path: tuple[int, ...] = ()) -> str:
        """Make sure that the adjoint exists from the top of its block on, at zero; its name."""
        sweep, leaf = self._sweep, self.leaf(value, path)
        if leaf not in self._set:
            self._set.add(leaf)
            region = sweep.region
            if region is not None and region.outside(leaf):
                sweep.region = None  # what is written now stands before the parallel loop
            with sweep.writer.into(sweep.birth[sweep.scopes.home[leaf.value]]):
                self._begin(leaf, self.own_name(leaf))
            sweep.region = region
        return self.name(value, path)

    def _begin(self, leaf: Leaf, name: str) -> None:
        """Write how an adjoint starts."""
        sweep = self._sweep
        if lists.is_list(leaf.type):
            sweep.writer.line(f"{name} = {lists.zeros(sweep, leaf.value)}")
        elif (branch := self._picking(leaf)) is not None:
            self._pick(branch, leaf.value)
        elif leaf in sweep.given:
            sweep.writer.line(f"{name} = {sweep.given[leaf]}")
            sweep.writer.line(f"{name}.fill({self.zero(leaf.type.dtype)})")
        elif not is_array(leaf.type):
            sweep.writer.line(f"{name} = {self.zero(leaf.type)}")
        elif (view := sweep.memory.view_of(leaf.value)) is not None and not leaf.path:
            sweep.shadow_view(view)
        else:
            sweep.writer.line(f"{name} = {sweep.saved.zeros(leaf)}")

    def _picking(self, leaf: Leaf) -> ir.If | None:
        """The branch that picks one of several written arrays which keep their own names, if `leaf` is such a pick."""
        sweep = self._sweep
        branch = sweep.scopes.definition.get(leaf.value)
        if not isinstance(branch, ir.If) or not is_array(leaf.type) or not sweep.memory.written(leaf.value):
            return None
        k = branch.outs.index(leaf.value)
        if carried.branch_problem(branch, k, sweep.scopes, sweep.memory) is None:
            return None
        here = sweep.scopes.at[branch]
        picked = [self._picked(y, here) for y in (branch.then_yields[k], branch.else_yields[k])]
        return branch if None not in picked else None

    def _picked(self, value: ir.Value, here: Scope) -> tuple[str, ir.Value] | None:
        """How the adjoint of what an arm yields is had outside: an array's own, a view of one, or a new one."""
        sweep = self._sweep
        home = sweep.scopes.home.get(value)
        if home is None:
            return None
        if sweep.scopes.encloses(home, here):
            return "own", value
        view = sweep.memory.view_of(value)
        if view is None:
            return None if isinstance(sweep.scopes.definition[value], (ir.If, ir.Loop)) else ("new", value)
        base = viewed(view)
        outside = all(
            isinstance(v, ir.Literal) or sweep.scopes.encloses(sweep.scopes.home[v], here) for v in view.operands
        )
        return ("view", value) if base is not None and outside else None

    def _pick(self, branch: ir.If, value: ir.Value) -> None:
        """``v_bar = a_bar if cond else b_bar``: one and the same buffer under two names."""
        sweep, k = self._sweep, branch.outs.index(value)
        self.shared.add(value)
        texts = []
        for y in (branch.then_yields[k], branch.else_yields[k]):
            how, _ = self._picked(y, sweep.scopes.at[branch]) or ("new", y)
            if how == "own":
                texts.append(self.start(y))
            elif how == "view":
                view = sweep.scopes.definition[y]
                base = viewed(view)
                assert base is not None
                texts.append(arrays.view_text(sweep, view, self.start(base)))
            else:
                texts.append(sweep.saved.zeros(Leaf(value)))
        cond = sweep.saved.need(branch.cond)
        name = self.name(value)
        with sweep.writer.indented(f"if {cond}:"):
            sweep.writer.line(f"{name} = {texts[0]}")
        with sweep.writer.indented("else:"):
            sweep.writer.line(f"{name} = {texts[1]}")

    def equals(self, name: str, other: str) -> bool:
        """Whether adjoint variable `name` was only ever set equal to `other`."""
        while name in self._equal:
            name = self._equal[name]
        return name == other

    def whole(self, value: ir.Value) -> bool:
        """Whether an array's adjoint may begin here, with a contribution to all of its elements."""
        leaf = self.leaf(value)
        sweep = self._sweep
        here = leaf not in self._set and sweep.scopes.home[leaf.value] is sweep.scope
        return here and not leaf.path and not sweep.shadowed(leaf)

    def take(self, value: ir.Value, path: tuple[int, ...] = ()) -> str | None:
        """The finished adjoint of a value whose definition is reached; None when it is zero."""
        return self.name(value, path) if self.is_set(value, path) else None

    def zero(self, typ: types.Type) -> str:
        """The zero that an adjoint of a scalar type starts from."""
        typ = typ.type if isinstance(typ, types.Optional) else typ
        if typ in (types.float64, types.complex128):
            return "0.0" if typ == types.float64 else "0j"
        return f"{self._sweep.dtype(typ)}(0.0)"

    def typed(self, typ: types.Type, text: str) -> str:
        """Keep a contribution in the precision of what it belongs to."""
        typ = typ.type if isinstance(typ, types.Optional) else typ
        if typ in (types.float32, types.complex64):
            return f"{self._sweep.dtype(typ)}({text})"
        return text
