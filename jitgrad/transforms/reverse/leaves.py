"""Leaves: the scalars and arrays that values are made of, and where each of them really lives.

A tuple has no adjoint of its own: its leaves have. A leaf that is only another name for something
(an item taken from a tuple, a tuple built from items, a copied reference) is resolved to its origin, so
that all names of one thing share one adjoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from numba.core import types

from jitgrad.analysis import effects
from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir


@dataclass(frozen=True)
class Leaf:
    """The part of `value` found by following `path` through nested tuples."""

    value: ir.Value
    path: tuple[int, ...] = ()

    @property
    def type(self) -> types.Type:
        found = self.value.type
        for k in self.path:
            found = found.types[k] if hasattr(found, "types") else found.dtype
        return found

    @property
    def name(self) -> str:
        return "_".join([self.value.name, *map(str, self.path)])


def is_array(typ: types.Type) -> bool:
    return isinstance(typ, types.Array)


def is_differentiable(typ: types.Type) -> bool:
    """Whether a leaf of this type can carry a derivative."""
    if isinstance(typ, types.Optional):
        return is_differentiable(typ.type)
    if isinstance(typ, types.Array):
        return isinstance(typ.dtype, (types.Float, types.Complex))
    if isinstance(typ, (types.List, types.ListType)):
        return is_differentiable(typ.dtype)
    return isinstance(typ, (types.Float, types.Complex))


def leaves(value: ir.Value) -> list[Leaf]:
    """All leaves of `value`, in order."""
    out: list[Leaf] = []

    def visit(typ: types.Type, path: tuple[int, ...]) -> None:
        if isinstance(typ, types.BaseTuple):
            for k in range(len(typ)):
                visit(typ.types[k] if hasattr(typ, "types") else typ.dtype, (*path, k))
        else:
            out.append(Leaf(value, path))

    visit(value.type, ())
    return out


def static_position(index: tuple[ir.IndexItem, ...], size: int) -> int | None:
    """The non-negative position that a one-item constant index selects, or None."""
    if len(index) == 1 and isinstance(index[0], ir.Literal) and isinstance(index[0].value, int):
        return index[0].value % size if -size <= index[0].value < size else None
    return None


def origin(leaf: Leaf, scopes: Scopes) -> Leaf:
    """Follow renamings of a leaf back to the value that owns it."""
    while True:
        op = scopes.definition.get(leaf.value)
        match op:
            case ir.BuildTuple() if leaf.path:
                leaf = Leaf(op.items[leaf.path[0]], leaf.path[1:])
            case ir.GetItem(base=base) if isinstance(base.type, types.BaseTuple):
                k = static_position(op.index, len(base.type))
                if k is None:
                    return leaf
                leaf = Leaf(base, (k, *leaf.path))
            case ir.GetAttr(base=base) if isinstance(base.type, types.BaseNamedTuple):
                leaf = Leaf(base, (base.type.fields.index(op.attr), *leaf.path))
            case ir.Call() if effects.is_namedtuple(op.fn) and leaf.path:
                fields = op.result.type.fields
                bound = dict(zip(fields, op.args, strict=False)) | op.kwargs
                leaf = Leaf(bound[fields[leaf.path[0]]], leaf.path[1:])
            case ir.Cast(operand=operand) if not isinstance(leaf.value.type, types.Number):
                leaf = Leaf(operand, leaf.path)
            case ir.Cast(operand=operand) if operand.type == leaf.value.type:
                leaf = Leaf(operand, leaf.path)
            case ir.InplaceBinary(lhs=lhs) if is_array(lhs.type):
                leaf = Leaf(lhs, leaf.path)
            case _:
                return leaf
