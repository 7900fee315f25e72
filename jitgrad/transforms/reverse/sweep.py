"""One reverse-mode transform: the state both sweeps share, and the backward sweep's skeleton.

The backward sweep is written first. While it is written it asks `Saved` for values of the forward sweep,
and thereby decides what the forward sweep must keep; then the forward sweep is written, with exactly
that kept.

Sources: Griewank & Walther, *Evaluating Derivatives* (2008), ch. 3.2 and 4; Hascoet & Pascual, "The
Tapenade automatic differentiation tool" (2013), for adjoints of structured programs.
"""

from __future__ import annotations

import numpy as np
from numba.core import types

from jitgrad import rules
from jitgrad.analysis.activity import Activity
from jitgrad.analysis.activity import leaves as cells
from jitgrad.analysis.extents import Extents
from jitgrad.analysis.memory import Memory, viewed, written_values
from jitgrad.analysis.scopes import Scope, Scopes
from jitgrad.analysis.selections import Selections
from jitgrad.analysis.sharing import change_in_use
from jitgrad.backend.text import Text
from jitgrad.backend.writer import Writer
from jitgrad.errors import UnsupportedError, where
from jitgrad.program import ir
from jitgrad.transforms.refusals import refuse
from jitgrad.transforms.request import VjpRequest
from jitgrad.transforms.reverse import arrays, calls, control, lists, maps, parallel, replay
from jitgrad.transforms.reverse.adjoints import Adjoints
from jitgrad.transforms.reverse.leaves import Leaf, is_array, is_differentiable, leaves
from jitgrad.transforms.reverse.saved import Saved


