"""``g.into(out, *args)``: the gradient written into arrays that the caller keeps.

Where arguments hold real numbers and arrays of them the reverse sweep collects the gradient in those arrays
itself, without allocating any. Otherwise the generated function calls the gradient and copies its arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numba import njit
from numba.core import types, utils

from jitgrad.backend import checks
from jitgrad.backend.dispatcher import Transform, derivative
from jitgrad.backend.structure import is_float, leaves, positions
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError
from jitgrad.runtime.arrays import put_number
from jitgrad.transforms.request import Generated


@njit(error_model="numpy")
def copy_into(out, gradient):
    """``out[...] = gradient``, for equal shapes."""
    if out.shape != gradient.shape:
        raise ValueError("the array for a gradient must have the shape of the argument")
    flat, k = out.flat, 0
    for v in gradient.flat:
        flat[k] = v
        k += 1


@dataclass(frozen=True)
class Into(Transform):
    """``grad_into_f(out, *args)``; returns the value for `value_and_grad`, else nothing."""

    gradient: Any  # the `Reverse` that computes it

    prefix: ClassVar[str] = "grad_into"
    leading: ClassVar[tuple[str, ...]] = ("out",)

    def floats(self):
        return self.gradient.floats()

    def generate(self, primal, argtypes):
        request = self.gradient.request
        signature = utils.pysignature(primal.py_func)
        checks.check_arguments(primal.__name__, signature, argtypes, request.wrt)
        if request.has_aux:
            raise ArgumentError("into does not return auxiliary data; take has_aux=True away")
        call = positions(signature, argtypes)
        if not request.outs and all(_is_plain(leaf) for k in request.wrt for leaf in leaves(call[k][1])):
            from jitgrad.transforms import reverse

            program = self.gradient.read(primal, argtypes, request)
            return reverse.emit(program, replace(request, into=True))
        writer = Writer({})
        names = ["*" * (p.kind == p.VAR_POSITIONAL) + writer.fresh(p.name) for p in signature.parameters.values()]
        out, found = writer.fresh("out"), writer.fresh("found")
        name = f"grad_into_{primal.__name__}"
        name = name if name.isidentifier() else "grad_into"
        inner = writer.use(derivative(primal, self.gradient), "gradient")
        with writer.indented(f"def {name}({', '.join([out, *names])}):"):
            writer.line(f"{found} = {inner}({', '.join(names)})")
            part = f"{found}[1]" if request.value else found
            for i, k in enumerate(request.wrt):
                at = "" if request.single else f"[{i}]"
                _copy(writer, call[k][1], out + at, part + at)
            if request.value:
                writer.line(f"return {found}[0]")
        return Generated(writer.source(), writer.namespace, name)


def _is_plain(ty: types.Type) -> bool:
    """Whether the reverse sweep can collect the gradient of such a leaf in a given array."""
    element = getattr(ty, "dtype", ty)
    return not isinstance(element, types.Complex) and not isinstance(ty, (types.List, types.ListType, types.Record))


def _copy(writer: Writer, ty: types.Type, out: str, found: str) -> None:
    if isinstance(ty, types.BaseTuple):
        for k, item in enumerate(ty):
            _copy(writer, item, f"{out}[{k}]", f"{found}[{k}]")
    elif isinstance(ty, types.Array):
        writer.line(f"{writer.use(copy_into, 'copy_into')}({out}, {found})")
    elif is_float(ty):
        writer.line(f"{writer.use(put_number, 'put_number')}({out}, {found})")
