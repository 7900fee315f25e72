"""Elementwise primitives, made from the engine's scalar rules.

A row of `jitgrad.rules` gives partial derivatives as expressions of scalars. Here the same expressions run on whole
arrays: conditional expressions become `np.where`, and the helpers of `jitgrad.runtime.kernels` get a form for arrays,
which is made from their source too.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.kinds import ScalarRule, ZeroRule
from jitgrad.rules.registry import lookup
from jitgrad.runtime import kernels
from jitgrad.tape.primitive import Primitive, Pull, apply
from jitgrad.tape.tensor import Value


class Elementwise(Primitive):
    """A primitive with the pullbacks of a scalar rule.

    Parameters
    ----------
    name : str
    function : callable
        Computes on arrays.
    rule : ScalarRule
    """

    __slots__ = ("_closed", "_reals", "_rows", "rule")
    traceable = True

    def __init__(self, name: str, function: Callable, rule: ScalarRule):
        super().__init__(name, function, (), integers=True)
        self.rule = rule
        self._rows: dict[tuple, Sequence[Pull | None]] = {}
        self._reals: dict[tuple[int, ...], Callable] = {}
        # what is real was then made of reals
        self._closed = isinstance(function, np.ufunc) and all(
            made.partition("->")[2] in "FDG" for made in function.types if not {*"FDG"}.isdisjoint(made)
        )

    def record(self, recordings, args, kwargs, out):
        if any(type(a) is list or type(a) is tuple for a in args):
            args = [np.array(a) if isinstance(a, (list, tuple)) else a for a in args]  # for the rules, numbers
        return super().record(recordings, args, kwargs, out)

    def cotangents(self, wanted, ct, out, args, kwargs):
        if self._closed and out.dtype.kind == "f":
            joint = self._reals.get(wanted)
            if joint is None:
                joint = self._reals[wanted] = _joint(self.rule, wanted, len(args))
            return joint(ct, out, *args)
        key = tuple([_kind(a) for a in args])
        key = (*key, "c" if out.dtype.kind == "c" else "f")
        pulls = self._rows.get(key)
        if pulls is None:
            pulls = self._rows[key] = _pulls(self.rule, key)
        return [None if pulls[k] is None else pulls[k](ct, out, *args) for k in wanted]


def _kind(arg: Any) -> str:
    if arg is None:
        return "n"
    dtype = getattr(arg, "dtype", None)
    if dtype is None:
        return "c" if isinstance(arg, complex) else "f"
    return "c" if dtype.kind == "c" else "f"


_TYPES = {"n": nbtypes.none, "c": nbtypes.complex128, "f": nbtypes.float64}


def _pulls(rule: ScalarRule, key: tuple[str, ...]) -> list[Pull | None]:
    """A function ``pull(ct, out, *operands)`` for each operand, for operands and result of these kinds."""
    names, texts = _texts(rule, key)
    return [None if text is None else _function(f"lambda ct, out, {names}: {text}") for text in texts]


def _joint(rule: ScalarRule, wanted: tuple[int, ...], count: int) -> Callable:
    """The pullback of several of `count` operands, all of them real: ``joint(ct, out, *operands)``."""
    names, texts = _texts(rule, ("f",) * (count + 1))
    return _function(f"lambda ct, out, {names}: ({' '.join(f'{texts[k]},' for k in wanted)})")


def _texts(rule: ScalarRule, key: tuple[str, ...]) -> tuple[str, list[str | None]]:
    """The names of the operands, and the expression of the cotangent of each."""
    operands = [_TYPES[k] for k in key]
    row = rule.for_call(operands[:-1])
    if row is None:
        raise AssertionError(f"{rule.name} has no row for {key}")
    count = len(operands) - 1
    return ", ".join(row.params[:count]), [row.pull_text(k, "ct", operands) for k in range(count)]


# ----- expressions of scalars, on arrays ------------------------------------------------------------
class _OnArrays(ast.NodeTransformer):
    """Conditions of scalars as operations on arrays."""

    def visit_IfExp(self, node):
        self.generic_visit(node)
        return _call("np.where", node.test, node.body, node.orelse)

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        function = "np.logical_and" if isinstance(node.op, ast.And) else "np.logical_or"
        return functools.reduce(lambda a, b: _call(function, a, b), node.values)

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        return _call("np.logical_not", node.operand) if isinstance(node.op, ast.Not) else node


def _call(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(func=ast.parse(function, mode="eval").body, args=list(args), keywords=[])


def _compiled(tree: ast.expr) -> Any:
    expression = ast.fix_missing_locations(ast.Expression(body=tree))
    return eval(compile(expression, "<jitgrad elementwise rule>", "eval"), namespace())


@functools.cache
def _function(text: str) -> Pull:
    return _compiled(_OnArrays().visit(ast.parse(text, mode="eval").body))


class _Math:
    """`math` for arrays: NumPy's function of the same meaning."""

    _renamed: Mapping[str, str] = {
        "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2", "acosh": "arccosh",
        "asinh": "arcsinh", "atanh": "arctanh", "pow": "power",
    }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in ("pi", "e", "inf", "nan"):
            return getattr(math, name)
        if name in SPECIAL:
            return _special(name)
        return getattr(np, self._renamed.get(name, name))


@functools.cache
def namespace() -> dict[str, Any]:
    """The names that expressions of rules may use, in their form for arrays."""
    found: dict[str, Any] = {"np": np, "math": _Math()}
    for name, kernel in kernels.namespace().items():
        if isinstance(kernel, numba.core.dispatcher.Dispatcher):
            found[name] = _KernelOnDemand(kernel)
    return found


