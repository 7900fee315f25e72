"""The text of repeated steps, forwards and backwards; see `jitgrad.api.repeating`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types, utils
from numba.np.numpy_support import as_dtype

from jitgrad.api.mutation import shared_with_result
from jitgrad.api.ruled import result_type, written
from jitgrad.api.shape import Node, plain_tree, rebuild, tree
from jitgrad.backend.dispatcher import derivative
from jitgrad.backend.engine import Reverse, read
from jitgrad.backend.structure import describe
from jitgrad.backend.text import Text
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError, UnsupportedError
from jitgrad.runtime import revolve
from jitgrad.transforms.request import Generated, VjpRequest

if TYPE_CHECKING:
    from jitgrad.api.repeating import Backwards

COUNTS = {"sqrt": revolve.square_root, "log": revolve.logarithm, "all": revolve.every}


class _Loop:
    """What both directions share: names, and the structure of the state."""

    def __init__(self, primal: Any, argtypes: tuple[types.Type, ...], leading: tuple[str, ...] = ()):
        self.primal, self.argtypes = primal, argtypes
        self.writer = Writer({})
        self.leading = [self.writer.fresh(name) for name in leading]
        params = list(utils.pysignature(primal.py_func).parameters)
        self.state, self.count = self.writer.fresh(params[0]), self.writer.fresh("n")
        self.params = [self.writer.fresh(name) for name in params[2:]]
        self.structure = plain_tree(argtypes[0], self.state)
        self.text = Text()
        self._check()

    def _check(self) -> None:
        name, state = self.primal.__name__, self.argtypes[0]
        for leaf in self.structure.leaves():
            scalar = leaf.scalar
            if not isinstance(scalar, (types.Number, types.Boolean)) or (leaf.is_array and not leaf.type.ndim):
                raise ArgumentError(
                    f"the state of {name} holds {describe(leaf.type)}; repeat takes numbers, arrays and tuples of them"
                )
        start = _contiguous(state)
        found = result_type(self.primal, (start, types.int64, *self.argtypes[2:]))
        if _contiguous(found) != start:
            raise ArgumentError(
                f"{name} returns {describe(found)} for a state that is {describe(start)}; it must keep the type of the "
                "state (start with a float where it returns one)"
            )

    # ----- pieces of text ---------------------------------------------------------------------------
    def use(self, obj: Any, hint: str) -> str:
        return self.writer.use(obj, hint)

    def step(self, now: str, k: str) -> str:
        return f"{self.use(self.primal, self.primal.__name__)}({', '.join([now, k, *self.params])})"

    def leaves(self) -> Iterator[tuple[int, Node]]:
        return enumerate(self.structure.leaves())

    def at(self, leaf: Node, text: str) -> str:
        """The leaf of another value with the structure of the state."""
        return text + leaf.text[len(self.state) :]

    def fresh(self, leaf: Node, text: str) -> str:
        """A copy of a leaf in C order."""
        if not leaf.is_array:
            return text
        if leaf.type.layout == "C":
            return f"{text}.copy()"
        return f"{self.use(revolve.contiguous_copy, 'contiguous_copy')}({text})"

    def generated(self, prefix: str) -> Generated:
        name = f"{prefix}_{self.primal.__name__}"
        name = self.writer.fresh(name if name.isidentifier() else prefix)
        header = ", ".join([*self.leading, self.state, self.count, *self.params])
        top = Text(header=f"def {name}({header}):")
        top.items = self.text.items
        return Generated("\n".join(top.render()) + "\n", self.writer.namespace, name)


def _contiguous(ty: types.Type) -> types.Type:
    """The type with its arrays in C order, writable."""
    if isinstance(ty, types.Array):
        return types.Array(ty.dtype, ty.ndim, "C")
    if isinstance(ty, types.BaseNamedTuple):
        return types.NamedTuple([_contiguous(t) for t in ty], ty.instance_class)
    if isinstance(ty, types.BaseTuple):
        return types.BaseTuple.from_types([_contiguous(t) for t in ty])
    return types.unliteral(ty)


def repeated(primal: Any, argtypes: tuple[types.Type, ...]) -> Generated:
    """The loop. The result is a copy: the state after no step, or one that is a parameter, is not the caller's."""
    loop = _Loop(primal, argtypes)
    text, now, k = loop.text, loop.writer.fresh("now"), loop.writer.fresh("k")
    text.line(f"{now} = {rebuild(loop.structure, lambda leaf: loop.fresh(leaf, leaf.text), loop.use)}")
    text.suite(f"for {k} in range({loop.count}):").line(f"{now} = {loop.step(now, k)}")
    copied = rebuild(loop.structure, lambda leaf: loop.fresh(leaf, loop.at(leaf, now)), loop.use)
    text.line(f"return {copied}")
    return loop.generated("repeat")


def backwards(transform: Backwards, primal: Any, argtypes: tuple[types.Type, ...]) -> Generated:
    """The loop backwards, by the schedule."""
    return _Backwards(transform, primal, argtypes).generated("backwards")


