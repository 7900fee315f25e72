"""The rules of functions that solve an equation: the implicit function theorem, written out as njit functions.

All of them read the result of the solver, ``out``, and the parameters; what they return is ordinary code over these, so
that derivatives of derivatives follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numba.core import types
from numba.np.numpy_support import as_dtype

from jitgrad.api.customrules import zero
from jitgrad.api.jacobians import jacfwd
from jitgrad.api.ruled import FunctionRule, jitted, written
from jitgrad.backend.dispatcher import derivative, once
from jitgrad.backend.engine import Forward, Reverse, read
from jitgrad.backend.structure import describe
from jitgrad.backend.writer import Writer
from jitgrad.errors import ArgumentError, UnsupportedError
from jitgrad.transforms.request import JvpRequest, VjpRequest


class Solution(FunctionRule):
    """What the rules share: the types of unknowns, the text of their functions.

    A subclass writes the lines of `_pulled` and `_pushed`.

    Attributes
    ----------
    start_is_free : bool
        The first argument is where the solver starts, which the result does not depend on.
    """

    start_is_free: ClassVar[bool] = True

    @property
    def what(self) -> str:
        return self.fn.recipe[1]

    @property
    def equation(self) -> Any:
        """The function of the unknown and the parameters."""
        return self.fn.recipe[2]

    @property
    def tolerance(self) -> float | None:
        return self.fn.recipe[5]

    def applies(self, types: dict[str, Any]) -> bool:
        key = "checked", *(types[n] for n in (*self.names, "out"))
        if key not in self.made:
            self._check(types)
            self.made[key] = True
        return True

    def _check(self, found: dict[str, Any]) -> None:
        out, name = found["out"], self.equation.__name__
        if not isinstance(out.dtype if isinstance(out, types.Array) else out, types.Float):
            raise ArgumentError(
                f"{self.what}: the unknown of {name} is {describe(out)}; it must be a float or an array of floats"
            )
        argtypes = (_c_order(out), *(_c_order(types.unliteral(found[n])) for n in self.names[1:]))
        for k in sorted(written(self.equation, argtypes)):
            raise UnsupportedError(
                f"{self.what}: {name} writes into its argument {self.names[k]}, which the derivative needs as it was; "
                "write into a copy"
            )
        result = read(self.equation, argtypes).result.type
        if getattr(result, "ndim", 0) != getattr(out, "ndim", 0):
            raise ArgumentError(
                f"{self.what}: the result of {name} is {describe(result)} where the unknown is {describe(out)}; "
                "there must be one element for each unknown, in the same shape"
            )

    # ----- functions ------------------------------------------------------------------------------
    def _function(self, kind: str, first: str, lines: Callable[[Writer], list[str]]) -> tuple[Any, tuple[str, ...]]:
        """``kind(first, out, *parameters)``; `lines(writer)` are its lines."""
        header = [first, "out", *self.names]
        w = Writer(dict.fromkeys(header))
        written_lines = lines(w)
        namespace = {k: v for k, v in w.namespace.items() if k not in header}
        return jitted(f"{kind}_{self.fn.__name__}", ", ".join(header), written_lines, namespace), ("out", *self.names)

    def joint_pullback(self, active, types):
        return self._function("pull", self.ct, lambda w: self._pulled(active, types, w))

    def pushforward(self, param, types):
        if param == self.names[0] and self.start_is_free:
            return None
        key = "push", param, tuple(types.get(n) for n in (*self.names, "out"))
        if key not in self.made:
            dot = "dot" if "dot" not in self.names else self.ct
            self.made[key] = self._function("push", dot, lambda w: self._pushed(param, dot, types, w))
        return self.made[key]

    def _pulled(self, active: tuple[str, ...], types: dict[str, Any], w: Writer) -> list[str]:
        raise NotImplementedError

    def _pushed(self, param: str, dot: str, types: dict[str, Any], w: Writer) -> list[str]:
        raise NotImplementedError

    # ----- text -----------------------------------------------------------------------------------
    @property
    def at(self) -> str:
        """The arguments of the equation at the solution."""
        return ", ".join(["out", *self.names[1:]])

    def _vjp(self, w: Writer, wrt: tuple[int, ...]) -> str:
        return w.use(derivative(self.equation, Reverse(VjpRequest(wrt, seed="argument"))), "vjp")

    def _jvp(self, w: Writer, wrt: tuple[int, ...]) -> str:
        return w.use(derivative(self.equation, Forward(JvpRequest(wrt))), "jvp")

    def _params_pulled(self, active: tuple[str, ...], types: dict[str, Any], w: Writer, cotangent: str) -> list[str]:
        """Lines that pull a cotangent of the equation back to the parameters, and return theirs."""
        start, parts = self.names[0], w.fresh("parts")
        found = [n for n in active if n != start]
        lines = []
        if found:
            pull = self._vjp(w, tuple(self.names.index(n) for n in found))
            lines.append(f"_, {parts} = {pull}({cotangent}, {self.at})")
        places = {n: f"{parts}[{k}]" for k, n in enumerate(found)}
        results = [places[n] if n in places else zero(types[start], start, w) for n in active]
        return [*lines, _returned(results)]

    def _checked(self, types: dict[str, Any], w: Writer) -> list[str]:
        if self.tolerance is None:
            return []
        gap = f"{w.use(self.equation, 'residual')}({self.at})"
        return [f"{w.use(_check_for(types['out']), 'check')}({gap}, {self.tolerance!r})"]

    def _one_for_each(self, types: dict[str, Any], found: str, wanted: str = "out.shape") -> list[str]:
        """Lines that refuse an equation whose result has another shape than the unknown: `found` is not `wanted`."""
        if not getattr(types["out"], "ndim", 0):
            return []
        text = f"{self.what}: the result of {self.equation.__name__} must have the shape of the unknown"
        return [f"if {found} != {wanted}:", f"    raise ValueError({text!r})"]


def _returned(results: list[str]) -> str:
    return f"return {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"


def _c_order(ty: types.Type) -> types.Type:
    return types.Array(ty.dtype, ty.ndim, "C") if isinstance(ty, types.Array) else ty


@njit(error_model="numpy")
def check_number(gap, tolerance):
    """Raise where a residual is larger than the tolerance."""
    if not abs(gap) <= tolerance:
        raise ValueError("the solver stopped where the residual is larger than the tolerance")


@njit(error_model="numpy")
def check_elements(gap, tolerance):
    """As `check_number`, for an array."""
    for g in gap.flat:
        check_number(g, tolerance)


def _check_for(out: types.Type) -> Any:
    return check_elements if isinstance(out, types.Array) else check_number


def solving(matrix: str, right: str, out: str, ty: types.Type, w: Writer) -> str:
    """The text of ``matrix^-1 right``, with the shape of the unknown `out`; `matrix` is the text of the Jacobian."""
    if not isinstance(ty, types.Array):
        return f"{right} / {matrix.removesuffix('.T')}"
    np_ = w.use(np, "np")
    if ty.ndim == 1:
        return f"{np_}.linalg.solve({matrix}, {right})"
    transposed = matrix.endswith(".T")
    flat = f"{matrix.removesuffix('.T')}.reshape({out}.size, {out}.size){'.T' * transposed}"
    return f"{np_}.linalg.solve({flat}, {np_}.ascontiguousarray({right}).reshape({out}.size)).reshape({out}.shape)"


class Root(Solution):
    """Of ``residual(x, *params) = 0``, by the dense Jacobian of the residual."""

    def _pulled(self, active, types, w):
        jac, slope, weights = w.use(jacfwd(self.equation, 0), "jacobian"), w.fresh("slope"), w.fresh("weights")
        solved = solving(f"{slope}.T", self.ct, "out", types["out"], w)
        return [
            *self._checked(types, w),
            f"{slope} = {jac}({self.at})",
            *self._one_for_each(types, f"{slope}.shape", "out.shape + out.shape"),
            f"{weights} = -({solved})",
            *self._params_pulled(active, types, w, weights),
        ]

    def _pushed(self, param, dot, types, w):
        jac, slope, change = w.use(jacfwd(self.equation, 0), "jacobian"), w.fresh("slope"), w.fresh("change")
        return [
            *self._checked(types, w),
            f"{slope} = {jac}({self.at})",
            *self._one_for_each(types, f"{slope}.shape", "out.shape + out.shape"),
            f"_, {change} = {self._jvp(w, (self.names.index(param),))}(({dot},), {self.at})",
            f"return -({solving(slope, change, 'out', types['out'], w)})",
        ]


class Iterated(Solution):
    """Of ``x = map(x, *params)``, by iterating the derivative of the map; itself a fixed point, of the same kind."""

    def _checked(self, types, w):
        if self.tolerance is None:
            return []
        gap = f"out - {w.use(self.equation, 'map')}({self.at})"
        return [f"{w.use(_check_for(types['out']), 'check')}({gap}, {self.tolerance!r})"]

    def _pulled(self, active, types, w):
        weights, solve = w.fresh("weights"), w.use(self._equation_of("adjoint", types["out"]), "adjoint")
        return [
            *self._checked(types, w),
            *self._one_for_each(types, f"{w.use(self.equation, 'map')}({self.at}).shape"),
            f"{weights} = {solve}({self.ct}, {self.ct}, {self.at})",
            *self._params_pulled(active, types, w, weights),
        ]

    def _pushed(self, param, dot, types, w):
        change, solve = w.fresh("change"), w.use(self._equation_of("tangent", types["out"]), "tangent")
        return [
            *self._checked(types, w),
            f"_, {change} = {self._jvp(w, (self.names.index(param),))}(({dot},), {self.at})",
            *self._one_for_each(types, f"{change}.shape"),
            f"return {solve}({change}, {change}, {self.at})",
        ]

    def _equation_of(self, kind: str, out: types.Type) -> Any:
        """``solve(start, given, out, *params)``: the w with ``w = given + G w`` ("tangent") or ``w = given + G^T w``.

        G is the Jacobian of the map with respect to the unknown.
        """
        is_array = isinstance(out, types.Array)
        dtype = as_dtype(out.dtype if is_array else out)
        return once(self.fn, (kind, is_array, dtype), lambda: self._iterated(kind, is_array, dtype))

    def _iterated(self, kind: str, is_array: bool, dtype: np.dtype) -> Any:
        from jitgrad.implicit.equations import fixed_point

        *_, rtol, limit = self.fn.recipe
        rtol = max(rtol, 4.0 * float(np.finfo(dtype).eps))  # rounding may go on changing the last digits
        params = self.names[1:]
        w = Writer(dict.fromkeys(params))
        weights, given, point, moved, change, step = (
            w.fresh(n) for n in ("weights", "given", "point", "moved", "change", "step")
        )
        at = ", ".join([point, *params])
        header = f"{weights}, {given}, {at}"
        if kind == "adjoint":
            product = f"{self._vjp(w, (0,))}({weights}, {at})[1][0]"
        else:
            product = f"{self._jvp(w, (0,))}(({weights},), {at})[1]"
        namespace = {k: v for k, v in w.namespace.items() if k not in params}
        once_more = jitted(f"{kind}_{self.equation.__name__}", header, [f"return {given} + {product}"], namespace)
        size = "np.sum(np.abs({}))" if is_array else "abs({})"
        lines = [
            f"for _ in range({limit}):",
            f"    {moved} = {step}({header})",
            f"    {change} = {size.format(f'{moved} - {weights}')}",
            f"    {weights} = {moved}",
            f"    if {change} <= {rtol!r} * (1.0 + {size.format(moved)}) < np.inf:",
            f"        return {weights}",
            f"raise ArithmeticError('fixed_point: iterating the {kind} of {self.equation.__name__} did not converge in "
            f'{limit} iterations; use adjoint="solve"\')',
        ]
        iterate = jitted(f"iterate_{kind}", header, lines, {step: once_more, "np": np})
        return fixed_point(once_more, iterate, adjoint="iterate", rtol=rtol, max_iterations=limit)


class Linear(Solution):
    """Of ``matvec(x, *params) = b``. The first argument is `b`."""

    start_is_free: ClassVar[bool] = False

    @property
    def what(self) -> str:
        return "linear_solve"

    @property
    def equation(self) -> Any:
        return self.fn.recipe[1]

    @property
    def tolerance(self) -> float | None:
        return None

    def _solved(self, solve: Any, right: str, w: Writer) -> str:
        return f"{w.use(solve, 'solve')}({', '.join([right, *self.names[1:]])})"

    def _pulled(self, active, types, w):
        *_, transpose_solver, symmetric = self.fn.recipe
        weights, parts, lines = w.fresh("weights"), w.fresh("parts"), []
        if symmetric:
            solved = self._solved(self.fn, self.ct, w)
        elif transpose_solver is not None:
            solved = self._solved(self._transposed(), self.ct, w)
        else:
            matrix = w.fresh("matrix")
            lines = [f"{matrix} = {w.use(jacfwd(self.equation, 0), 'jacobian')}({self.at})"]
            lines += self._one_for_each(types, f"{matrix}.shape", "out.shape + out.shape")
            solved = solving(f"{matrix}.T", self.ct, "out", types["out"], w)
        found = [n for n in active if n != self.names[0]]
        lines.append(f"{weights} = {solved}")
        if found:
            pull = self._vjp(w, tuple(self.names.index(n) for n in found))
            lines.append(f"_, {parts} = {pull}(-{weights}, {self.at})")
        places = {n: f"{parts}[{k}]" for k, n in enumerate(found)} | {self.names[0]: weights}
        return [*lines, _returned([places[n] for n in active])]

    def _pushed(self, param, dot, types, w):
        if param == self.names[0]:
            return [f"return {self._solved(self.fn, dot, w)}"]
        change = w.fresh("change")
        return [
            f"_, {change} = {self._jvp(w, (self.names.index(param),))}(({dot},), {self.at})",
            f"return -{self._solved(self.fn, change, w)}",
        ]

    def _transposed(self) -> Any:
        """The solution of the transposed equation, whose transpose is this one."""
        from jitgrad.implicit.equations import linear_solve

        _, matvec, solver, transpose_solver, _ = self.fn.recipe

        def make() -> Any:
            names = ", ".join(self.names)
            pull = derivative(matvec, Reverse(VjpRequest((0,), seed="argument")))
            # where the pullback of the product is taken does not matter, as the product is linear
            lines = [f"return pull_({self.names[0]}, {names})[1][0]"]
            return jitted(f"transposed_{matvec.__name__}", names, lines, {"pull_": pull})

        return linear_solve(once(matvec, "transposed product", make), transpose_solver, transpose_solver=solver)
