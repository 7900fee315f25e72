"""jitgrad without LLVM: the generated source of a derivative run by Python.

Much quicker than compiling it, and enough for what the front end and the transforms do. It stands in for
`jitgrad` in `judge.examine`; a failure found here has to be confirmed with the compiled derivative, as Python and
Numba differ in places (overlapping writes, integer widths).
"""

from __future__ import annotations

import operator
import types

import numba
from numba.core.extending import _Intrinsic

import jitgrad
from jitgrad.backend.dispatcher import derivative
from jitgrad.backend.engine import Forward
from jitgrad.transforms.request import JvpRequest

IN_PYTHON = {"accumulate": operator.add}  # for the intrinsics that generated code calls


def _run(compiled, args: tuple):
    function = compiled.generated(tuple(numba.typeof(a) for a in args))
    names = {n: IN_PYTHON[v._name] for n, v in function.__globals__.items() if isinstance(v, _Intrinsic)}
    return types.FunctionType(
        function.__code__, function.__globals__ | names, function.__name__, function.__defaults__, function.__closure__
    )(*args)


def value_and_grad(function, argnums):
    compiled = jitgrad.value_and_grad(function, argnums=argnums)
    return lambda *args: _run(compiled, args)


def jvp(function, primals, tangents, argnums):
    return _run(derivative(function, Forward(JvpRequest(argnums))), (tangents, *primals))