class _Backwards(_Loop):
    def __init__(self, transform: Backwards, primal: Any, argtypes: tuple[types.Type, ...]):
        super().__init__(primal, argtypes, transform.leading)
        self.wrt = transform.wrt
        self.pulled = tuple(sorted({0, *self.wrt}))
        self._check_memory()
        self.kept = [self.writer.fresh(f"kept_{k}") for k, _ in self.leaves()]
        names = "held", "place", "top", "end", "now", "k", "stop", "parts", "bar"
        self.held, self.place, self.top, self.end, self.now, self.k, self.stop, self.parts, self.bar = (
            self.writer.fresh(name) for name in names
        )
        self._allocate(transform.snapshots)
        self._start_adjoints()
        self._sweep()
        found = [self._adjoint(k) for k in self.wrt]
        self.text.line(f"return {found[0] if len(found) == 1 else '(' + ', '.join(found) + ',)'}")

    def _check_memory(self) -> None:
        name, params = self.primal.__name__, list(utils.pysignature(self.primal.py_func).parameters)
        argtypes = (_contiguous(self.argtypes[0]), types.int64, *map(types.unliteral, self.argtypes[2:]))
        writes = written(self.primal, argtypes)
        for k in sorted(writes - {0}):
            raise UnsupportedError(
                f"repeat: {name} writes into its parameter {params[k]}, so that it cannot run again; make what it "
                "writes part of the state"
            )
        if writes:
            for k in shared_with_result(read(self.primal, argtypes)):
                if k:
                    raise UnsupportedError(
                        f"repeat: {name} writes into its state, which may be the memory of its parameter {params[k]}; "
                        f"return a copy of {params[k]}"
                    )

    def _allocate(self, snapshots: int | str) -> None:
        np_ = self.use(np, "np")
        counted = self.use(COUNTS[snapshots], f"{snapshots}_states") if isinstance(snapshots, str) else None
        wanted = str(snapshots) if counted is None else f"{counted}({self.count})"
        self.text.line(f"{self.held} = max(1, min({wanted}, {self.count}))")
        for k, leaf in self.leaves():
            dtype = self.use(as_dtype(leaf.scalar).type, str(leaf.scalar))
            shape = f"({self.held},) + {leaf.text}.shape" if leaf.is_array else self.held
            self.text.line(f"{self.kept[k]} = {np_}.empty({shape}, {dtype})")
        self.text.line(f"{self.place} = {np_}.zeros({self.held}, {np_}.int64)")
        self.text.line(f"{self.top} = 0")
        self._keep(self.text, self.state)

    def _keep(self, text: Text, value: str) -> None:
        for k, leaf in self.leaves():
            if leaf.is_array:
                text.line(f"{self.use(revolve.keep, 'keep')}({self.kept[k]}, {self.top}, {self.at(leaf, value)})")
            else:
                text.line(f"{self.kept[k]}[{self.top}] = {self.at(leaf, value)}")

    def _start_adjoints(self) -> None:
        """The adjoint of the state starts as the cotangent of the result, those of parameters as zeros."""
        (cotangent,) = self.leading

        def start(leaf: Node) -> str:
            if not leaf.differentiable:
                return "None"
            given = self.at(leaf, cotangent)
            if leaf.is_array:
                return f"{self.use(revolve.contiguous_copy, 'contiguous_copy')}({given})"
            return f"{self.use(as_dtype(leaf.type).type, str(leaf.type))}({given})"

        self.text.line(f"{self.bar} = {rebuild(self.structure, start, self.use)}")
        self.adjoints: dict[int, Node] = {}
        self.sums: dict[int, dict[int, str]] = {}
        for k in self.pulled[1:]:
            name = self.params[k - 2]
            node = self.adjoints[k] = tree(self.argtypes[k], name, f"parameter {name} of {self.primal.__name__}")
            self.sums[k] = {}
            for leaf in node.leaves():
                if leaf.differentiable:
                    sum_ = self.sums[k][id(leaf)] = self.writer.fresh(f"{name}_bar")
                    dtype = self.use(as_dtype(leaf.scalar).type, str(leaf.scalar))
                    zero = f"{self.use(np, 'np')}.zeros({leaf.text}.shape, {dtype})" if leaf.is_array else f"{dtype}(0)"
                    self.text.line(f"{sum_} = {zero}")

    def _adjoint(self, k: int) -> str:
        if k == 0:
            return self.bar
        return rebuild(self.adjoints[k], lambda leaf: self.sums[k].get(id(leaf), "None"), self.use)

    def _sweep(self) -> None:
        loop = self.text.suite(f"for {self.end} in range({self.count}, 0, -1):")
        kept = {id(leaf): f"{self.kept[k]}[{self.top}]" + ".copy()" * leaf.is_array for k, leaf in self.leaves()}
        loop.line(f"{self.now} = {rebuild(self.structure, lambda leaf: kept[id(leaf)], self.use)}")
        loop.line(f"{self.k} = {self.place}[{self.top}]")
        ahead = loop.suite(f"while {self.k} < {self.end} - 1:")
        split = self.use(revolve.split, "split")
        ahead.line(f"{self.stop} = {self.k} + {split}({self.end} - {self.k}, {self.held} - {self.top})")
        forth = ahead.suite(f"while {self.k} < {self.stop}:")
        forth.line(f"{self.now} = {self.step(self.now, self.k)}")
        forth.line(f"{self.k} += 1")
        held = ahead.suite(f"if {self.k} < {self.end} - 1:")
        held.line(f"{self.top} += 1")
        held.line(f"{self.place}[{self.top}] = {self.k}")
        self._keep(held, self.now)
        pull = self.use(derivative(self.primal, Reverse(VjpRequest(self.pulled, seed="argument"))), "vjp")
        arguments = ", ".join([self.bar, self.now, self.k, *self.params])
        loop.line(f"_, {self.parts} = {pull}({arguments})")
        loop.line(f"{self.bar} = {self.parts}[0]")
        for j, k in enumerate(self.pulled[1:], start=1):
            for leaf in self.adjoints[k].leaves():
                if leaf.differentiable:
                    path = leaf.text[len(self.params[k - 2]) :]
                    loop.line(f"{self.sums[k][id(leaf)]} += {self.parts}[{j}]{path}")
        loop.suite(f"if {self.place}[{self.top}] == {self.end} - 1:").line(f"{self.top} -= 1")
