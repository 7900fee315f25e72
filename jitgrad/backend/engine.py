"""The two transforms the engine knows, as derivatives: forward mode and reverse mode.

Front end and transforms are imported when code is generated, not before: a process that finds its
derivatives in the disk cache never loads them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numba
from numba.core import types, utils

from jitgrad.backend import checks, digest, linecode
from jitgrad.backend.dispatcher import Transform
from jitgrad.backend.structure import is_complex, leaves, positions
from jitgrad.transforms.request import JvpRequest, VjpRequest


def _read(primal: Any, argtypes: tuple[types.Type, ...], request: Any) -> Any:
    """The program of the primal, once its arguments are known to be right."""
    signature, name = utils.pysignature(primal.py_func), primal.__name__
    checks.check_arguments(name, signature, argtypes, request.wrt)
    checks.check_outs(name, signature, argtypes, request.outs)
    return read(primal, argtypes)


def read(primal: Any, argtypes: tuple[types.Type, ...]) -> Any:
    """The program of `primal`; of a function with a rule of its own, a program that calls it."""
    from jitgrad import frontend, rules

    return frontend.read(primal if rules.lookup(primal) is None else calling(primal), argtypes)


@functools.cache
def calling(primal: Any) -> Any:
    """A function that does nothing but call `primal`."""
    params = utils.pysignature(primal.py_func).parameters.values()
    names = ", ".join(("*" if p.kind == p.VAR_POSITIONAL else "") + p.name for p in params)
    name = primal.__name__ if primal.__name__.isidentifier() else "function"
    source = f"def {name}({names}):\n    return primal_({names})\n"
    tag = digest.hexdigest(source, repr(primal))[:16]
    fn = linecode.build(source, {"primal_": primal}, name, tag, f"<jitgrad call {name} {tag}>")
    fn.__defaults__ = primal.py_func.__defaults__
    return numba.njit(fn)


@dataclass(frozen=True)
class Forward(Transform):
    """``jvp_f(tangents, *args) -> (out, out_dot)``."""

    request: JvpRequest

    prefix: ClassVar[str] = "jvp"
    leading: ClassVar[tuple[str, ...]] = ("tangents",)

    def floats(self):
        return self.request.wrt

    def generate(self, primal, argtypes):
        from jitgrad.transforms import forward

        program = _read(primal, argtypes, self.request)
        if not self.request.outs and not self.request.inplace:
            checks.check_float_result(primal.__name__, program.result.type)
        return forward.emit(program, self.request)


@dataclass(frozen=True)
class Reverse(Transform):
    """``grad_f(*args)`` with seed "one", ``vjp_f(cotangent, *args)`` with seed "argument".

    Attributes
    ----------
    request : VjpRequest
    pairs : bool
        Leave the gradient of a complex argument as the pair of real partials ``f_re + 1j * f_im``, as the
        engine computes it; else `grad` returns its conjugate, as JAX does.
    """

    request: VjpRequest
    pairs: bool = False

    leading: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        argument = self.request.seed == "argument"
        object.__setattr__(self, "prefix", "vjp" if argument else "value_and_grad" if self.request.value else "grad")
        object.__setattr__(self, "leading", ("cotangent",) if argument else ())

    def floats(self):
        return self.request.wrt

    def generate(self, primal, argtypes):
        from jitgrad.transforms import reverse

        request = self.request
        program = _read(primal, argtypes, request)
        result = program.result.type
        if request.seed == "argument":
            if not request.outs:
                checks.check_float_result(primal.__name__, result)
        else:
            if not request.outs:
                checks.check_scalar_result(primal.__name__, result, has_aux=request.has_aux)
            if not self.pairs and _complex_arguments(primal, argtypes, request.wrt):
                from jitgrad.backend.conjugate import conjugated

                return conjugated(primal, argtypes, replace(self, pairs=True))
        return reverse.emit(program, request)


def _complex_arguments(primal: Any, argtypes: tuple[types.Type, ...], wrt: tuple[int, ...]) -> bool:
    call = positions(utils.pysignature(primal.py_func), argtypes)
    return any(is_complex(leaf) for k in wrt for leaf in leaves(call[k][1]))


def transform_for(request: JvpRequest | VjpRequest) -> Transform:
    """The transform that answers a request."""
    return Forward(request) if isinstance(request, JvpRequest) else Reverse(request, pairs=True)
