"""``D.into(out, *args)``: the result of a derivative written into arrays that the caller keeps.

`Into` is for gradients: where arguments hold real numbers and arrays of them the reverse sweep collects the gradient
in those arrays itself, without allocating any. `CopyInto` is for everything else: the generated function calls the
derivative and copies what it returns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from numba.core import types, utils

from jitgrad.backend import checks
from jitgrad.backend.dispatcher import Transform, derivative
from jitgrad.backend.structure import leaves, positions
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError
from jitgrad.transforms.request import Generated


class Written(Transform):
    """A transform that writes its result into given arrays; it has no such form of its own."""

    def into(self):
        raise ArgumentError("this derivative writes into given arrays already; into is for the one that returns them")


@dataclass(frozen=True)
class CopyInto(Written):
    """``<derivative>_into_f(out, *args)``: calls the derivative, copies its result, returns nothing."""

    inner: Transform

    def __post_init__(self):
        object.__setattr__(self, "prefix", f"{self.inner.prefix}_into")
        object.__setattr__(self, "leading", ("out", *self.inner.leading))

    def floats(self):
        return self.inner.floats()

    def generate(self, primal, argtypes):
        return copying(self, primal, self.inner)


@dataclass(frozen=True)
class Into(Written):
    """``grad_into_f(out, *args)``; returns the value for `value_and_grad`, else nothing."""

    gradient: Any  # the `Reverse` that computes it

    prefix: ClassVar[str] = "grad_into"
    leading: ClassVar[tuple[str, ...]] = ("out",)

    def floats(self):
        return self.gradient.floats()

    def generate(self, primal, argtypes):
        request = self.gradient.request
        checks.check_arguments(primal.__name__, utils.pysignature(primal.py_func), argtypes, request.wrt)
        if request.has_aux:
            raise ArgumentError("into does not return auxiliary data; take has_aux=True away")
        if self.collects(primal, argtypes):
            from jitgrad.transforms import reverse

            program = self.gradient.read(primal, argtypes, request)
            return reverse.emit(program, replace(request, into=True))
        return copying(self, primal, self.gradient, value=request.value)

    def collects(self, primal: Any, argtypes: tuple[types.Type, ...]) -> bool:
        """Whether the reverse sweep collects the gradient in the given arrays itself."""
        request = self.gradient.request
        call = positions(utils.pysignature(primal.py_func), argtypes)
        return not request.outs and all(_is_plain(leaf) for k in request.wrt for leaf in leaves(call[k][1]))


def _is_plain(ty: types.Type) -> bool:
    """Whether the reverse sweep can collect the gradient of such a leaf in a given array."""
    element = getattr(ty, "dtype", ty)
    return not isinstance(element, types.Complex) and not isinstance(ty, (types.List, types.ListType, types.Record))


def copying(transform: Transform, primal: Any, inner: Transform, *, value: bool = False) -> Generated:
    """A function that calls the derivative `inner` and copies what it returns into ``out``.

    With `value` the derivative returns ``(value, result)``; the function returns the value and copies the rest.
    """
    from jitgrad.runtime.assign import assign

    writer = Writer({})
    leading, names = header(writer, transform, primal)
    name = f"{transform.prefix}_{primal.__name__}"
    name = name if name.isidentifier() else transform.prefix
    found = writer.fresh("found")
    call = writer.use(derivative(primal, inner), inner.prefix)
    copy = writer.use(assign, "assign")
    with writer.indented(f"def {name}({', '.join([*leading, *names])}):"):
        writer.line(f"{found} = {call}({', '.join([*leading[1:], *names])})")
        writer.line(f"{copy}({leading[0]}, {found}{'[1]' * value})")
        writer.line(f"return {found}[0]" if value else "return None")
    return Generated(writer.source(), writer.namespace, name)


def header(writer: Writer, transform: Transform, primal: Any) -> tuple[list[str], list[str]]:
    """The names of the leading parameters and of those of the primal, ``*args`` with its star."""
    parameters = utils.pysignature(primal.py_func).parameters.values()
    names = ["*" * (p.kind == p.VAR_POSITIONAL) + writer.fresh(p.name) for p in parameters]
    return [writer.fresh(n) for n in transform.leading], names
