"""What is computed in which loop.

Elementwise operations over equal shapes share a loop, and what a loop computes it may add up or store; a product of
matrices is a statement of its own. Operations go into the first loop that comes after all they need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from jitgrad.tape.compiled import scalars
from jitgrad.tape.compiled.tracing import Trace, Traced, Untraceable, static
from jitgrad.tape.compiled.views import Access, Gather, Place, access, broadcast, indexed, source_value
from jitgrad.tape.functions.cumulative import RECURRENCE
from jitgrad.tape.functions.rearranging import SCATTER

Shape = tuple[int, ...]
EINSUM = 10**6
"""Larger ones stay with NumPy: a loop over all indices is no way to do them."""
LONG = 512
"""Sums of more terms than this are added up in double precision: one after the other, they would lose digits."""
VECTORS = 64
"""Elementary functions of so many elements are computed by kernels that vectorise."""
FILLS = {np.zeros_like: 0.0, np.ones_like: 1.0}


@dataclass(frozen=True)
class Number:
    """An operand that is a number of the program, of this dtype."""

    value: Any
    dtype: np.dtype


@dataclass(eq=False)
class Item:
    """One statement in a loop.

    Attributes
    ----------
    target : Traced
        What it computes, or what it stores into.
    operands : list of Access or Number
        Their places count the axes of the loop, which are the axes of `shape` longer than one.
    dtypes : list of dtype
        What the operands are converted to.
    write : callable
        From the texts of the operands to that of the value.
    places : tuple of Place or Gather, optional
        Where in `target` the value is stored; None: the value is `target` at the indices of the loop.
    mode : str
        How it is stored: ``"="``, ``"+="``, ``"*="``, ``"max"`` or ``"min"``.
    """

    target: Traced
    operands: list[Access | Number]
    dtypes: list[np.dtype]
    write: Callable[..., str]
    places: tuple[Place | Gather, ...] | None = None
    mode: str = "="


@dataclass(eq=False)
class Loop:
    """Items over the same axes."""

    shape: Shape
    items: list[Item] = field(default_factory=list)


@dataclass(eq=False)
class Solid:
    """A statement on whole arrays: ``target = text.format(*arrays)``; an array may be transposed."""

    target: Traced
    arrays: list[tuple[Traced, bool]]
    text: str


def squeezed(shape: Shape) -> Shape:
    """The axes that are loops."""
    return tuple([n for n in shape if n != 1])


def in_loop(places: Sequence[Place | Gather], shape: Shape) -> tuple[Place | Gather, ...]:
    """Places in terms of the axes of `shape` that are longer than one."""
    ranks = iter(range(len(shape)))
    return tuple(
        Access(None, tuple(places)).through([Place(None) if n == 1 else Place(next(ranks)) for n in shape]).places
    )


def is_local(places: Sequence[Place | Gather], source: Any) -> bool:
    """Whether these places are those at which a loop over the shape of `source` computes it."""
    long = [p for p, n in zip(places, np.shape(source_value(source)), strict=True) if n != 1]
    return all(p == Place(k) for k, p in enumerate(long))


class Schedule:
    """The steps of a backward program.

    Attributes
    ----------
    steps : list of Loop or Solid
    stored : set of Traced
        Values computed in loops that are needed as arrays.
    starts : dict of Traced to int
        The step before which a value that is stored into is to be made.
    modes : dict of Traced to str
        How such a value is stored into.
    wide : set of Traced
        Sums of single precision that are added up in double precision.
    results : list
        For each result None, a constant array, or the traced value that is it.
    """

    def __init__(self, trace: Trace):
        self.trace = trace
        self.steps: list[Loop | Solid] = []
        self.stored: set[Traced] = set()
        self.starts: dict[Traced, int] = {}
        self.modes: dict[Traced, str] = {}
        self.wide: set[Traced] = set()
        self._position: dict[Traced, int] = {}
        self._ready: dict[Traced, int] = {}  # position after which a value that no loop computes is there
        live = _live(trace)
        for value in trace.steps:
            if value in live:
                self._enter(value)
        self.results = [self._result(r) for r in trace.results]

    # ----- where ------------------------------------------------------------------------------------
    def _earliest(self, operand: Access | Number, shape: Shape) -> int:
        """The first step that may use an operand."""
        if isinstance(operand, Number):
            return 0
        earliest = 0
        for place in operand.places:
            if isinstance(place, Gather):
                earliest = max(earliest, self._earliest(place.index, (-1,)))
        source = operand.source
        if source in self._ready:
            return max(earliest, self._ready[source] + 1)
        if source in self._position:
            step = self._position[source]
            same = squeezed(source.value.shape) == shape and is_local(operand.places, source)
            return max(earliest, step if same else step + 1)
        return earliest

    def _put(self, item: Item, shape: Shape) -> int:
        """Put an item into a loop over `shape`; returns its step."""
        earliest = max((self._earliest(o, shape) for o in item.operands), default=0)
        for place in item.places or ():
            if isinstance(place, Gather):
                earliest = max(earliest, self._earliest(place.index, (-1,)))
        for step in range(earliest, len(self.steps)):
            loop = self.steps[step]
            if isinstance(loop, Loop) and loop.shape == shape:
                break
        else:
            step, loop = len(self.steps), Loop(shape)
            self.steps.append(loop)
        assert isinstance(loop, Loop)
        loop.items.append(item)
        for operand in item.operands:
            self._use(operand, step, shape)
        for place in item.places or ():
            if isinstance(place, Gather):
                self._use(place.index, -1, (-1,))
        return step

    def _use(self, operand: Access | Number, step: int, shape: Shape) -> None:
        """Mark what has to be stored for a use in `step`."""
        if isinstance(operand, Number):
            return
        for place in operand.places:
            if isinstance(place, Gather):
                self._use(place.index, -1, (-1,))
        source = operand.source
        if source in self._position and squeezed(source.value.shape):
            if self._position[source] != step or not is_local(operand.places, source):
                self.stored.add(source)

    def sources(self) -> Iterator[Traced]:
        """What the steps use."""
        waiting: list[Any] = []
        for step in self.steps:
            if isinstance(step, Solid):
                yield from (source for source, _ in step.arrays)
            else:
                waiting += [o for item in step.items for o in item.operands if isinstance(o, Access)]
                waiting += [p.index for item in step.items for p in item.places or () if isinstance(p, Gather)]
        for found in waiting:
            yield found.source
            waiting += [p.index for p in found.places if isinstance(p, Gather)]

    # ----- what -------------------------------------------------------------------------------------
    def operand(self, value: Any, shape: Shape) -> Access | Number:
        """An operand that is broadcast to `shape`, for a loop over it."""
        if isinstance(value, Traced) and value.function in FILLS:
            return Number(FILLS[value.function], value.value.dtype)
        if isinstance(value, (int, float)):
            return Number(value, np.dtype(type(value)))
        if isinstance(value, np.generic):
            return Number(value, value.dtype)
        if not isinstance(value, Traced):
            raise Untraceable(f"an operand that is a {type(value).__name__}")
        own = np.shape(source_value(value))
        found = access(value).through(broadcast(own, shape))
        return Access(found.source, in_loop(found.places, shape))

    def _compute(self, target: Traced, args: Sequence[Any], dtypes: list[np.dtype], write: Callable[..., str]) -> None:
        shape = target.value.shape
        item = Item(target, [self.operand(a, shape) for a in args], dtypes, write)
        self._position[target] = self._put(item, squeezed(shape))

    def _store(self, target: Traced, value: Any, places: Sequence[Place | Gather], mode: str) -> None:
        """Store `value` at `places` of `target`, which count the axes of `value`."""
        shape = np.shape(source_value(value))
        item = Item(target, [self.operand(value, shape)], [target.value.dtype], str, in_loop(places, shape), mode)
        step = self._put(item, squeezed(shape))
        self.modes[target] = mode
        self.starts[target] = min(step, self.starts.get(target, step))
        self._ready[target] = max(step, self._ready.get(target, step))

    def array(self, value: Any, transposed: bool = True) -> tuple[Traced, bool]:
        """`value` as an array, and whether that is its transpose."""
        found = access(value)
        shape = source_value(value).shape
        whole = not (isinstance(value, Traced) and value.function in FILLS)
        if whole and found.is_whole(shape):
            return self._kept(found.source), False
        if whole and transposed and found.places == (Place(1), Place(0)) and found.source.value.shape == shape[::-1]:
            return self._kept(found.source), True
        copied = Traced(self.trace, "copy", (value,), {}, np.ascontiguousarray(value.value))
        self._compute(copied, [value], [value.value.dtype], str)
        return self._kept(copied), False

    def _kept(self, source: Any) -> Any:
        if source in self._position:
            self.stored.add(source)
        return source

    def _solid(self, target: Traced, arrays: Sequence[Any], text: str, transposed: bool = True) -> None:
        found = [self.array(a, transposed) for a in arrays]
        self._ready[target] = len(self.steps)
        self.steps.append(Solid(target, found, text))

    def _result(self, value: Any) -> Any:
        if not isinstance(value, Traced) or value.function is None:
            return value
        if squeezed(value.value.shape) or value.value.ndim:
            return self.array(value, transposed=False)[0]
        found = access(value)
        if found.source is value and value.function not in FILLS:
            return value
        copied = Traced(self.trace, "copy", (value,), {}, value.value)
        self._compute(copied, [value], [value.value.dtype], str)
        return copied

    # ----- operations -------------------------------------------------------------------------------
    def _enter(self, value: Traced) -> None:
        function, args, kwargs = value.function, value.args, value.kwargs
        if value.value.dtype.kind not in "fiub" or value.value.dtype.itemsize == 2:
            raise Untraceable(f"values of dtype {value.value.dtype}")
        if not value.value.size:
            raise Untraceable("empty arrays")
        if function in FILLS or access(value).source is not value:
            return
        if isinstance(function, np.ufunc) and function is not np.matmul:
            self._ufunc(value, function, args, kwargs)
        elif isinstance(function, Dispatcher):
            self._kernel(value, function, args)
        else:
            enter = _OPERATIONS.get(function)
            if enter is None:
                raise Untraceable(f"{getattr(function, '__name__', None) or getattr(function, 'name', function)}")
            enter(self, value, *args, **kwargs)

    def _ufunc(self, value: Traced, ufunc: np.ufunc, args: Sequence[Any], kwargs: Any) -> None:
        if kwargs or ufunc.nout != 1:
            raise Untraceable(f"np.{ufunc.__name__} with keywords or several results")
        plain = [source_value(a) for a in args]
        *dtypes, out = scalars.loop_dtypes(ufunc, plain)
        if out.kind in "iu" and out != np.int64:
            raise Untraceable("arithmetic of integers that are not int64")  # in Numba it does not wrap around
        exponent = args[-1] if isinstance(args[-1], (int, float)) else None
        many = value.value.size >= VECTORS

        def write(*operands: str) -> str:
            return scalars.cast(f"({scalars.expression(ufunc, operands, exponent, many)})", out, value.value.dtype)

        write(*"xyz"[: len(args)])
        self._compute(value, args, dtypes, write)

    def _kernel(self, value: Traced, kernel: Dispatcher, args: Sequence[Any]) -> None:
        dtype = value.value.dtype
        plain = [source_value(a) for a in args]
        joint = np.result_type(*plain)  # of Python's numbers too, which take the precision of the others
        dtypes = [joint if type(x) in (int, float) else np.result_type(x) for x in plain]
        self._compute(value, args, dtypes, lambda *x: f"np.{dtype.name}({kernel.py_func.__name__}({', '.join(x)}))")

    def cast(self, value: Traced, x: Any, dtype: Any) -> None:
        self._compute(value, [x], [value.value.dtype], str)

    def where(self, value: Traced, condition: Any, x: Any, y: Any) -> None:
        dtype = value.value.dtype
        if isinstance(condition, (bool, np.bool_)):
            self._compute(value, [x if condition else y], [dtype], str)
            return
        self._compute(value, [condition, x, y], [np.dtype(bool), dtype, dtype], "({1} if {0} else {2})".format)

    def sum(
        self, value: Traced, x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
    ) -> None:
        self._reduce("+=", value, x, axis, dtype, out, keepdims)

    def prod(
        self, value: Traced, x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
    ) -> None:
        self._reduce("*=", value, x, axis, dtype, out, keepdims)

    def max(self, value: Traced, x: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> None:
        self._reduce("max", value, x, axis, None, out, keepdims)

    def min(self, value: Traced, x: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> None:
        self._reduce("min", value, x, axis, None, out, keepdims)

    def _reduce(self, mode: str, value: Traced, x: Any, axis: Any, dtype: Any, out: Any, keepdims: Any) -> None:
        if out is not None or (mode in ("max", "min") and value.value.dtype.kind != "f"):
            raise Untraceable("a reduction with out=, or of integers")
        axes = range(x.ndim) if axis is None else [int(a) % x.ndim for a in np.atleast_1d(static(axis))]
        kept = [Place(None) if k in axes else Place(k) for k in range(x.ndim) if keepdims or k not in axes]
        self._store(value, x, kept, mode)
        if mode == "+=":
            self._widen(value, x.size)

    def _widen(self, value: Traced, terms: int) -> None:
        """Note how a sum of so many terms for all its elements is to be added up."""
        if value.value.dtype == np.float32 and (not squeezed(value.value.shape) or terms > LONG * value.value.size):
            self.wide.add(value)

    def einsum(self, value: Traced, subscripts: Any, *operands: Any, optimize: Any = False) -> None:
        given, arrow, result = str(subscripts).replace(" ", "").partition("->")
        if not arrow or "." in subscripts:
            raise Untraceable("np.einsum without -> or with ...")
        terms = given.split(",")
        shapes = [source_value(o).shape for o in operands]
        sizes: dict[str, int] = {}
        for term, dims in zip(terms, shapes, strict=True):
            for label, n in zip(term, dims, strict=True):
                sizes[label] = n if sizes.get(label, 1) == 1 else sizes[label]
        shape, rank = tuple(sizes.values()), {label: k for k, label in enumerate(sizes)}
        if np.prod(shape, dtype=float) > EINSUM:
            raise Untraceable("a large np.einsum")
        found: list[Access | Number] = []
        for term, operand, dims in zip(terms, operands, shapes, strict=True):
            # An axis of length 1 broadcasts.
            seen = access(operand).through(
                [Place(None) if n == 1 else Place(rank[label]) for label, n in zip(term, dims, strict=True)]
            )
            found.append(Access(seen.source, in_loop(seen.places, shape)))
        places = in_loop([Place(rank[label]) for label in result], shape)
        item = Item(value, found, [value.value.dtype] * len(found), lambda *x: " * ".join(x), places, "+=")
        step = self._put(item, squeezed(shape))
        self.starts[value] = self._ready[value] = step
        self.modes[value] = "+="
        self._widen(value, math.prod(shape))

    def scatter(self, value: Traced, ct: Any, shape: Shape, index: Any) -> None:
        self._store(value, ct, indexed(tuple(static(shape)), index), "+=")
        self._widen(value, np.size(source_value(ct)))

    def concatenate(self, value: Traced, arrays: Sequence[Any], axis: Any = 0) -> None:
        if axis is None:
            raise Untraceable("np.concatenate without an axis")
        axis, start = axis % value.value.ndim, 0
        for part in arrays:
            size = source_value(part).shape[axis]
            self._store(value, part, [Place(k, start if k == axis else 0) for k in range(value.value.ndim)], "=")
            start += size

    def stack(self, value: Traced, arrays: Sequence[Any], axis: int = 0) -> None:
        axis %= value.value.ndim
        for number, part in enumerate(arrays):
            self._store(value, part, [
                Place(None, number) if k == axis else Place(k - (k > axis)) for k in range(value.value.ndim)
            ], "=")  # fmt: skip

    def matmul(self, value: Traced, a: Any, b: Any) -> None:
        first, second = source_value(a), source_value(b)
        if first.dtype != second.dtype or first.dtype.kind != "f":
            raise Untraceable("a product of matrices of different dtypes")
        if max(first.ndim, second.ndim) <= 2:
            self._solid(value, [a, b], "np.dot({0}, {1})")
        elif first.ndim == second.ndim and first.shape[:-2] == second.shape[:-2]:
            self._solid(value, [a, b], "stacked_product({0}, {1})", transposed=False)
        else:
            raise Untraceable("a product of stacks of matrices that are broadcast")

    def reshape(self, value: Traced, x: Any, shape: Any = None, order: str = "C") -> None:
        if order != "C":
            raise Untraceable("a reshape in Fortran's order")
        self._solid(value, [x], "{0}.reshape({dims})", transposed=False)

    def cumsum(self, value: Traced, x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> None:
        self._run("running_sum", value, x, axis, out)

    def cumprod(self, value: Traced, x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> None:
        self._run("running_product", value, x, axis, out)

    def _run(self, function: str, value: Traced, x: Any, axis: Any, out: Any) -> None:
        if out is not None or x.dtype != value.value.dtype or (axis is None and x.ndim != 1):
            raise Untraceable("a cumulative function with out=, dtype= or without an axis")
        axis = 0 if axis is None else static(axis) % x.ndim
        self._solid(value, [x], f"{function}({{0}}, {axis})", transposed=False)

    def recurrence(self, value: Traced, c: Any, x: Any) -> None:
        if not c.shape == x.shape == value.value.shape or not c.dtype == x.dtype == value.value.dtype:
            raise Untraceable("a recurrence of different shapes or dtypes")
        self._solid(value, [c, x], "recurrence({0}, {1})", transposed=False)


_OPERATIONS: dict[Any, Callable[..., None]] = {
    "astype": Schedule.cast, np.where: Schedule.where, np.sum: Schedule.sum, np.prod: Schedule.prod,
    np.max: Schedule.max, np.min: Schedule.min, np.einsum: Schedule.einsum, SCATTER: Schedule.scatter,
    np.concatenate: Schedule.concatenate, np.stack: Schedule.stack, np.matmul: Schedule.matmul, np.dot: Schedule.matmul,
    np.reshape: Schedule.reshape, np.cumsum: Schedule.cumsum, np.cumprod: Schedule.cumprod,
    RECURRENCE: Schedule.recurrence,
}  # fmt: skip


def _live(trace: Trace) -> set[Traced]:
    """The values that results depend on."""
    live: set[Traced] = set()
    waiting: list[Any] = list(trace.results)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Traced):
            if value not in live:
                live.add(value)
                waiting += [*value.args, *value.kwargs.values()]
        elif type(value) in (tuple, list):
            waiting += value
    return live
