"""`jvp` and `hvp` inside nopython code."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

from jitgrad.api.jacobians import hvp
from jitgrad.api.transforms import grad, jvp
from jitgrad.backend.dispatcher import derivative
from jitgrad.backend.engine import Forward
from jitgrad.backend.structure import has_float
from jitgrad.transforms.request import JvpRequest


def _integers(ty: Any) -> Any:
    """The value of a constant integer or tuple of integers; None where it was left out."""
    if isinstance(ty, types.Omitted):
        return ty.value
    if ty is None or isinstance(ty, int | types.NoneType):  # the default itself
        return ty if isinstance(ty, int) else None
    items = list(ty) if isinstance(ty, types.BaseTuple) else [ty]
    if not all(isinstance(item, types.IntegerLiteral) for item in items):
        raise TypingError("argnums must be a constant integer or tuple of integers in nopython code")
    found = tuple(item.literal_value for item in items)
    return found if isinstance(ty, types.BaseTuple) else found[0]


def _product(compiled: Any, wrt: tuple[int, ...], given: int, default: int | None, result: str) -> Any:
    """An implementation that passes the tangents for `wrt`, of as many as were given."""
    picked = wrt if given != len(wrt) else range(len(wrt))
    items = ", ".join(f"tangents[{k}]" for k in picked)
    source = (
        f"def implementation(fun, primals, tangents, argnums={default}):\n"
        f"    found = compiled(({items},), *primals)\n"
        f"    return {result}\n"
    )
    namespace = {"compiled": compiled}
    exec(source, namespace)
    return namespace["implementation"]


@overload(jvp)
def _jvp(fun, primals, tangents, argnums=None):
    if not isinstance(fun, types.Dispatcher) or not isinstance(primals, types.BaseTuple):
        return None
    if not isinstance(tangents, types.BaseTuple):
        raise TypingError("jvp in nopython code takes its tangents as a tuple")
    numbers = _integers(argnums)
    if numbers is None:
        numbers = tuple(k for k, ty in enumerate(primals) if has_float(ty))
    wrt = (numbers,) if isinstance(numbers, int) else numbers
    return _product(derivative(fun.dispatcher, Forward(JvpRequest(wrt))), wrt, len(tangents), None, "found")


@overload(hvp)
def _hvp(fun, primals, tangents, argnums=0):
    if not isinstance(fun, types.Dispatcher) or not isinstance(primals, types.BaseTuple):
        return None
    if not isinstance(tangents, types.BaseTuple):
        raise TypingError("hvp in nopython code takes its tangents as a tuple")
    numbers = _integers(argnums)
    wrt = (numbers,) if isinstance(numbers, int) else numbers
    gradient = grad(fun.dispatcher, numbers)
    return _product(derivative(gradient, Forward(JvpRequest(wrt))), wrt, len(tangents), 0, "found[1]")
