"""Transforms with hand-written source, so that these tests need no front end and no engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numba.core import types, utils

from jitgrad.backend.dispatcher import Transform
from jitgrad.errors import ArgumentError
from jitgrad.transforms.request import Generated


def _names(primal):
    params = utils.pysignature(primal.py_func).parameters.values()
    return ", ".join(("*" if p.kind == p.VAR_POSITIONAL else "") + p.name for p in params)


@dataclass(frozen=True)
class Scaled(Transform):
    """``factor * primal(...)``; refuses integers in the first argument."""

    factor: float = 2.0
    prefix: ClassVar[str] = "scaled"

    def floats(self):
        return (0,)

    def generate(self, primal, argtypes):
        if argtypes and isinstance(argtypes[0], types.Integer):
            raise ArgumentError("argument 0 is an integer; pass a float")
        names = _names(primal)
        return Generated(
            f"def scaled_f({names}):\n    return {self.factor} * primal({names})\n", {"primal": primal}, "scaled_f"
        )


@dataclass(frozen=True)
class Shifted(Transform):
    """``primal(...) + shift``, with a parameter before the primal's."""

    prefix: ClassVar[str] = "shifted"
    leading: ClassVar[tuple[str, ...]] = ("shift",)

    def generate(self, primal, argtypes):
        names = _names(primal)
        return Generated(
            f"def shifted_f(shift_, {names}):\n    return primal({names}) + shift_\n", {"primal": primal}, "shifted_f"
        )


@dataclass(frozen=True)
class Factorial(Transform):
    """A body that calls the derivative itself."""

    prefix: ClassVar[str] = "factorial"

    def generate(self, primal, argtypes):
        from jitgrad.backend import derivative

        source = "def fact(n):\n    if n <= 1:\n        return 1\n    return n * again(n - 1)\n"
        return Generated(source, {"again": derivative(primal, self)}, "fact")


@dataclass(frozen=True)
class Failing(Transform):
    """Raises at run time, from generated code."""

    prefix: ClassVar[str] = "failing"

    def generate(self, primal, argtypes):
        return Generated("def failing_f(x):\n    raise ValueError('from generated code')\n", {}, "failing_f")
