"""The arguments of a call and the parameters of the primal that receive them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from numba.core import types

from jitgrad.backend.writer import Writer
from jitgrad.program import ir


@dataclass(frozen=True)
class Argument:
    """One position of the call: a parameter, or an item of the ``*args`` tuple.

    Attributes
    ----------
    value : Value
        The parameter.
    path : tuple of int
        Empty, or the position inside ``*args``.
    """

    value: ir.Value
    path: tuple[int, ...]
    label: str

    @property
    def type(self) -> types.Type:
        typ = self.value.type
        for k in self.path:
            typ = typ.types[k] if hasattr(typ, "types") else typ.dtype
        return typ


def arguments(program: ir.Program) -> list[Argument]:
    """One `Argument` per position of the call."""
    found: list[Argument] = []
    for param, spec in zip(program.params, program.signature.parameters.values(), strict=True):
        if spec.kind is inspect.Parameter.VAR_POSITIONAL:
            found += [Argument(param, (k,), f"{spec.name}[{k}]") for k in range(len(param.type))]
        else:
            found.append(Argument(param, (), spec.name))
    return found


def signature_text(writer: Writer, program: ir.Program, extra: list[str]) -> str:
    """The parameter list of a generated function: `extra` ones first, then the primal's own."""
    parts = list(extra)
    for param, spec in zip(program.params, program.signature.parameters.values(), strict=True):
        name = writer.name(param)
        if spec.kind is inspect.Parameter.VAR_POSITIONAL:
            parts.append("*" + name)
        elif spec.default is inspect.Parameter.empty:
            parts.append(name)
        else:
            parts.append(f"{name}={writer.literal(spec.default)}")
    return ", ".join(parts)
