"""The table of what happens when a function is applied to tape values.

A handler takes the arguments of the function, with tensors and variables among them, and returns tensors. Most are a
`Primitive`. The modules of `jitgrad.tape.functions` fill the table when they are imported; ufuncs are entered when they
are first met, with the engine's scalar rules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.np.ufunc.dufunc import DUFunc

from jitgrad.backend.dispatcher import dispatcher_of
from jitgrad.errors import NoRuleError


class Handlers(dict[Any, Callable]):
    """From a NumPy function, a ufunc, or ``(ufunc, "reduce")`` and the like, to its handler."""

    def __missing__(self, function: Any) -> Callable:
        from jitgrad.tape.elementwise import ufunc_primitive
        from jitgrad.tape.quick import quick

        made: Any = ufunc_primitive(function) if isinstance(function, np.ufunc) else None
        if isinstance(function, DUFunc):  # made by numba.vectorize: a compiled call, see `compiled_calls`
            made = dispatcher_of(function)
        if made is None:
            raise NoRuleError(
                f"{_name(function)} of tape values has no derivative rule; give it one with jitgrad.custom_gradient, "
                f"or call it with x.numpy() if its result is to be a constant"
            )
        self[function] = made = quick(made)
        return made


def _name(function: Any) -> str:
    if isinstance(function, tuple):
        return ".".join((_name(function[0]), *function[1:]))
    module = getattr(function, "__module__", None) or "numpy"
    if isinstance(function, np.ufunc) and getattr(np, function.__name__, None) is not function:
        special = sys.modules.get("scipy.special")  # ufuncs do not say where they come from
        if getattr(special, function.__name__, None) is not function:
            return f"the ufunc {function.__name__}"
        module = "scipy.special"
    return f"{module.replace('numpy', 'np', 1)}.{getattr(function, '__name__', function)}"


HANDLERS = Handlers()


def handles(*functions: Any) -> Callable[[Callable], Callable]:
    """Decorator: this is how these NumPy functions act on tape values."""

    def enter(handler: Callable) -> Callable:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return enter
