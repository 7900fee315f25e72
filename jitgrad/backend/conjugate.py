"""`grad` for complex arguments: the conjugate of the pair of partials, as JAX returns it."""

from __future__ import annotations

from typing import Any

from numba.core import types

from jitgrad.backend.structure import is_complex, positions
from jitgrad.backend.writer import Writer
from jitgrad.transforms.request import Generated


def conjugated(primal: Any, argtypes: tuple[types.Type, ...], pairs: Any) -> Generated:
    """Source that calls the gradient `pairs` computes and conjugates its complex leaves."""
    from numba.core import utils

    from jitgrad.backend.dispatcher import derivative

    signature, request = utils.pysignature(primal.py_func), pairs.request
    call = positions(signature, argtypes)
    writer = Writer({})
    taken = [writer.fresh(name) for name in signature.parameters]
    star = [
        ("*" if p.kind == p.VAR_POSITIONAL else "") + n
        for n, p in zip(taken, signature.parameters.values(), strict=True)
    ]
    inner = writer.use(derivative(primal, pairs), "gradient")
    found, result = writer.fresh("found"), writer.fresh("g")
    name = f"{pairs.prefix}_{primal.__name__}".replace("<lambda>", "lambda")
    with writer.indented(f"def {name}({', '.join(star)}):"):
        writer.line(f"{found} = {inner}({', '.join(star)})")
        at = f"{found}[{'1' if request.value else '0'}]" if request.value or request.has_aux else found
        writer.line(f"{result} = {at}")
        parts = [
            _conj(writer, call[k][1], result if request.single else f"{result}[{i}]") for i, k in enumerate(request.wrt)
        ]
        text = parts[0] if request.single else "(" + ", ".join(parts) + ",)"
        if request.value:
            text = f"({found}[0], {text})"
        elif request.has_aux:
            text = f"({text}, {found}[1])"
        writer.line(f"return {text}")
    return Generated(writer.source(), writer.namespace, name)


def _conj(writer: Writer, ty: types.Type, text: str) -> str:
    if isinstance(ty, types.BaseTuple):
        items = ", ".join(_conj(writer, item, f"{text}[{k}]") for k, item in enumerate(ty))
        if isinstance(ty, (types.NamedTuple, types.NamedUniTuple)):
            return f"{writer.use(ty.instance_class, ty.instance_class.__name__)}({items})"
        return f"({items},)"
    return f"{text}.conjugate()" if is_complex(ty) else text
