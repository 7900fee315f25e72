"""What a transform is asked to generate, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class JvpRequest:
    """``jvp_f(tangents, *args) -> (out, out_dot)``.

    Attributes
    ----------
    wrt : tuple of int
        Positions of the call, counted through ``*args``.
    outs : tuple of int or None
        Positions of the arguments whose content after the call is the result.
    inplace : bool
        Write tangents where the primal writes its arguments (calls of one generated function by
        another); otherwise the tangents that are passed in are only read.
    width : int
        How many directions at once. More than one adds a last axis of this length to every tangent: of a number
        it is an array.
    """

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None = None
    inplace: bool = False
    width: int = 1


@dataclass(frozen=True)
class VjpRequest:
    """``grad_f(*args)`` with seed "one", ``vjp_f(cotangent, *args)`` with seed "argument".

    Attributes
    ----------
    wrt, outs
        As in `JvpRequest`.
    seed : {"one", "argument"}
        Where the cotangent of the result comes from.
    value : bool
        Return the primal's value beside the gradients (seed "one").
    has_aux : bool
        The primal returns ``(scalar, aux)`` (seed "one").
    single : bool
        Return the one gradient itself, not a tuple (seed "one").
    into : bool
        ``grad_into_f(out, *args)``: write the gradients into the arrays of `out`, which has their
        structure, and return the value or nothing (seed "one").
    """

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None = None
    seed: Literal["one", "argument"] = "one"
    value: bool = False
    has_aux: bool = False
    single: bool = False
    into: bool = False


@dataclass
class Generated:
    """Readable source of a derivative, with the objects it refers to.

    Attributes
    ----------
    source : str
        Python source that defines the function `name`.
    namespace : dict
        Its globals.
    rules : tuple of str
        The derivative rules it uses, for `jitgrad.source`.
    """

    source: str
    namespace: dict[str, Any]
    name: str
    rules: tuple[str, ...] = field(default=())
