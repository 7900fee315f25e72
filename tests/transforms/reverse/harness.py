"""Reverse mode without LLVM: the generated source run by Python, which checks every index.

Fresh memory of generated code is full of nan, so that what is read before it is written shows. Python and Numba
differ in updates of overlapping parts; those tests compile.
"""

from __future__ import annotations

import operator
import types
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numba import njit, typeof
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

from jitgrad import frontend
from jitgrad.backend.dispatcher import Derivative
from jitgrad.optimize import optimize
from jitgrad.program import ir
from jitgrad.transforms import reverse
from jitgrad.transforms.request import Generated, VjpRequest
from jitgrad.transforms.reverse.sweep import Sweep
from tests import numeric
from tests.corpus.corpuslib import flat, unflat

IN_PYTHON = {"accumulate": operator.add}  # for the intrinsics that generated code calls


def _poisoned(shape, dtype=float):
    array = np.empty(shape, dtype)
    array.fill(np.nan if array.dtype.kind in "fc" else 1)
    return array


class _Numpy(types.ModuleType):
    empty = staticmethod(_poisoned)

    def __getattr__(self, name):
        return getattr(np, name)


def types_of(args) -> tuple:
    return tuple(typeof(a) for a in args)


def program(function, *args) -> ir.Program:
    """The optimized program of a Python function for the types of `args`."""
    return optimize(frontend.read(njit(function), types_of(args)))


def floats(args) -> tuple[int, ...]:
    """The positions of the arguments that can be differentiated."""
    return tuple(k for k, a in enumerate(args) if flat(a).size or np.size(a) == 0 and np.asarray(a).dtype.kind in "fc")


def generated(function, *args, wrt=None, **options) -> Generated:
    request = VjpRequest(floats(args) if wrt is None else wrt, **options)
    return reverse.emit(program(function, *args), request)


def source(function, *args, **options) -> str:
    """The generated source, without the module's head."""
    return generated(function, *args, **options).source


def sweep(function, *args, wrt=None) -> Sweep:
    """The state of the transform before its first word, for questions to the analyses."""
    return Sweep(program(function, *args), VjpRequest(floats(args) if wrt is None else wrt))


def in_python(made: Generated) -> Any:
    """The generated function, run by Python with its helpers."""
    namespace = {name: _plain(value) for name, value in made.namespace.items()}
    exec(made.source, namespace)
    return namespace[made.name]


def _plain(value: Any) -> Any:
    if value is np:
        return _Numpy("np")
    if value is np.empty:
        return _poisoned
    if isinstance(value, _Intrinsic):
        return IN_PYTHON[value._name]
    if isinstance(value, Dispatcher) and not isinstance(value, Derivative):
        function = value.py_func
        alone = function.__globals__.keys() <= {"__builtins__", "np", function.__name__}
        if alone or "jitgrad.runtime" in (function.__module__ or ""):
            return function
    return value


def copied(args) -> list:
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a[:] if isinstance(a, list) else a for a in args]


def check(function, *args, wrt=None, rtol=1e-7) -> np.ndarray:
    """Compare value, gradients and what is left in the arguments with the function itself; returns the gradient."""
    wrt = floats(args) if wrt is None else wrt
    run = in_python(generated(function, *args, wrt=wrt, value=True))
    return compare(run, function, args, wrt, rtol)


def compare(run, function, args, wrt, rtol=1e-7) -> np.ndarray:
    point = flat(tuple(args[k] for k in wrt))

    def at(x: np.ndarray) -> list:
        new = copied(args)
        for k, part in zip(wrt, unflat(tuple(args[k] for k in wrt), x), strict=True):
            new[k] = part if not isinstance(args[k], np.ndarray) else _like(args[k], part)
        return new

    ours, theirs = copied(args), copied(args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value, gradients = run(*ours)
        expected = function(*theirs)
        want = numeric.gradient(lambda x: function(*at(x)), point)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_array_equal(flat(tuple(ours)), flat(tuple(theirs)))
    for gradient, k in zip(gradients, wrt, strict=True):
        if isinstance(args[k], np.ndarray):
            assert gradient.shape == args[k].shape and gradient.dtype == args[k].dtype
    got = flat(tuple(gradients))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * max(np.abs(want).max(initial=0.0), 1e-3))
    return got


@dataclass
class Case:
    """A function, arguments for it, and options of `check`."""

    function: Any
    args: tuple
    options: dict

    def check(self) -> np.ndarray:
        return check(self.function, *self.args, **self.options)


class Cases(list):
    """Small programs, collected by a decorator with their arguments."""

    def __call__(self, *args, **options):
        def decorate(function):
            self.append(Case(function, args, options))
            return function

        return decorate

    @property
    def each(self):
        """Run a test for every program so far."""
        return pytest.mark.parametrize("case", self, ids=[case.function.__name__ for case in self])


def some(n: int = 5) -> np.ndarray:
    """Numbers of both signs, none like the other."""
    return np.sin(1.0 + np.arange(n) * 1.7)


def _like(array: np.ndarray, values: np.ndarray) -> np.ndarray:
    new = array.copy(order="K")
    new[...] = values
    return new
