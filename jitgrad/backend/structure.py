"""Argument types by position of the call, and which of them have a derivative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numba.core import types


def positions(signature: Any, argtypes: tuple[types.Type, ...]) -> list[tuple[str, types.Type]]:
    """Name and type of each argument of the call, counted through ``*args``."""
    found = []
    for (name, param), ty in zip(signature.parameters.items(), argtypes, strict=True):
        if param.kind == param.VAR_POSITIONAL:
            found += [(f"{name}[{k}]", item) for k, item in enumerate(ty)]
        else:
            found.append((name, ty))
    return found


def leaves(ty: types.Type) -> Iterator[types.Type]:
    """The types of the numbers and arrays inside a structure: tuples, lists, records, optionals."""
    match ty:
        case types.BaseTuple():
            for item in ty:
                yield from leaves(item)
        case types.ListType() | types.List():
            yield from leaves(ty.dtype)
        case types.Optional():
            yield from leaves(ty.type)
        case types.Record():
            for name in ty.fields:
                yield from leaves(ty.typeof(name))
        case types.Array(dtype=types.Record()):
            yield from leaves(ty.dtype)
        case types.NestedArray():
            yield from leaves(ty.dtype)
        case _:
            yield ty


def is_float(ty: types.Type) -> bool:
    """Whether a leaf is a float or complex scalar, or an array of them."""
    scalar = ty.dtype if isinstance(ty, types.Array) else ty
    return isinstance(scalar, (types.Float, types.Complex))


def is_complex(ty: types.Type) -> bool:
    scalar = ty.dtype if isinstance(ty, types.Array) else ty
    return isinstance(scalar, types.Complex)


def has_float(ty: types.Type) -> bool:
    """Whether a structure has a leaf with a derivative."""
    return any(is_float(leaf) for leaf in leaves(ty))


def describe(ty: types.Type) -> str:
    """A type in words: ``an integer (int64)``, ``an integer array (array(int64, 1d, C))``."""
    match ty:
        case types.Boolean():
            words = "a boolean"
        case types.Integer():
            words = "an integer"
        case types.Array(dtype=types.Integer()):
            words = "an integer array"
        case types.Array(dtype=types.Boolean()):
            words = "a boolean array"
        case types.Array():
            words = "an array"
        case types.BaseTuple():
            words = "a tuple"
        case types.UnicodeType():
            words = "a string"
        case types.NoneType():
            return "None"
        case types.Callable():
            words = "a function"
        case types.ListType() | types.List():
            words = "a list"
        case types.ClassInstanceType():
            words = "a jitclass instance"
        case types.DictType():
            words = "a dictionary"
        case types.Set():
            words = "a set"
        case types.Record():
            words = "a record"
        case types.PyObject():
            words = "a Python object that compiled code cannot take"
        case _:
            return str(ty)
    return f"{words} ({ty})"
