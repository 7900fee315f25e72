"""Values of the forward sweep that the backward sweep reads: kept alive, recomputed or taped.

`Saved.need` is asked for a value while backward code is being written and answers with the text that
stands for it there. The cheapest way that is right is taken:

live        values of the function's own block are variables that still hold
recompute   loop counters, arithmetic and loads of memory that is not written afterwards are done again at
            the top of the backward block
tape        anything else is stored when it is read (never restored when it is overwritten), into one
            contiguous strip per value. Strips are indexed by the iteration of the loop the value lives in.

Strips are ordinary arrays, so that generated code can be differentiated again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from numba.core import types

from jitgrad.analysis.scopes import Scope
from jitgrad.errors import UnsupportedError, where
from jitgrad.program import ir
from jitgrad.runtime import tape
from jitgrad.transforms.reverse import cheap
from jitgrad.transforms.reverse.leaves import Leaf, is_array, leaves, origin

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


@dataclass(eq=False)
class Strip:
    """The tape of one value: `name` is the array, one entry per iteration of the loop around it.

    An array is stored by content: as one more axis of the strip where its shape is the same in all
    iterations (`shape`), else element by element, `cursor` being the position behind the last one.
    """

    name: str
    value: ir.Value
    cursor: str | None = None
    shape: list[str] = field(default_factory=list)


@dataclass(eq=False)
class LoopTape:
    """All strips of one loop. A loop that runs many times keeps a running `base` position."""

    base: str | None
    strips: list[Strip] = field(default_factory=list)


@dataclass(eq=False)
class Derived:
    """A helper value computed beside an operation: an array's extent, a snapshot of its content."""

    value: ir.Value
    text: str


