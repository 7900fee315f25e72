"""What a tangent is: the one place that knows.

Forward mode carries something beside every active value: here a number (`Numbers`), in `vectors` several numbers at
once. The emitter, and everything it dispatches to, asks the algebra for zeros, for what an operand contributes, for the
sum of contributions and for the tangents of array functions; all else (loads, stores, views, branches, loops, lists) is
text that fits any kind of tangent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from jitgrad import rules
from jitgrad.analysis import structure
from jitgrad.analysis.activity import Activity
from jitgrad.program import ir
from jitgrad.transforms.forward import algebra

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter


class Numbers:
    """Tangents are numbers: one direction.

    Methods return source text. `e` is the emitter, whose namespace takes what the text refers to.
    """

    prefix = "jvp"
    converts = False  # whether callers pass and get tangents in another form than generated code has them

    def check(self, program: ir.Program, activity: Activity) -> None:
        """Raise `Unsuitable` where this program's tangents cannot be of this kind."""

    # ----- zeros and allocation ------------------------------------------------------------------
    def zero(self, e: Emitter, ty: types.Type) -> str:
        """The zero of a scalar of type `ty`; 0.0 for what carries no derivative."""
        match structure.strip(ty):
            case types.Float(bitwidth=32):
                return f"{e.use(np, 'np')}.float32(0.0)"
            case types.Complex(bitwidth=64):
                return f"{e.use(np, 'np')}.complex64(0.0)"
            case types.Complex():
                return "0j"
        return "0.0"

    def zeros_like(self, e: Emitter, text: str, ty: types.Type) -> str:
        """Zeros for the array `text` of type `ty`."""
        return f"{e.use(np, 'np')}.zeros_like({text})"

    def empty_like(self, e: Emitter, text: str, ty: types.Type) -> str:
        """An array for the tangents of the array `text`, to be filled."""
        return f"{e.use(np, 'np')}.empty_like({text})"

    def full_like(self, e: Emitter, text: str, ty: types.Type, dot: str) -> str:
        """An array for the tangents of the array `text`, all of them `dot`."""
        return f"{e.use(np, 'np')}.full_like({text}, {dot})"

    # ----- the boundary --------------------------------------------------------------------------
    def enter(self, e: Emitter, text: str, ty: types.Type) -> str:
        """The tangent of a number or array, from the form in which callers pass it."""
        return text

    def leave(self, e: Emitter, text: str, ty: types.Type) -> str:
        """The tangent `text` in the form in which callers want it."""
        return text

    # ----- scalars -------------------------------------------------------------------------------
    def term(
        self,
        row: rules.ScalarRule,
        param: str,
        dot: str,
        kinds: Sequence[types.Type],
        names: Mapping[str, str],
        literals: Mapping[str, Any],
    ) -> str | None:
        """What the tangent `dot` of one operand of a scalar function contributes; as `ScalarRule.push_text`."""
        return row.push_text(param, dot, kinds, names, literals)

    def reads(self, row: rules.ScalarRule, param: str, literals: Mapping[str, Any]) -> frozenset[str]:
        """Which operands, and ``out``, a term reads."""
        return row.needs(param, literals)

    def total(self, e: Emitter, terms: list[str], operands: Sequence[ir.Value], result: types.Type) -> str:
        """The sum of the terms, converted where Numba would give it another type than the result's."""
        text = algebra.total(terms)
        ty = structure.strip(result)
        single = types.float32, types.complex64
        kinds = [structure.strip(v.type) for v in operands]
        active = [kind for kind, v in zip(kinds, operands, strict=True) if e.active(v)]
        if isinstance(ty, types.Complex) and not any(isinstance(t, types.Complex) for t in active):
            return f"{e.use(np, 'np')}.{'complex64' if ty in single else 'complex128'}({text})"
        if ty in single and any(t not in single for t in kinds):
            return f"{e.use(np, 'np')}.{ty.name}({text})"
        return text

    def cast(self, e: Emitter, dot: str, source: types.Type, target: types.Type) -> str:
        """The tangent of a number that is converted to another type."""
        if isinstance(target, types.Complex) and isinstance(source, types.Float):
            return f"complex({dot})"
        return dot

    # ----- functions of arrays -------------------------------------------------------------------
    def function(
        self,
        e: Emitter,
        rule: rules.ArrayRule,
        bound: Mapping[str, Any],
        kinds: Mapping[str, types.Type],
        out: str,
    ) -> str | None:
        """The tangent of an array function's result as one expression, where it is not the sum of contributions."""
        return None

    def pushforward(
        self, rule: rules.ArrayRule, param: str, kinds: dict[str, Any]
    ) -> tuple[Any, tuple[str, ...]] | None:
        """The tangent function of an array function for one argument; as `ArrayRule.pushforward`."""
        return rule.pushforward(param, kinds)

    def push(self, e: Emitter, fn: Any, dot: str, needs: list[str]) -> str:
        """What the tangent `dot` of one argument of an array function contributes, by the tangent function `fn`."""
        return f"{e.use(fn, fn.__name__.lstrip('_'))}({', '.join([dot, *needs])})"

    def accumulate(self, e: Emitter, dot: str, term: str) -> str:
        """The statement that adds a contribution to an array of tangents."""
        return f"{dot} += {term}"

    # ----- calls ---------------------------------------------------------------------------------
    def callee(self, fn: Any, wrt: tuple[int, ...]) -> Any:
        """The tangent function of a function that is called, not inlined; it writes tangents in place."""
        from jitgrad.transforms.forward import nested

        return nested.callee(fn, wrt)
