"""The transforms of this room; their generator is imported when code is generated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jitgrad.backend.dispatcher import Transform


@dataclass(frozen=True)
class Jacobian(Transform):
    """The Jacobian by columns ("forward") or by rows ("reverse")."""

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None
    mode: str
    single: bool

    prefix: ClassVar[str] = "jacobian"

    def floats(self):
        return self.wrt

    def generate(self, primal, argtypes):
        from jitgrad.api.drivers import generate

        return generate(self, primal, argtypes)


@dataclass(frozen=True)
class AutoJacobian(Transform):
    """Chooses between the two by the sizes at the call: columns where the result is at least as large."""

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None
    single: bool

    prefix: ClassVar[str] = "jacobian"

    def floats(self):
        return self.wrt

    def generate(self, primal, argtypes):
        from jitgrad.api.drivers import generate

        return generate(self, primal, argtypes)
