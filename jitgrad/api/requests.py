"""The transforms of this room; their generator is imported when code is generated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from jitgrad.backend.dispatcher import Transform
from jitgrad.backend.into import CopyInto, Written, copying


@dataclass(frozen=True)
class _Driven(Transform):
    """A transform whose code `api.drivers` generates."""

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None

    def floats(self):
        return self.wrt

    def generate(self, primal, argtypes):
        from jitgrad.api.drivers import generate

        return generate(self, primal, argtypes)


class _Blocks(_Driven):
    """A transform whose result is made of blocks, which the caller may pass."""

    parallel: bool

    def into(self):
        return CopyInto(self) if self.parallel else BlocksInto(self)


@dataclass(frozen=True)
class BlocksInto(Written):
    """``jacobian_into_f(out, *args)``: the blocks of a Jacobian filled where the caller has them."""

    inner: _Blocks

    prefix: ClassVar[str] = "jacobian_into"
    leading: ClassVar[tuple[str, ...]] = ("out",)

    def floats(self):
        return self.inner.wrt

    def generate(self, primal, argtypes):
        from jitgrad.api.driver import has_lists
        from jitgrad.api.drivers import generate

        if has_lists(primal, argtypes, self.inner):
            return copying(self, primal, self.inner)
        return generate(self.inner, primal, argtypes, "out")


@dataclass(frozen=True)
class Jacobian(_Blocks):
    """The Jacobian by columns ("forward") or by rows ("reverse").

    Attributes
    ----------
    mode : {"forward", "reverse"}
    single : bool
        The structure of one argument, not a tuple of them.
    chunk : int or None
        How many columns a sweep computes; None: as suits the function.
    parallel : bool
        The sweeps in parallel threads.
    """

    mode: str
    single: bool
    chunk: int | None = 1
    parallel: bool = False

    prefix: ClassVar[str] = "jacobian"

    def readable(self):
        return replace(self, chunk=1, parallel=False)


@dataclass(frozen=True)
class AutoJacobian(_Blocks):
    """Chooses between the two by the sizes at the call: columns where the result is at least as large.

    With `tell`, the derivative returns the mode it would choose.
    """

    single: bool
    chunk: int | None = 1
    parallel: bool = False
    tell: bool = False

    prefix: ClassVar[str] = "jacobian"

    def readable(self):
        return replace(self, chunk=1, parallel=False)

    def telling(self):
        return replace(self, tell=True)


@dataclass(frozen=True)
class Sweeps(_Driven):
    """Some sweeps of a Jacobian: ``sweeps_f((first, blocks), *args) -> failed`` fills columns, or rows, of the blocks.

    Attributes
    ----------
    mode, chunk
        As in `Jacobian`, the chunk chosen.
    """

    mode: str
    chunk: int

    prefix: ClassVar[str] = "sweeps"
    leading: ClassVar[tuple[str, ...]] = ("place",)


@dataclass(frozen=True)
class Directions(_Driven):
    """``jvp_f(tangents, *args) -> (out, out_tangents)`` with a last axis of directions, of any length."""

    chunk: int | None

    prefix: ClassVar[str] = "jvp"
    leading: ClassVar[tuple[str, ...]] = ("tangents",)

    def readable(self):
        return replace(self, chunk=1)
