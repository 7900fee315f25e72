"""The structure of tangents: zeros, copies, and the form in which they are passed in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba.core import types

from jitgrad.analysis import structure
from jitgrad.errors import UnsupportedError, where
from jitgrad.program import ir

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter


def zero(e: Emitter, value: ir.Value, ty: types.Type | None = None) -> str:
    """The text of a zero tangent for `value`; `ty` is the type of the variable that receives it.

    May write statements first (lists).
    """
    ty = structure.strip(value.type if ty is None else ty)
    if isinstance(structure.strip(value.type), types.NoneType):
        return "None" if structure.is_memory(ty) else e.algebra.zero(e, ty)
    return zero_like(e, e.name(value), ty)


def zero_like(e: Emitter, text: str, ty: types.Type) -> str:
    """A zero tangent for what the expression `text` of type `ty` holds."""
    ty = structure.strip(ty)
    match structure.kind(ty):
        case structure.SCALAR | None:
            return "None" if isinstance(ty, types.NoneType) else e.algebra.zero(e, ty)
        case structure.ARRAY:
            return e.algebra.zeros_like(e, text, ty)
        case structure.RECORD:
            return f"{e.use(np, 'np')}.zeros(1, {e.use(ty.dtype, 'record')})[0]"
        case structure.TUPLE:
            return build(e, ty, [zero_like(e, f"{text}[{k}]", item) for k, item in enumerate(ty.types)])
        case structure.LIST:
            return _list(e, text, ty, zero_like)
    raise UnsupportedError(
        f"{text} is a {ty}, whose derivative jitgrad does not follow {where(e.program.loc)}; keep the numbers to "
        "differentiate in arrays, tuples or lists"
    )


def copy_of(e: Emitter, text: str, ty: types.Type) -> str:
    """A copy of the tangent `text` of something of type `ty` that shares no memory with it."""
    ty = structure.strip(ty)
    match structure.kind(ty):
        case structure.ARRAY:
            return f"{text}.copy()"
        case structure.TUPLE:
            return build(e, ty, [passed(e, f"{text}[{k}]", item, True) for k, item in enumerate(ty.types)])
        case structure.LIST:
            return _list(e, text, ty, copy_of)
    return text


def passed(e: Emitter, text: str, ty: types.Type, copy: bool) -> str:
    """The tangent that the caller passes as `text`, with zeros where it may hold anything.

    With `copy`, memory is copied, so that the caller's tangent stays as it is.
    """
    ty = structure.strip(ty)
    kind = structure.kind(ty)
    if kind is None:
        return "None" if isinstance(ty, types.NoneType) else "0.0"
    if kind == structure.TUPLE and (e.algebra.converts or not _plain(ty)):
        return build(e, ty, [passed(e, f"{text}[{k}]", item, copy) for k, item in enumerate(ty.types)])
    if e.algebra.converts and kind in (structure.SCALAR, structure.ARRAY):
        text = e.algebra.enter(e, text, ty)
    return copy_of(e, text, ty) if copy else text


def returned(e: Emitter, text: str, ty: types.Type) -> str:
    """The tangent `text` as the caller gets it."""
    ty = structure.strip(ty)
    kind = structure.kind(ty)
    if not e.algebra.converts or kind is None:
        return text
    if kind == structure.TUPLE:
        return build(e, ty, [returned(e, f"{text}[{k}]", item) for k, item in enumerate(ty.types)])
    return e.algebra.leave(e, text, ty)


def build(e: Emitter, ty: types.BaseTuple, parts: list[str]) -> str:
    """The text of a tuple, or named tuple, of tangents."""
    if isinstance(ty, types.BaseNamedTuple):
        return f"{e.use(ty.instance_class, ty.instance_class.__name__)}({', '.join(parts)})"
    return "(" + "".join(part + ", " for part in parts).rstrip(" ") + ")"


def _plain(ty: types.BaseTuple) -> bool:
    """Whether a tangent of this type can be taken as it is passed."""
    return not isinstance(ty, types.BaseNamedTuple) and all(
        structure.kind(item) is not None and (structure.kind(item) != structure.TUPLE or _plain(structure.strip(item)))
        for item in ty.types
    )


def _list(e: Emitter, text: str, ty: types.Type, element) -> str:
    """Write a loop that makes a list of the same kind out of the elements of another."""
    new, k = e.writer.fresh("zeros"), e.writer.fresh("k")
    item = structure.strip(ty.dtype)
    same = structure.kind(item) != structure.TUPLE or _plain(item)
    if isinstance(ty, types.List):
        var = e.writer.fresh("v")
        part = element(e, var, item)
        return f"[{part} for {var} in {text}]"
    if not same:
        raise UnsupportedError(
            f"{text} is a typed list of tuples with integers {where(e.program.loc)}; jitgrad makes no tangents for it; "
            "keep integers and floats in two lists"
        )
    e.line(f"{new} = {text}.copy()")
    with e.writer.indented(f"for {k} in range(len({new})):"):
        e.line(f"{new}[{k}] = {element(e, f'{new}[{k}]', item)}")
    return new
