"""`jvp`, `hvp` and ``D.into`` inside nopython code."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.errors import TypingError
from numba.core.imputils import lower_getattr
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import overload

from jitgrad.api.arguments import chunk_of
from jitgrad.api.jacobians import hvp
from jitgrad.api.requests import Directions
from jitgrad.api.transforms import grad, jvp
from jitgrad.backend.dispatcher import Derivative, derivative
from jitgrad.backend.engine import Forward
from jitgrad.backend.structure import has_float
from jitgrad.transforms.request import JvpRequest


def _integers(ty: Any, name: str = "argnums") -> Any:
    """The value of a constant integer or tuple of integers; None where it was left out."""
    if isinstance(ty, types.Omitted):
        return ty.value
    if ty is None or isinstance(ty, int | types.NoneType):  # the default itself
        return ty if isinstance(ty, int) else None
    items = list(ty) if isinstance(ty, types.BaseTuple) else [ty]
    if not all(isinstance(item, types.IntegerLiteral) for item in items):
        raise TypingError(f"{name} must be a constant integer or tuple of integers in nopython code")
    found = tuple(item.literal_value for item in items)
    return found if isinstance(ty, types.BaseTuple) else found[0]


def _flag(ty: Any, name: str) -> bool:
    """The value of a constant bool."""
    if isinstance(ty, types.Omitted):
        return bool(ty.value)
    if isinstance(ty, bool):  # the default itself
        return ty
    if not isinstance(ty, types.BooleanLiteral):
        raise TypingError(f"{name} must be True or False, as a constant, in nopython code")
    return bool(ty.literal_value)


def _pushed(fun: Any, wrt: tuple[int, ...], several: Any, chunk: Any) -> Any:
    """The compiled tangent function of `fun`, along one direction or several."""
    width = _integers(chunk, "chunk")
    if isinstance(width, tuple):
        raise TypingError("chunk must be a constant integer in nopython code")
    if _flag(several, "several"):
        return derivative(fun, Directions(wrt, None, chunk_of(width)))
    if width is not None:
        raise TypingError("chunk is for several directions at once: pass several=True with it, or leave it out")
    return derivative(fun, Forward(JvpRequest(wrt)))


def _product(compiled: Any, wrt: tuple[int, ...], count: int, given: int, default: int | None, result: str) -> Any:
    """An implementation for `count` primals that passes the tangents for `wrt`, of as many as were given."""
    picked = wrt if given != len(wrt) else range(len(wrt))
    items = ", ".join(f"tangents[{k}]" for k in picked)
    arguments = ", ".join(f"primals[{k}]" for k in range(count))  # not *primals, which the front end could not inline
    source = (
        f"def implementation(fun, primals, tangents, argnums={default}, several=False, chunk=None):\n"
        f"    found = compiled(({items},), {arguments})\n"
        f"    return {result}\n"
    )
    namespace = {"compiled": compiled}
    exec(source, namespace)
    return namespace["implementation"]


@overload(jvp)
def _jvp(fun, primals, tangents, argnums=None, several=False, chunk=None):
    if not isinstance(fun, types.Dispatcher) or not isinstance(primals, types.BaseTuple):
        return None
    if not isinstance(tangents, types.BaseTuple):
        raise TypingError("jvp in nopython code takes its tangents as a tuple")
    numbers = _integers(argnums)
    if numbers is None:
        numbers = tuple(k for k, ty in enumerate(primals) if has_float(ty))
    wrt = (numbers,) if isinstance(numbers, int) else numbers
    return _product(_pushed(fun.dispatcher, wrt, several, chunk), wrt, len(primals), len(tangents), None, "found")


@overload(hvp)
def _hvp(fun, primals, tangents, argnums=0, several=False, chunk=None):
    if not isinstance(fun, types.Dispatcher) or not isinstance(primals, types.BaseTuple):
        return None
    if not isinstance(tangents, types.BaseTuple):
        raise TypingError("hvp in nopython code takes its tangents as a tuple")
    numbers = _integers(argnums)
    wrt = (numbers,) if isinstance(numbers, int) else numbers
    gradient = grad(fun.dispatcher, numbers)
    return _product(_pushed(gradient, wrt, several, chunk), wrt, len(primals), len(tangents), 0, "found[1]")


# Numba resolves attributes of types through templates, and has none for dispatchers. What `into` gives is a dispatcher
# again, whose value is a dummy: a call of it is resolved by its type.
@infer_getattr
class _Attributes(AttributeTemplate):
    key = types.Dispatcher

    def resolve_into(self, ty):
        return types.Dispatcher(ty.dispatcher.into) if isinstance(ty.dispatcher, Derivative) else None


@lower_getattr(types.Dispatcher, "into")
def _into(context, builder, ty, value):
    return context.get_dummy_value()
