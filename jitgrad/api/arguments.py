"""What the user asks for, in the form the engine takes: positions and transforms."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba.core import utils

from jitgrad.backend.dispatcher import dispatcher_of, once
from jitgrad.errors import ArgumentError


def parameters(fun: Any) -> list[Any]:
    """The parameters of the Python function behind `fun`."""
    primal = dispatcher_of(fun)
    return once(primal, "parameters", lambda: list(utils.pysignature(primal.py_func).parameters.values()))


def wrt_of(fun: Any, argnums: Any, *, what: str = "argnums") -> tuple[tuple[int, ...], bool]:
    """Positions, and whether one was asked for rather than a tuple.

    Raises
    ------
    ArgumentError
    """
    single = not isinstance(argnums, (tuple, list))
    try:
        numbers = [operator.index(k) for k in ([argnums] if single else argnums)]
    except TypeError:
        raise ArgumentError(f"{what} must be an integer or a tuple of integers, not {argnums!r}") from None
    if any(isinstance(k, bool) for k in ([argnums] if single else argnums)) or not numbers:
        raise ArgumentError(f"{what} must be an integer or a tuple of integers, not {argnums!r}")
    params = parameters(fun)
    name = dispatcher_of(fun).__name__
    star = any(p.kind == p.VAR_POSITIONAL for p in params)
    for i, k in enumerate(numbers):
        if k < 0 and star:
            raise ArgumentError(
                f"{what} {k} counts from the end, but {name} takes any number of arguments; count from 0"
            )
        if not star and not -len(params) <= k < len(params):
            raise ArgumentError(
                f"{what} {k} is out of range: {name} has {len(params)} parameter{'s' * (len(params) != 1)}"
                f" ({', '.join(p.name for p in params)})"
            )
        numbers[i] = k + len(params) if k < 0 else k
    if len(set(numbers)) != len(numbers):
        raise ArgumentError(f"{what} {argnums!r} names an argument twice")
    return tuple(numbers), single


def outs_of(fun: Any, outs: Any) -> tuple[int, ...] | None:
    """Positions of the arguments that hold the result, or None."""
    if outs is None or (isinstance(outs, (tuple, list)) and not outs):
        return None
    return wrt_of(fun, outs, what="outs")[0]


def label(fun: Any, position: int) -> str:
    """``argument 0 (x)``."""
    params = parameters(fun)
    fixed = [p for p in params if p.kind != p.VAR_POSITIONAL]
    if position < len(fixed):
        return f"argument {position} ({fixed[position].name})"
    return f"argument {position} ({params[-1].name}[{position - len(fixed)}])"


MOST = 64  # directions to a sweep


def chunk_of(chunk: Any) -> int | None:
    """The number of directions to a sweep, once it is known to be right."""
    if chunk is None:
        return None
    if isinstance(chunk, bool) or not isinstance(chunk, (int, np.integer)):
        raise ArgumentError(f"chunk must be an int or None, not {chunk!r} ({type(chunk).__name__})")
    if not 1 <= chunk <= MOST:
        raise ArgumentError(f"chunk must be between 1 and {MOST}, not {chunk}: so many directions go into registers")
    return int(chunk)
