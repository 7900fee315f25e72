"""``for`` loops over ranges, arrays, tuples, lists, ``zip`` and ``enumerate`` as counted loops."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
from numba.core import types
from numba.misc.special import prange

from jitgrad.frontend.reader import StatementReader, literal
from jitgrad.program import ir
from jitgrad.runtime.iteration import listed

RANGES = (range, prange, numba.prange)
INDEXABLE = (
    types.Buffer, types.UniTuple, types.NamedUniTuple, types.List, types.ListType, types.UnicodeType, types.RangeType,
)  # fmt: skip
KEYED = (
    types.DictType, types.DictKeysIterableType, types.DictValuesIterableType, types.DictItemsIterableType, types.Set,
)  # fmt: skip


@dataclass
class Iteration:
    """A counted iteration.

    Attributes
    ----------
    count : Value
        Number of items, computed before the loop.
    item : callable
        ``item(index, type) -> Value`` emits the load of one item.
    parallel : bool
        Whether the user wrote `prange`.
    """

    count: ir.Value
    item: Callable[[ir.Value, types.Type], ir.Value]
    parallel: bool = False


def iteration(reader: StatementReader, iterable: ir.Value) -> Iteration:
    """How to iterate over `iterable`; emits what must run before the loop."""
    made = reader.producers.get(iterable)
    if isinstance(made, ir.Call):
        if made.fn in RANGES:
            return _range(reader, made, iterable)
        if made.fn is enumerate:
            return _enumerate(reader, made)
        if made.fn is zip:
            return _zip(reader, made)
    if isinstance(iterable.type, INDEXABLE):
        count = reader.inliner.length(reader, iterable)
        return Iteration(count, lambda index, type_: reader.emit(ir.GetItem(reader.new(type_), iterable, (index,))))
    match iterable.type:
        case types.NumpyFlatType() if isinstance(made, ir.GetAttr):
            count, index_of = _every_index(reader, _lengths(reader, made.base))
            return Iteration(count, lambda index, type_: _element(reader, made.base, index_of(index), type_))
        case types.NumpyNdEnumerateType() if isinstance(made, ir.Call):
            return _ndenumerate(reader, made)
        case types.NumpyNdIndexType() if isinstance(made, ir.Call):
            return _ndindex(reader, made)
        case type_ if isinstance(type_, KEYED):
            return iteration(reader, _listed(reader, iterable))
    raise reader.unsupported(
        f"a loop over {iterable.type} is not supported", "loop over a range, an array, a tuple, a list or a dictionary"
    )


def _range(reader: StatementReader, made: ir.Call, iterable: ir.Value) -> Iteration:
    parallel = made.fn is not range
    if any(isinstance(bound.type, types.Float) for bound in made.args):
        raise reader.unsupported("a range of floats, which Numba truncates, is not supported", "write range(int(n))")
    start, stop, step = {
        1: lambda: (literal(0), made.args[0], literal(1)),
        2: lambda: (*made.args, literal(1)),
        3: lambda: tuple(made.args),
    }[len(made.args)]()
    starts_at_zero = isinstance(start, ir.Literal) and start.value == 0
    size = step.value if isinstance(step, ir.Literal) else None
    if isinstance(start.type, types.Integer) and not (start.type.signed and stop.type.signed):
        size = None  # unsigned bounds: Numba's own length is right where the difference would wrap around

    def difference(lhs: ir.Value, rhs: ir.Value) -> ir.Value:
        return reader.binary(operator.sub, lhs, rhs, types.intp)

    if size == 1:
        count = stop if starts_at_zero else difference(stop, start)
    elif size:
        span = stop if starts_at_zero else difference(stop, start)
        rounded = reader.binary(operator.add, span, literal(size - (1 if size > 0 else -1)), types.intp)
        count = reader.binary(operator.floordiv, rounded, literal(size), types.intp)
    else:
        made = made if made.fn is range else ir.Call(reader.new(iterable.type), range, made.args)
        if made.result is not iterable:
            reader.emit(made)
        count = reader.call(len, [made.result], types.intp)

    def item(index: ir.Value, type_: types.Type) -> ir.Value:
        offset = index if size == 1 else reader.binary(operator.mul, reader.cast(step, types.intp), index, types.intp)
        if not starts_at_zero:
            offset = reader.binary(operator.add, reader.cast(start, types.intp), offset, types.intp)
        return reader.cast(offset, type_)

    return Iteration(reader.cast(count, types.intp), item, parallel)


def _enumerate(reader: StatementReader, made: ir.Call) -> Iteration:
    inner = iteration(reader, made.args[0])
    start = made.args[1] if len(made.args) > 1 else made.kwargs.get("start")

    def item(index: ir.Value, type_: types.Type) -> ir.Value:
        number = index if start is None else reader.binary(operator.add, start, index, types.intp)
        items = [reader.cast(number, type_[0]), inner.item(index, type_[1])]
        return reader.emit(ir.BuildTuple(reader.new(type_), items))

    return Iteration(inner.count, item)


def _zip(reader: StatementReader, made: ir.Call) -> Iteration:
    inner = [iteration(reader, part) for part in made.args]
    count: Any = inner[0].count if inner else literal(0)
    if len(inner) > 1:
        count = reader.call(min, [part.count for part in inner], types.intp)

    def item(index: ir.Value, type_: types.Type) -> ir.Value:
        items = [part.item(index, part_type) for part, part_type in zip(inner, type_, strict=True)]
        return reader.emit(ir.BuildTuple(reader.new(type_), items))

    return Iteration(count, item)


def _ndenumerate(reader: StatementReader, made: ir.Call) -> Iteration:
    array = made.args[0]
    count, index_of = _every_index(reader, _lengths(reader, array))

    def item(index: ir.Value, type_: types.Type) -> ir.Value:
        position = index_of(index)
        number = reader.emit(ir.BuildTuple(reader.new(type_[0]), position))
        return reader.emit(ir.BuildTuple(reader.new(type_), [number, _element(reader, array, position, type_[1])]))

    return Iteration(count, item)


def _ndindex(reader: StatementReader, made: ir.Call) -> Iteration:
    lengths = made.args
    if len(lengths) == 1 and isinstance(lengths[0].type, types.BaseTuple):
        lengths = reader.tuple_items(lengths[0])
    count, index_of = _every_index(reader, lengths)
    return Iteration(count, lambda index, type_: reader.emit(ir.BuildTuple(reader.new(type_), index_of(index))))


def _lengths(reader: StatementReader, array: ir.Value) -> list[ir.Value]:
    shape_type = types.UniTuple(types.intp, array.type.ndim)
    shape = reader.emit(ir.GetAttr(reader.new(shape_type), array, "shape"))
    return reader.tuple_items(shape)


def position(reader: StatementReader, array: ir.Value, number: ir.Value) -> list[ir.Value]:
    """The index of an element of an array from its number, in C order."""
    return _every_index(reader, _lengths(reader, array))[1](number)


def _element(reader: StatementReader, array: ir.Value, position: list[ir.Value], type_: types.Type) -> ir.Value:
    return reader.emit(ir.GetItem(reader.new(type_), array, tuple(position)))


def _every_index(
    reader: StatementReader, lengths: list[ir.Value]
) -> tuple[ir.Value, Callable[[ir.Value], list[ir.Value]]]:
    """The number of elements of an array, and its index from an element's number, in C order."""
    count: ir.Value = literal(1)
    for length in lengths:
        count = reader.binary(operator.mul, count, length, types.intp)

    def index_of(number: ir.Value) -> list[ir.Value]:
        position = []
        for length in reversed(lengths):
            position.append(reader.binary(operator.mod, number, length, types.intp))
            number = reader.binary(operator.floordiv, number, length, types.intp)
        return position[::-1]

    return count, index_of


def _listed(reader: StatementReader, iterable: ir.Value) -> ir.Value:
    """A list of the items of an iterable that has no positions."""
    item = iterable.type.iterator_type.yield_type
    return reader.call(listed, [iterable], types.List(item))
