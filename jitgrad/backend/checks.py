"""Whether a function can be differentiated as asked: the checks on types, before code is generated."""

from __future__ import annotations

from typing import Any

from numba.core import types

from jitgrad.backend.structure import describe, has_float, leaves, positions
from jitgrad.errors import ArgumentError

WAY_OUT = {
    types.Integer: "pass a float, or leave it out of argnums",
    types.Boolean: "leave it out of argnums",
    types.Array: "convert it with .astype(float), or leave it out of argnums",
    types.ClassInstanceType: "pass the numbers to differentiate as arguments of their own, and this one as data",
    types.DictType: "pass a named tuple, or its numbers and arrays as arguments of their own",
    types.PyObject: "pass a named tuple, or its numbers and arrays as arguments of their own",
}


def check_arguments(name: str, signature: Any, argtypes: tuple[types.Type, ...], wrt: tuple[int, ...]) -> None:
    """Each differentiated argument was passed and holds floats.

    Raises
    ------
    ArgumentError
    """
    call = positions(signature, argtypes)
    for k in wrt:
        if k >= len(call):
            raise ArgumentError(
                f"argnums names argument {k} of {name}, but the call has {len(call)} argument"
                f"{'s' * (len(call) != 1)}; argnums counts from 0"
            )
        param, ty = call[k]
        if isinstance(ty, types.Omitted):
            raise ArgumentError(
                f"argument {k} ({param}) of {name} was left at its default, so it has no derivative; "
                "pass it, or leave it out of argnums"
            )
        if not has_float(ty):
            raise ArgumentError(not_differentiable(name, f"argument {k} ({param})", ty))


def not_differentiable(name: str, argument: str, ty: types.Type) -> str:
    """The message for an argument without floats."""
    way = next((text for cls, text in WAY_OUT.items() if isinstance(ty, cls)), "leave it out of argnums")
    return f"{argument} of {name} is {describe(ty)}, which is not differentiable; {way}"


def check_outs(name: str, signature: Any, argtypes: tuple[types.Type, ...], outs: tuple[int, ...] | None) -> None:
    """Each argument named by `outs` is an array that can be written.

    Raises
    ------
    ArgumentError
    """
    call = positions(signature, argtypes)
    for k in outs or ():
        if k >= len(call):
            raise ArgumentError(f"outs names argument {k} of {name}, but the call has {len(call)}; outs counts from 0")
        param, ty = call[k]
        if not isinstance(ty, types.Array):
            raise ArgumentError(f"outs names argument {k} ({param}) of {name}, which is {describe(ty)}, not an array")
        if not ty.mutable:
            raise ArgumentError(f"outs names argument {k} ({param}) of {name}, but that array is read-only")


def check_scalar_result(name: str, result: types.Type, *, has_aux: bool = False) -> None:
    """The result of a function whose gradient is asked for is one real float.

    Raises
    ------
    ArgumentError
    """
    what = f"the result of {name}"
    if has_aux:
        if not isinstance(result, types.BaseTuple) or len(result) != 2:
            raise ArgumentError(
                f"with has_aux=True, {name} must return (scalar, auxiliary data); it returns {describe(result)}"
            )
        what, result = f"the first result of {name}", result[0]
    result = result.type if isinstance(result, types.Optional) else result
    if isinstance(result, types.Float):
        return
    if isinstance(result, types.NoneType):
        raise ArgumentError(
            f"{name} returns None, so its result has no gradient; return a scalar float, or name the arrays it writes "
            "with outs= in vjp, jvp or jacobian"
        )
    if isinstance(result, types.Complex):
        raise ArgumentError(
            f"grad needs a real scalar result, but {what} is complex ({result}); return its real part, imaginary part "
            "or absolute value, or use vjp or jacobian"
        )
    if isinstance(result, (types.Integer, types.Boolean)) or (
        isinstance(result, types.Array) and isinstance(result.dtype, (types.Integer, types.Boolean))
    ):
        raise ArgumentError(f"{what} is {describe(result)}, which is not differentiable; return a float")
    raise ArgumentError(
        f"grad needs a scalar result, but {what} is {describe(result)}; reduce it to a scalar, or use jacobian or vjp"
    )


def check_float_result(name: str, result: types.Type) -> None:
    """Some number in the result is a float.

    Raises
    ------
    ArgumentError
    """
    if isinstance(result, types.NoneType):
        raise ArgumentError(
            f"{name} returns None; return a float, or name the arrays it writes its result into with outs="
        )
    if not has_float(result):
        found = ", ".join(sorted({str(leaf) for leaf in leaves(result)}))
        raise ArgumentError(
            f"the result of {name} holds no float ({found}), so it is not differentiable; return a float"
        )