class _KernelOnDemand:
    """A helper of `jitgrad.runtime.kernels` on arrays and tensors, made at the first call."""

    def __init__(self, kernel: Any):
        self.kernel = kernel

    @functools.cached_property
    def function(self) -> Callable:
        return on_arrays(self.kernel)

    @functools.cached_property
    def primitive(self) -> Callable:
        """What to call with tensors: a primitive where the helper has a rule, else its body, operation by operation."""
        rule = lookup(self.kernel)
        name = self.kernel.py_func.__name__
        if rule is None:
            return self.function
        if isinstance(rule, ScalarRule):
            return Elementwise(name, self.function, rule)
        return Primitive(name, self.function, (zero,) * len(inspect.signature(self.kernel.py_func).parameters))

    def __call__(self, *args: Any) -> Any:
        if any(isinstance(a, Value) for a in args):
            return self.primitive(*args)
        return apply(self.kernel, self.function, args)


SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}
"""Functions of `math` that NumPy has not, with their names in `scipy.special`."""


class Special:
    """A function of `SPECIAL` on arrays and tensors."""

    def __init__(self, name: str):
        import scipy.special

        self.function = getattr(scipy.special, SPECIAL[name])
        rule = lookup(getattr(math, name))
        assert isinstance(rule, ScalarRule)
        self.primitive = Elementwise(type_name(name), self.function, rule)

    def __call__(self, x: Any) -> Any:
        return self.primitive(x) if isinstance(x, Value) else self.function(x)


_special = functools.cache(Special)


def on_arrays(kernel: Any) -> Callable:
    """The elementwise function that an njit function of scalars defines.

    From its source if that is a chain of ``if``s and ``return``s; a function with loops is compiled by
    `numba.vectorize`.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(kernel.py_func))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    if any(isinstance(n, (ast.For, ast.While, ast.AugAssign)) for n in ast.walk(tree)):
        ufunc = numba.vectorize(kernel.py_func)

        def vectorized(*args):
            return ufunc(*(a.array if isinstance(a, Value) else a for a in args))

        return vectorized
    body = _branches(tree.body[1:] if ast.get_docstring(tree) else tree.body)
    args = ast.arguments(posonlyargs=[], args=tree.args.args, kwonlyargs=[], kw_defaults=[], defaults=[])
    return _compiled(_OnArrays().visit(ast.Lambda(args=args, body=body)))


def _branches(statements: Sequence[ast.stmt]) -> ast.expr:
    """The value that a chain of ``if c: return a`` with a last ``return b`` returns, as one expression."""
    first, rest = statements[0], statements[1:]
    if isinstance(first, ast.Return) and first.value is not None:
        return first.value
    if isinstance(first, ast.If):
        return ast.IfExp(test=first.test, body=_branches(first.body), orelse=_branches(first.orelse or rest))
    if isinstance(first, ast.Assign) and isinstance(first.targets[0], ast.Name):
        # let name = value in the rest
        name = first.targets[0].id
        args = ast.arguments(posonlyargs=[], args=[ast.arg(name)], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Call(func=ast.Lambda(args=args, body=_branches(rest)), args=[first.value], keywords=[])
    raise AssertionError(f"a kernel with {ast.unparse(first)!r} cannot be written as an expression")


# ----- ufuncs ---------------------------------------------------------------------------------------
TENSORFLOW_NAMES = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "true_divide": "RealDiv", "divide": "RealDiv",
    "negative": "Neg", "positive": "Identity", "power": "Pow", "float_power": "Pow", "absolute": "Abs",
    "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "arctan2": "Atan2", "arcsinh": "Asinh", "arccosh": "Acosh",
    "arctanh": "Atanh", "maximum": "Maximum", "minimum": "Minimum", "remainder": "FloorMod", "conjugate": "Conj",
    "lgamma": "Lgamma", "gammaln": "Lgamma", "psi": "Digamma", "where": "SelectV2", "clip": "ClipByValue",
}  # fmt: skip


def type_name(name: str) -> str:
    """The operation type of a NumPy function: TensorFlow's name, or its own in camel case."""
    return TENSORFLOW_NAMES.get(name) or "".join(part.capitalize() for part in name.split("_"))


@functools.cache
def ufunc_primitive(ufunc: np.ufunc) -> Primitive | None:
    """The primitive of a ufunc (or `np.where`, `np.clip`) with a scalar rule or a derivative of zero; else None."""
    rule = lookup(ufunc)
    if rule is None and "scipy.special" in sys.modules:
        rule = _rules_of_scipy().get(ufunc)
    if rule is None:
        return None
    name = type_name(ufunc.__name__)
    if isinstance(rule, ScalarRule):
        return Elementwise(name, ufunc, rule)
    return Primitive(name, ufunc, (zero,) * ufunc.nin) if isinstance(rule, ZeroRule) else None


@functools.cache
def _rules_of_scipy() -> dict[Any, Any]:
    """The rules of the ufuncs of `scipy.special` that compute the same as a function of `math` or a kernel."""
    import scipy.special

    rules = {getattr(scipy.special, scipys): lookup(getattr(math, name)) for name, scipys in SPECIAL.items()}
    return {**rules, scipy.special.psi: lookup(kernels.digamma)}


def zero(ct, out, *operands):
    """The pullback of a function that is flat wherever it has a slope."""
    return np.zeros_like(ct)