class Sweep:
    """The reverse transform of one program.

    Attributes
    ----------
    scope : Scope
        The block whose backward code is being written.
    replays : dict
        Loop -> the nest that its backward iterations run again.
    serial : set
        Parallel loops that must run serially after all.
    taped : set
        Numbers that a sweep before this one found it must tape.
    region : Region or None
        The parallel loop whose backward code is being written.
    head, birth : dict
        Scope -> the places at the top of its backward code where values are provided and adjoints start.
    """

    def __init__(
        self,
        program: ir.Program,
        request: VjpRequest,
        replays: dict[ir.Loop, replay.Replay] | None = None,
        serial: frozenset[ir.Loop] = frozenset(),
        taped: frozenset[ir.Value] = frozenset(),
    ):
        self.program = program
        self.request = request
        self.writer = Writer(dict(rules.kernels_namespace()))
        self.np = self.writer.use(np, "np")
        self.scopes = Scopes(program)
        self.activity = Activity(program, request.wrt, request.outs)
        refuse(program, self.activity)
        self.replays = replays or {}
        self.serial = serial
        self.taped = taped
        self.region: parallel.Region | None = None
        refilled = {loop: found.roots for loop, found in self.replays.items()}
        self.memory = Memory(program, self.scopes, self.activity, refilled)
        self.extents = Extents(self.scopes)
        self.selections = Selections(program, self.scopes)
        self._name_variables()
        self.saved = Saved(self)
        self.adjoints = Adjoints(self)
        self.scope = self.scopes.root
        self.head: dict[Scope, Text] = {}
        self.birth: dict[Scope, Text] = {}
        self.positions: dict[ir.Loop, str] = {}
        self.given: dict[Leaf, str] = {}  # adjoints that live in arrays of the caller
        self.elements: dict[ir.Block, maps.Elements] = {}
        self.rules: set[str] = set()

    def _name_variables(self) -> None:
        """Parameters keep their names; what a loop carries around and out is one variable."""
        for param in self.program.params:
            self.writer.name(param)
        self.writer.legalised = bool(self.program.options.get("parallel"))
        for op in ir.walk(self.program.body):
            if isinstance(op, ir.Loop):
                for param, out in zip(op.params, op.outs, strict=True):
                    self.writer.alias(out, self.writer.name(param))

    # ----- questions ---------------------------------------------------------------------------
    def active(self, leaf: Leaf) -> bool:
        """Whether a leaf needs an adjoint."""
        if not is_differentiable(leaf.type):
            return False
        tree = self.activity.tree(leaf.value)
        for k in leaf.path:
            tree = tree[k] if isinstance(tree, tuple) else None
        if tree is None or isinstance(tree, tuple):
            return False
        return any(map(self.activity.active_cell, cells(tree)))  # of a list: its items too

    def written(self, leaf: Leaf) -> bool:
        """Whether anything writes into the memory of an array leaf."""
        if not leaf.path:
            return self.memory.written(leaf.value)
        tree = self.activity.tree(leaf.value)
        for k in leaf.path:
            tree = tree[k] if isinstance(tree, tuple) else None
        return tree is None or isinstance(tree, tuple) or bool(self.memory.stores.get(tree.find()))

    def is_active(self, value: ir.Value) -> bool:
        """Whether any leaf of a value needs an adjoint."""
        return not isinstance(value, (ir.Literal, ir.Global, ir.Undefined)) and self.activity.active(value)

    def shadowed(self, leaf: Leaf) -> bool:
        """Whether the adjoint of an array leaf mirrors memory that is written or viewed."""
        value = leaf.value
        if leaf in self.given:
            return True
        return is_array(leaf.type) and (
            self.memory.written(value) or value in self.memory.has_views or self.memory.view_of(value) is not None
        )

    def changes_in_use(self, op: ir.Op) -> bool:
        """Whether an array that `op` hands on, as one of its operands or a part of it, is written while in use."""
        found = any(is_array(leaf.type) for value in op.results for leaf in leaves(value))
        return found and change_in_use(op, self.program, self.activity, self.scopes) is not None

    def live(self, scope: Scope) -> bool:
        """Whether variables assigned in `scope` still hold when the backward sweep gets there."""
        return scope.loop is None

    def position(self, loop: ir.Loop) -> str:
        """The index of the current iteration in the strips of `loop`."""
        return self.positions[loop]

    def relevant(self, block: ir.Block) -> bool:
        """Whether a block does anything that derivatives flow through."""
        for op in ir.walk(block):
            if any(self.is_active(v) for v in op.results) or any(self.is_active(v) for v in written_values(op)):
                return True
        return False

    def fail(self, op: ir.Op, what: str, way_out: str) -> UnsupportedError:
        """An error that names the place in the user's source."""
        return UnsupportedError(f"{where(op.loc)}: {what}; {way_out}")

    # ----- text --------------------------------------------------------------------------------
    def dtype(self, typ: types.Type) -> str:
        """The text of a NumPy scalar type."""
        return f"{self.np}.bool_" if isinstance(typ, types.Boolean) else f"{self.np}.{typ}"

    def path_text(self, base: str, path: tuple[int, ...]) -> str:
        return base + "".join(f"[{k}]" for k in path)

    def index(self, index: tuple[ir.IndexItem, ...]) -> str:
        """The text of an index in the backward sweep."""
        for value in ir.index_values(index):
            self.saved.need(value)
        return self.writer.index(index)

    # ----- the backward sweep ------------------------------------------------------------------
    def open(self, scope: Scope) -> None:
        """Begin the backward code of a block at the current place."""
        self.scope = scope
        self.head[scope] = self.writer.here.section()
        self.birth[scope] = self.writer.here.section()

    def block(self, block: ir.Block) -> None:
        """Write the pullbacks of all operations of the open block, last to first."""
        for op in reversed(block.ops):
            # adjoints are born where they are first needed: a view's after what it views was handed back
            self.birth[self.scope] = self.writer.here.section()
            self.pullback(op)

    def pullback(self, op: ir.Op) -> None:
        """Write the pullback of one operation."""
        match op:
            case ir.If():
                control.branch(self, op)
            case ir.Loop():
                control.loop(self, op)
            case ir.Map():
                maps.pullback(self, op)
            case ir.SetItem():
                arrays.store(self, op)
            case ir.InplaceBinary():
                arrays.inplace(self, op)
            case ir.GetItem() if isinstance(op.base.type, types.Array):
                arrays.load(self, op)
            case ir.GetItem() if lists.is_list(op.base.type):
                lists.load(self, op)
            case ir.BuildList():
                lists.build(self, op)
            case ir.Cast():
                calls.cast(self, op)
            case ir.Unary() | ir.Binary() | ir.Call() | ir.Method() | ir.GetAttr() | ir.GetItem():
                calls.pullback(self, op)
            case ir.Raise() | ir.Print() | ir.BuildTuple():
                pass
            case _:
                if any(self.is_active(v) for v in (*op.results, *written_values(op))):
                    raise self.fail(
                        op, f"{type(op).__name__} of a value that is differentiated has no reverse-mode derivative",
                        "use arrays or tuples there, or put it in a function with a custom_vjp",
                    )  # fmt: skip

    def shadow_view(self, op: ir.Op) -> None:
        """Write the view of the base's adjoint that is the adjoint of a view."""
        base = viewed(op)
        assert base is not None
        text = self.adjoints.start(base)
        name = self.adjoints.name(op.results[0])
        self.writer.line(f"{name} = {arrays.view_text(self, op, text)}")
