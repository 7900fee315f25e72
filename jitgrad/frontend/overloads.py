"""Numba's own implementations of the functions and methods it supports.

Most NumPy functions are implemented in Numba by ordinary Python functions (``@overload``). Where no
derivative rule stands for a function, such an implementation can be read and inlined like any callee.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numba.core import errors, types
from numba.core.registry import cpu_target
from numba.core.typing.templates import _OverloadFunctionTemplate, fold_arguments


@dataclass(frozen=True)
class Implementation:
    """A Python function and the types of its parameters (folded), for one call."""

    python_function: Any
    argtypes: tuple[types.Type, ...]


def overload_implementation(fn: Any, argtypes: tuple[types.Type, ...], kwtypes: dict[str, types.Type]) -> Any:
    """The Python function that Numba compiles for a call of `fn`, or None.

    Parameters
    ----------
    fn : function, or BoundFunction type
        A function object, or the type of a bound method (`argtypes` then starts with the object's).
    argtypes, kwtypes
        Types of the arguments, as literal types where they are constants.
    """
    found = next(implementations(fn, argtypes, kwtypes), None)
    return None if found is None else found.python_function


def implementations(
    fn: Any, argtypes: tuple[types.Type, ...], kwtypes: dict[str, types.Type]
) -> Iterator[Implementation]:
    """All implementations that Numba would try for a call of `fn`, in its order."""
    for overload, prefers_literals in _overloads(fn):
        choices = [(argtypes, kwtypes)]
        plain = tuple(map(types.unliteral, argtypes)), {name: types.unliteral(t) for name, t in kwtypes.items()}
        if plain != choices[0]:
            choices = [*choices, plain] if prefers_literals else [plain, *choices]
        for args, kwargs in choices:
            found = _implementation(overload, args, kwargs)
            if found is not None:
                yield found


def _overloads(fn: Any) -> Iterator[tuple[Callable, bool]]:
    if isinstance(fn, types.BoundFunction):
        overload = getattr(fn.template, "_overload_func", None)
        if overload is not None:
            yield overload, fn.template.prefer_literal
        return
    try:
        function_type = cpu_target.typing_context.resolve_value_type(fn)
    except errors.NumbaError:
        return
    for template in getattr(function_type, "templates", ()):
        if issubclass(template, _OverloadFunctionTemplate):
            yield template._overload_func, template.prefer_literal


def _implementation(overload: Callable, args: tuple, kwargs: dict[str, types.Type]) -> Implementation | None:
    """What an ``@overload`` function returns for these types, with its folded argument types."""
    try:
        inspect.signature(overload).bind(*args, **kwargs)
        found = overload(*args, **kwargs)
    except (TypeError, errors.NumbaError):
        return None
    if isinstance(found, tuple):
        signature, found = found
        args, kwargs = signature.args, {}
    if not inspect.isfunction(found):
        return None
    try:
        folded = fold_arguments(
            inspect.signature(found),
            args,
            kwargs,
            lambda _, __, type_: type_,
            lambda _, __, default: types.Omitted(default),
            lambda _, __, rest: types.StarArgTuple.from_types(rest),
        )
    except errors.NumbaError:
        return None
    return Implementation(found, tuple(folded))
