"""The two transforms the engine knows, as derivatives: forward mode and reverse mode.

Front end and transforms are imported when code is generated, not before: a process that finds its
derivatives in the disk cache never loads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numba
from numba.core import types, utils

from jitgrad.backend import checks, digest, linecode
from jitgrad.backend.dispatcher import Transform, derivative, once
from jitgrad.backend.structure import is_complex, leaves, positions
from jitgrad.errors import ArgumentError
from jitgrad.settings import current_math
from jitgrad.transforms.request import JvpRequest, VjpRequest


def _read(primal: Any, argtypes: tuple[types.Type, ...], request: Any) -> Any:
    """The program of the primal, once its arguments are known to be right."""
    signature, name = utils.pysignature(primal.py_func), primal.__name__
    checks.check_arguments(name, signature, argtypes, request.wrt)
    checks.check_outs(name, signature, argtypes, request.outs)
    return read(primal, argtypes, forward=isinstance(request, JvpRequest))


def read(primal: Any, argtypes: tuple[types.Type, ...], *, forward: bool = False) -> Any:
    """The program of `primal`; of a function with a rule of its own, a program that calls it."""
    from jitgrad import frontend, rules
    from jitgrad.optimize import optimize

    program = frontend.read(primal if rules.lookup(primal) is None else calling(primal), argtypes, forward=forward)
    return optimize(program, kernels=current_math() == "fast")


def calling(primal: Any) -> Any:
    """A function that does nothing but call `primal`."""
    return once(primal, "calling", lambda: _around(primal, lambda call, _: [f"return {call}"]))


def returning(primal: Any, position: int, ndim: int) -> Any:
    """A function that calls `primal` and returns the one number in its array argument at `position`."""
    message = (
        f"grad needs a scalar result, but argument {position} of {primal.__name__} does not hold exactly one number; "
        "use jacobian or vjp"
    )

    def body(call: str, arguments: Callable[[int], str]) -> list[str]:
        out = arguments(position)
        index = ", ".join(["0"] * ndim) or "()"
        return [call, f"if {out}.size != 1:", f"    raise ValueError({message!r})", f"return {out}[{index}]"]

    return once(primal, ("returning", position, ndim), lambda: _around(primal, body))


def _around(primal: Any, body: Callable[[str, Callable[[int], str]], list[str]]) -> Any:
    """An njit function with the signature of `primal`, whose lines `body(call, argument)` gives."""
    params = list(utils.pysignature(primal.py_func).parameters.values())
    names = ", ".join("*" * (p.kind == p.VAR_POSITIONAL) + p.name for p in params)
    fixed = [p.name for p in params if p.kind != p.VAR_POSITIONAL]
    name = primal.__name__ if primal.__name__.isidentifier() else "function"

    def argument(k: int) -> str:
        return fixed[k] if k < len(fixed) else f"{params[-1].name}[{k - len(fixed)}]"

    lines = body(f"primal_({names})", argument)
    source = f"def {name}({names}):\n" + "".join(f"    {line}\n" for line in lines)
    tag = digest.hexdigest(source, repr(primal))[:16]
    fn = linecode.build(source, {"primal_": primal}, name, tag, f"<jitgrad {name} {tag}>")
    fn.__defaults__ = primal.py_func.__defaults__
    return numba.njit(fn)


@dataclass(frozen=True)
class Forward(Transform):
    """``jvp_f(tangents, *args) -> (out, out_dot)``.

    Attributes
    ----------
    request : JvpRequest
    one_by_one : bool
        Take the directions of a request for several one after the other: what the front end reads of it.
    """

    request: JvpRequest
    one_by_one: bool = False

    prefix: ClassVar[str] = "jvp"
    leading: ClassVar[tuple[str, ...]] = ("tangents",)

    def floats(self):
        return self.request.wrt

    def readable(self):
        return replace(self, one_by_one=True) if self.request.width > 1 else self

    def generate(self, primal, argtypes):
        from jitgrad.transforms import forward

        program = _read(primal, argtypes, self.request)
        if not self.request.outs and not self.request.inplace:
            checks.check_float_result(primal.__name__, program.result.type)
        if not self.one_by_one:
            try:
                return forward.emit(program, self.request)
            except forward.Unsuitable:
                pass
        single = derivative(primal, Forward(replace(self.request, width=1)))
        return forward.directions.emit(program, self.request, single)


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

    def into(self):
        from jitgrad.backend.into import Into

        return Into(self) if self.request.seed == "one" else super().into()

    def generate(self, primal, argtypes):
        from jitgrad.transforms import reverse

        request = self.request
        if request.outs and request.seed == "one":
            primal, request = self._scalar_of(primal, argtypes), replace(request, outs=None)
        program = self.read(primal, argtypes, request)
        if request.seed == "one":
            if not self.pairs and _complex_arguments(primal, argtypes, request.wrt):
                from jitgrad.backend.conjugate import conjugated

                return conjugated(primal, argtypes, replace(self, pairs=True))
        return reverse.emit(program, request)

    @staticmethod
    def read(primal, argtypes, request):
        """The program of `primal`, once its arguments and its result are known to be right."""
        program = _read(primal, argtypes, request)
        if request.seed == "argument":
            if not request.outs:
                checks.check_float_result(primal.__name__, program.result.type)
        else:
            checks.check_scalar_result(primal.__name__, program.result.type, has_aux=request.has_aux)
        return program

    def _scalar_of(self, primal, argtypes):
        """A function that returns the one number `primal` writes into its argument."""
        signature, name = utils.pysignature(primal.py_func), primal.__name__
        checks.check_outs(name, signature, argtypes, self.request.outs)
        if len(self.request.outs) != 1 or self.request.has_aux:
            raise ArgumentError("grad with outs= takes one output argument and no auxiliary data; use vjp or jacobian")
        (position,) = self.request.outs
        return returning(primal, position, positions(signature, argtypes)[position][1].ndim)


def _complex_arguments(primal: Any, argtypes: tuple[types.Type, ...], wrt: tuple[int, ...]) -> bool:
    call = positions(utils.pysignature(primal.py_func), argtypes)
    return any(is_complex(leaf) for k in wrt for leaf in leaves(call[k][1]))


def transform_for(request: JvpRequest | VjpRequest) -> Transform:
    """The transform that answers a request."""
    return Forward(request) if isinstance(request, JvpRequest) else Reverse(request, pairs=True)