class Saved:
    """What the backward sweep of one function needs from its forward sweep."""

    def __init__(self, sweep: Sweep):
        self._sweep = sweep
        self._texts: dict[ir.Value, str] = {}
        self._derived: dict[tuple, ir.Value] = {}
        self.tapes: dict[ir.Loop, LoopTape] = {}
        self.strips: dict[ir.Value, Strip] = {}
        self.before: dict[ir.Op | Scope, list[Derived]] = {}
        self.after: dict[ir.Op | Scope, list[Derived]] = {}

    # ----- asking ------------------------------------------------------------------------------
    def need(self, value: ir.Value) -> str:
        """The text of a value in the backward code being written."""
        sweep = self._sweep
        leaf = origin(Leaf(value), sweep.scopes)
        if leaf.path == () and leaf.value is not value:
            return self._renamed(value, leaf.value)
        if isinstance(value, (ir.Literal, ir.Global)):
            return sweep.writer.name(value)
        if isinstance(value, ir.Undefined):
            raise UnsupportedError(f"{value.name} is read but was never assigned")
        home = sweep.scopes.home[value]
        if isinstance(home.owner, ir.Map):
            if value not in self._texts:
                self._texts[value] = sweep.elements[home.block].provide(value, home)
            return self._texts[value]
        if sweep.live(home) or cheap.is_index(value, sweep.scopes):
            return sweep.writer.name(value)
        if value not in self._texts:
            self._texts[value] = self._provide(value, home)
        return self._texts[value]

    def _renamed(self, value: ir.Value, source: ir.Value) -> str:
        """The text of another name of `source`. What is written with names, not texts, finds it under its own, too."""
        sweep, text = self._sweep, self.need(source)
        home = sweep.scopes.home[value]
        if value not in self._texts and not sweep.live(home):
            with sweep.writer.into(sweep.head[home]):
                sweep.writer.line(f"{sweep.writer.name(value)} = {text}")
        self._texts[value] = text
        return text

    def _provide(self, value: ir.Value, home: Scope) -> str:
        sweep = self._sweep
        name = sweep.writer.name(value)
        if value not in self.strips and self.recomputable(value):
            op = sweep.scopes.definition[value]
            for operand in op.operands:
                self.need(operand)
            with sweep.writer.into(sweep.head[home]):
                sweep.writer.statement(op)
            return name
        if isinstance(value.type, types.BaseTuple):
            text = self._tuple(value)
            with sweep.writer.into(sweep.head[home]):
                sweep.writer.line(f"{name} = {text}")
            return name
        self._load(value, home, name)
        return name

    def _tuple(self, value: ir.Value) -> str:
        """A tuple, item by item."""
        made = self._sweep.scopes.definition.get(value)
        if isinstance(made, ir.BuildTuple):
            parts = [self.need(item) for item in made.items]
        else:
            item_types = value.type.types if hasattr(value.type, "types") else [value.type.dtype] * len(value.type)
            parts = [
                self.need(self.derive(self._anchor(value), "after", f"{value.name}_{k}", typ, value, f"{{}}[{k}]"))
                for k, typ in enumerate(item_types)
            ]
        text = "(" + "".join(part + ", " for part in parts).rstrip() + ")"
        if isinstance(value.type, types.BaseNamedTuple):
            made_by = value.type.instance_class
            return f"{self._sweep.writer.use(made_by, made_by.__name__)}{text}"
        return text

    def need_content(self, value: ir.Value, op: ir.Op, place: Literal["before", "after"] = "before") -> str:
        """The text of an array with the content it had when `op` read it; "after": when `op` had made it."""
        sweep = self._sweep
        if isinstance(value.type, types.BaseTuple):
            return self._tuple_content(value, op, place)
        if not is_array(value.type) or isinstance(value, (ir.Literal, ir.Global)):
            return self.need(value)
        if not sweep.memory.written(value) or (self._at_hand(value) and sweep.memory.intact(op, value)):
            return self.need(value)
        # what is taped is copied anyway
        text = "{}.copy()" if sweep.live(sweep.scopes.at[op]) else "{}"
        return self.need(self.derive(op, place, f"{value.name}_saved", _contiguous(value.type), value, text))

    def _tuple_content(self, value: ir.Value, op: ir.Op, place: Literal["before", "after"]) -> str:
        """As `need_content`, for the arrays in a tuple."""
        sweep = self._sweep
        here, after = sweep.live(sweep.scopes.at[op]), None
        if not isinstance(value, (ir.Literal, ir.Global)) and sweep.live(sweep.scopes.home[value]):
            after = op
        arrays = [leaf.path for leaf in leaves(value) if is_array(leaf.type)]
        if not any(sweep.memory.part_written(value, path, after) for path in arrays):
            return self.need(value)

        def build(typ: types.Type, path: tuple[int, ...]) -> str:
            if isinstance(typ, types.BaseTuple):
                items = typ.types if hasattr(typ, "types") else [typ.dtype] * len(typ)
                text = "(" + "".join(build(item, (*path, k)) + ", " for k, item in enumerate(items)).rstrip() + ")"
                named = getattr(typ, "instance_class", None)
                return text if named is None else f"{sweep.writer.use(named, named.__name__)}{text}"
            text = sweep.path_text("{}", path)
            kept = _contiguous(typ) if is_array(typ) else typ
            hint = "_".join([value.name, *map(str, path), "saved"])
            return self.need(self.derive(op, place, hint, kept, value, text + ".copy()" * (here and is_array(typ))))

        return build(value.type, ())

    def _at_hand(self, value: ir.Value) -> bool:
        """Whether the backward sweep sees the memory of an array itself, not a copy made when it was born."""
        sweep = self._sweep
        root = sweep.memory.root(value)
        return sweep.live(sweep.scopes.home[root]) and (
            sweep.live(sweep.scopes.home[value]) or (value not in self.strips and self.derivable(value))
        )

    def derive(
        self, anchor: ir.Op | Scope, place: str, hint: str, typ: types.Type, of: ir.Value, text: str
    ) -> ir.Value:
        """A helper value, computed from `of` before or after an operation (or at a block's start)."""
        key = (anchor, of, text)
        if key not in self._derived:
            value = self._derived[key] = ir.Value(hint, typ)
            scope = anchor if isinstance(anchor, Scope) else self._sweep.scopes.at[anchor]
            self._sweep.scopes.home[value] = scope
            group = self.before if place == "before" else self.after
            group.setdefault(anchor, []).append(Derived(value, text.format(self._sweep.writer.name(of))))
        return self._derived[key]

    def trips(self, loop: ir.Loop) -> str:
        """How many iterations a loop made, as text before its backward loop."""
        sweep = self._sweep
        if loop.count is not None and loop.again is None:
            return self.need(loop.count)
        if loop.trips is None:
            loop.trips = ir.Value("trips", types.int64)
            sweep.scopes.home[loop.trips] = sweep.scopes.at[loop]
            sweep.scopes.definition[loop.trips] = loop
        return self.need(loop.trips)

    # ----- shapes ------------------------------------------------------------------------------
    def zeros(self, leaf: Leaf) -> str:
        """A zero array shaped like an array leaf, as text at the top of its block."""
        sweep = self._sweep
        dtype = sweep.dtype(leaf.type.dtype)
        if leaf.path:
            return f"np.zeros_like({sweep.path_text(self.need(leaf.value), leaf.path)})"
        if sweep.live(sweep.scopes.home[leaf.value]) or self.derivable(leaf.value) or leaf.value in self.strips:
            return f"{sweep.np}.zeros_like({self.need(leaf.value)})"
        return f"{sweep.np}.zeros({self.shape(leaf.value)}, {dtype})"

    def shape(self, value: ir.Value) -> str:
        """The shape of an array, as the text of a tuple."""
        sweep = self._sweep
        home = sweep.scopes.home[value]
        if sweep.live(home) or self.derivable(value) or value in self.strips:
            return f"{self.need(value)}.shape"
        parts = [self.extent(value, axis) for axis in range(value.type.ndim)]
        return "(" + "".join(part + ", " for part in parts).rstrip() + ")"

    def extent(self, value: ir.Value, axis: int) -> str:
        """The text of one extent of an array that is not at hand itself."""
        sweep = self._sweep
        match sweep.extents(value, axis):
            case ("int", n):
                return str(n)
            case ("value", number):
                return self.need(number)
            case ("dim", array, k):
                return f"{self.need(array)}.shape[{k}]"
        return self.need(
            self.derive(self._anchor(value), "after", f"{value.name}_n{axis}", types.intp, value, f"{{}}.shape[{axis}]")
        )

    # ----- recomputing -------------------------------------------------------------------------
    def derivable(self, value: ir.Value) -> bool:
        """Whether a value can be computed again at the top of its backward block without new tape."""
        if isinstance(value, (ir.Literal, ir.Global)) or value in self.strips or value in self._sweep.taped:
            return True
        return self.recomputable(value)

    def redundant(self) -> frozenset[ir.Value]:
        """The numbers on the tape, if some of them can be computed from others; else none.

        Whether a value is worth a strip is decided when it is asked for, and a later one may have made it derivable.
        """
        taped = frozenset(v for v in self.strips if v in self._sweep.scopes.definition and not is_array(v.type))
        self._sweep.taped = taped
        return taped if any(map(self.recomputable, taped)) else frozenset()

    def recomputable(self, value: ir.Value) -> bool:
        """Whether doing its operation again gives a value without new tape."""
        sweep = self._sweep
        if isinstance(value, ir.Undefined):
            return False
        if sweep.live(sweep.scopes.home[value]) or cheap.is_index(value, sweep.scopes):
            return True
        op = sweep.scopes.definition.get(value)
        if op is None or op.blocks or not cheap.is_cheap(op, sweep.memory):
            return False
        if isinstance(op, ir.GetItem) and is_array(op.base.type) and not is_array(value.type):
            if sweep.memory.frozen(op):
                return all(self.derivable(v) for v in ir.index_values(op.index))
            if sweep.memory.written(op.base) and not (self._at_hand(op.base) and sweep.memory.intact(op, op.base)):
                return False
        return all(self.derivable(operand) for operand in op.operands)

    # ----- taping ------------------------------------------------------------------------------
    def _load(self, value: ir.Value, home: Scope, name: str) -> None:
        """Take `value` from its strip at the top of its backward block."""
        sweep = self._sweep
        strip = self.strip(value)
        with sweep.writer.into(sweep.head[home]):
            if strip.cursor is not None:
                extents = [self.extent(value, axis) for axis in range(value.type.ndim)]
                size = " * ".join(extents) or "1"
                sweep.writer.line(f"{strip.cursor} -= {size}")
                sweep.writer.line(
                    f"{name} = {strip.name}[{strip.cursor}:{strip.cursor} + {size}].reshape(({', '.join(extents)},))"
                )
            else:
                sweep.writer.line(f"{name} = {strip.name}[{sweep.position(sweep.scopes.loop_of(value))}]")

    def _anchor(self, value: ir.Value) -> ir.Op | Scope:
        sweep = self._sweep
        op = sweep.scopes.definition.get(value)
        if op is None:  # a snapshot: its extents follow it
            return next(a for group in (self.before, self.after) for a, ds in group.items()
                        if any(d.value is value for d in ds))  # fmt: skip
        return sweep.scopes.home[value] if isinstance(op, ir.Loop) and value in op.params else op

    def strip(self, value: ir.Value) -> Strip:
        """The strip of a value, made when it has none yet."""
        sweep = self._sweep
        if value not in self.strips:
            element = value.type.dtype if is_array(value.type) else value.type
            if not isinstance(element, (types.Number, types.Boolean)):
                raise UnsupportedError(
                    f"{self.place(value)}: {value.name} ({value.type}) is computed inside a loop and its value is "
                    "needed to go backwards, but values of this type cannot be saved; compute it before the loop"
                )
            strip = Strip(sweep.writer.fresh(f"tape_{value.name}"), value)
            loop = sweep.scopes.loop_of(value)
            if is_array(value.type):
                if self.nest(loop) and all(sweep.extents(value, k) for k in range(value.type.ndim)):
                    strip.shape = [self.extent(value, k) for k in range(value.type.ndim)]
                else:
                    strip.cursor = sweep.writer.fresh(f"at_{value.name}")
            self.strips[value] = strip
            self.tape_of(loop).strips.append(strip)
        return self.strips[value]

    @staticmethod
    def full_count(loop: ir.Loop) -> ir.Value | None:
        """The count of a loop that runs all its iterations; None for one that may break: it can count to any number."""
        return loop.count if loop.again is None else None

    def nest(self, loop: ir.Loop) -> list[ir.Loop]:
        """The loops down to `loop`, where all their trip counts are known before the outermost; else none."""
        sweep = self._sweep
        around = [*sweep.scopes.loops(sweep.scopes.at[loop]), loop]
        counts = [self.full_count(x) for x in around]
        known = all(n is not None and (isinstance(n, ir.Literal) or sweep.live(sweep.scopes.home[n])) for n in counts)
        return around if known else []

    def tape_of(self, loop: ir.Loop) -> LoopTape:
        """The tape of a loop; a nested loop's strips are indexed from a running base."""
        sweep = self._sweep
        if loop not in self.tapes:
            nested = not sweep.live(sweep.scopes.at[loop])
            self.tapes[loop] = LoopTape(sweep.writer.fresh("base") if nested else None)
        return self.tapes[loop]

    def place(self, value: ir.Value) -> str:
        op = self._sweep.scopes.definition.get(value)
        return where(op.loc) if op is not None and op.loc is not None else self._sweep.program.name

    def grow(self) -> str:
        """The helper that enlarges a strip."""
        return self._sweep.writer.use(tape.grow, "grow")


def _contiguous(typ: types.Array) -> types.Array:
    return types.Array(typ.dtype, typ.ndim, "C")
