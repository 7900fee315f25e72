"""The derivative of a callee as a dispatcher of its own."""

from __future__ import annotations

from typing import Any

from jitgrad.transforms.request import JvpRequest


def callee(fn: Any, wrt: tuple[int, ...]) -> Any:
    """The compiled tangent function of an njit function, which writes tangents in place."""
    from jitgrad.backend import derivative

    return derivative(fn, JvpRequest(wrt, None, inplace=True))
