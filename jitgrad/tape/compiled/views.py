"""Views: values whose elements are elements of other values, found by their indices alone.

An `Access` says which element of its source stands at the indices of a loop. Transposes, slices, broadcasting and the
like are no code at all: they change how their source is accessed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from jitgrad.tape.compiled.tracing import Traced, Untraceable, static


@dataclass(frozen=True)
class Place:
    """Where along one axis of a source: at ``start + step * index[axis]``, or `start` without an axis."""

    axis: int | None
    start: int = 0
    step: int = 1

    def after(self, inner: Sequence[Place | Gather]) -> Place | Gather:
        """The place in terms of the indices that `inner` starts from."""
        if self.axis is None:
            return self
        place = inner[self.axis]
        if isinstance(place, Gather):
            if (self.start, self.step) != (0, 1):
                raise Untraceable("a slice of a gather")
            return place
        start = self.start + self.step * place.start
        return Place(place.axis, start, self.step * place.step if place.axis is not None else 1)


@dataclass(frozen=True)
class Gather:
    """Where along one axis of a source: at the number that `index` has there."""

    index: Access

    def after(self, inner: Sequence[Place | Gather]) -> Place | Gather:
        return Gather(self.index.through(inner))


@dataclass(frozen=True, eq=False)
class Access:
    """A value: the elements of `source` at `places`, one place for each of its axes."""

    source: Any
    places: tuple[Place | Gather, ...]

    def through(self, inner: Sequence[Place | Gather]) -> Access:
        """The value seen through a further view, which says for each axis of this value where it is."""
        return Access(self.source, tuple([p.after(inner) for p in self.places]))

    def is_whole(self, shape: tuple[int, ...]) -> bool:
        """Whether it is the source as it is."""
        return np.shape(source_value(self.source)) == shape and all(
            p == Place(k) or (isinstance(p, Place) and p.start == 0 and shape[k] == 1)
            for k, p in enumerate(self.places)
        )


def source_value(source: Any) -> Any:
    return source.value if isinstance(source, Traced) else source


def access(value: Any) -> Access:
    """How a traced value, an array or a number is found."""
    if isinstance(value, Traced):
        view = VIEWS.get(value.function)
        if view is not None:
            first, *rest = value.args
            if value.function is not operator.getitem:
                rest = map(static, rest)
            inner = view(first, *rest, **value.kwargs)
            if inner is not None:
                return access(value.args[0]).through(inner)
    return Access(value, tuple(map(Place, range(np.ndim(source_value(value))))))


def broadcast(shape: tuple[int, ...], into: tuple[int, ...]) -> list[Place]:
    """Where the axes of an array are in a broadcast one."""
    extra = len(into) - len(shape)
    return [Place(k + extra) if n == into[k + extra] else Place(None) for k, n in enumerate(shape)]


# ----- the functions --------------------------------------------------------------------------------
def _broadcast_to(x: Any, shape: Any, subok: bool = False) -> list[Place]:
    return broadcast(np.shape(source_value(x)), (shape,) if isinstance(shape, int) else tuple(shape))


def _transpose(x: Any, axes: Any = None) -> list[Place]:
    axes = range(x.ndim)[::-1] if axes is None else [int(k) % x.ndim for k in np.atleast_1d(axes)]
    where = {axis: k for k, axis in enumerate(axes)}
    return [Place(where[k]) for k in range(x.ndim)]


def _swapaxes(x: Any, axis1: int, axis2: int) -> list[Place]:
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return _transpose(x, axes)


def _moveaxis(x: Any, source: Any, destination: Any) -> list[Place]:
    source, destination = normalize_axis_tuple(source, x.ndim), normalize_axis_tuple(destination, x.ndim)
    order = [n for n in range(x.ndim) if n not in source]
    for to, from_ in sorted(zip(destination, source, strict=True)):
        order.insert(to, from_)
    return _transpose(x, order)


def reshaped(before: tuple[int, ...], after: tuple[int, ...]) -> list[Place] | None:
    """A reshape as a view, if it only adds or removes axes of length one."""
    long = [k for k, n in enumerate(after) if n != 1]
    if [n for n in before if n != 1] != [after[k] for k in long]:
        return None
    axes = iter(long)
    return [Place(None) if n == 1 else Place(next(axes)) for n in before]


def _reshape(x: Any, shape: Any = None, order: str = "C", **kwargs: Any) -> list[Place] | None:
    before = np.shape(source_value(x))
    return reshaped(before, np.empty(before, np.bool_).reshape(shape).shape)


def _squeeze(x: Any, axis: Any = None) -> list[Place] | None:
    gone = {k for k, n in enumerate(x.shape) if n == 1} if axis is None else set(normalize_axis_tuple(axis, x.ndim))
    return reshaped(x.shape, tuple(n for k, n in enumerate(x.shape) if k not in gone))


def _expand_dims(x: Any, axis: Any) -> list[Place] | None:
    return reshaped(x.shape, np.expand_dims(np.empty(x.shape, np.bool_), axis).shape)


def _flip(x: Any, axis: Any = None) -> list[Place]:
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    return [Place(k, n - 1, -1) if k in axes else Place(k) for k, n in enumerate(x.shape)]


def _same(x: Any, *args: Any, **kwargs: Any) -> list[Place]:
    if x.dtype.kind == "c":
        raise Untraceable("complex numbers")
    return [Place(k) for k in range(x.ndim)]


def indexed(shape: tuple[int, ...], index: Any) -> list[Place | Gather]:
    """Where the axes of an array of this shape are, in what an index takes from it."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if any(isinstance(p, (list, np.bool_, bool)) or _dtype(p) == np.bool_ for p in parts):
        raise Untraceable("a mask")
    spent = sum(p is not None and p is not Ellipsis for p in parts)
    whole = [slice(None)] * (len(shape) - spent)
    where = next((k for k, p in enumerate(parts) if p is Ellipsis), None)
    parts = [*parts, *whole] if where is None else [*parts[:where], *whole, *parts[where + 1 :]]
    arrays = [k for k, p in enumerate(parts) if _is_array(p)]
    if arrays and (arrays != list(range(arrays[0], arrays[-1] + 1))):
        raise Untraceable("arrays apart from each other in an index")
    if arrays and any(isinstance(p, (int, np.integer)) for p in parts):
        raise Untraceable("an integer beside an array in an index")
    joint = np.broadcast_shapes(*[parts[k].shape for k in arrays]) if arrays else ()
    places: list[Place | Gather] = []
    axis = 0
    sizes = iter(shape)
    for k, part in enumerate(parts):
        if part is None:
            axis += 1
            continue
        size = next(sizes)
        if isinstance(part, slice):
            start, _, step = part.indices(size)
            places.append(Place(axis, start, step))
            axis += 1
        elif _is_array(part):
            inner = broadcast(part.shape, joint)
            inner = [p if p.axis is None else Place(p.axis + axis) for p in inner]
            places.append(Gather(access(part).through(inner)))
            axis += len(joint) if k == arrays[-1] else 0
        elif isinstance(part, (int, np.integer)):
            places.append(Place(None, int(part) % size))
        else:
            raise Untraceable(f"an index with a {type(part).__name__}")
    return places


def _dtype(part: Any) -> Any:
    return getattr(part, "dtype", None)


def _is_array(part: Any) -> bool:
    return isinstance(part, (np.ndarray, Traced))


VIEWS: dict[Any, Callable[..., Sequence[Place | Gather] | None]] = {
    np.broadcast_to: _broadcast_to,
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.moveaxis: _moveaxis,
    np.reshape: _reshape,
    np.squeeze: _squeeze,
    np.expand_dims: _expand_dims,
    np.flip: _flip,
    np.real: _same,
    np.positive: _same,
    np.conjugate: _same,
    operator.getitem: lambda x, index: indexed(x.shape, index),
}
