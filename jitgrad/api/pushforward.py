"""`pushforward`: products of the Jacobian or the Hessian with vectors, prepared as a derivative of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from jitgrad.api.arguments import outs_of, wrt_of
from jitgrad.api.python_only import python_only
from jitgrad.backend.dispatcher import Derivative, Transform, derivative
from jitgrad.backend.into import Written


@python_only
def pushforward(fun: Any, argnums: Any = 0, *, outs: Any = None) -> Derivative:
    """The derivative of a function along a direction, as a function: what `jvp` calls.

    Of ``grad(f)`` it is the product of the Hessian with a vector. Unlike `jvp` and `hvp` it checks and converts
    nothing at the call, and has the allocation-free form ``into``: for inner loops and C callers.

    Parameters
    ----------
    fun : njit function or function
        Or a derivative.
    argnums : int or tuple of int
        The arguments to differentiate with respect to, counted through ``*args``.
    outs : int or tuple of int, optional
        The arguments that `fun` writes its result into.

    Returns
    -------
    Derivative
        ``push(tangents, *args) -> (out, out_tangent)``. `tangents` is one tangent for an int `argnums`, a tuple of
        them for a tuple; each has the structure, shapes and dtypes of its argument. With `outs`, `out` and
        `out_tangent` are tuples with one array for each.

        ``push.into((out, out_tangent), tangents, *args)`` writes into given arrays instead; with `outs` it is
        ``push.into(out_tangent, tangents, *args)``, a tuple for a tuple `outs`, as the values are in the arguments.

    Notes
    -----
    `into` allocates nothing of its own where `fun` is what `grad` returns for real arrays, or writes its result into
    `outs`, returns None and leaves the arguments in `argnums` as they are. Else it copies what `push` returns.

    Examples
    --------
    >>> import numpy as np
    >>> push = pushforward(grad(lambda x: (x ** 3).sum()))
    >>> g, hv = np.zeros(2), np.zeros(2)
    >>> push.into((g, hv), np.array([1.0, 1.0]), np.array([1.0, 2.0]))
    >>> g, hv
    (array([ 3., 12.]), array([ 6., 12.]))
    """
    wrt, single = wrt_of(fun, argnums)
    found = outs_of(fun, outs)
    return derivative(fun, Pushforward(wrt, found, single, not isinstance(outs, (tuple, list))))


@dataclass(frozen=True)
class Pushforward(Transform):
    """``pushforward_f(tangents, *args) -> (out, out_tangent)``.

    Attributes
    ----------
    wrt, outs
        As in `JvpRequest`.
    single : bool
        `tangents` is the one tangent itself.
    single_out : bool
        With `outs`: `into` takes the one tangent itself.
    """

    wrt: tuple[int, ...]
    outs: tuple[int, ...] | None
    single: bool
    single_out: bool

    prefix: ClassVar[str] = "pushforward"
    leading: ClassVar[tuple[str, ...]] = ("tangents",)

    def floats(self):
        return self.wrt

    def into(self):
        return PushforwardInto(self)

    def generate(self, primal, argtypes):
        from jitgrad.api.pushforward_source import generate

        return generate(self, primal, argtypes)


@dataclass(frozen=True)
class PushforwardInto(Written):
    """``pushforward_into_f(out, tangents, *args)``."""

    push: Pushforward

    prefix: ClassVar[str] = "pushforward_into"
    leading: ClassVar[tuple[str, ...]] = ("out", "tangents")

    def floats(self):
        return self.push.wrt

    def generate(self, primal, argtypes):
        from jitgrad.api.pushforward_source import generate_into

        return generate_into(self, primal, argtypes)
