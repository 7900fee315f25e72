"""Detection code: a program with, beside every value, the set of the columns that it depends on.

It is forward mode with another kind of tangent. A set has 64 bits, so that a sweep follows 64 columns, or groups of
columns; a sum of products becomes the union of sets. Values are computed as ever, so branches, loops, indices and views
are those of the run. Partial derivatives are not: that of ``x ** 2`` counts where it happens to be zero, as does the
side of `np.where` that was not taken. Only what is zero everywhere, such as the derivative of `floor`, counts as zero.

Functions of arrays, by the rule:

====================  =============================================================================================
view                  the same view of the sets
moves elements        the same movement of the sets (`MOVES`)
products, sums, ...   the rows and columns that an element is made of (`unions`)
any other             every element of the result depends on every element of the arguments
====================  =============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba.core import types
from numpy.lib.stride_tricks import as_strided

from jitgrad import rules
from jitgrad.analysis import structure
from jitgrad.analysis.activity import Activity
from jitgrad.backend.dispatcher import derivative
from jitgrad.errors import UnsupportedError, where
from jitgrad.program import ir
from jitgrad.sparse import unions
from jitgrad.transforms.forward import arrays, zeros
from jitgrad.transforms.forward.tangents import Numbers
from jitgrad.transforms.request import JvpRequest

# Functions whose tangent is made by moving the elements of the argument's tangent.
MOVES = frozenset(
    {
        "array.astype", "array.flatten", "array.item", "np.array", "np.asarray", "np.ascontiguousarray",
        "np.asfortranarray", "np.broadcast_arrays", "np.broadcast_to", "np.column_stack", "np.concatenate", "np.copy",
        "np.diag", "np.diagflat", "np.dstack", "np.extract", "np.hstack", "np.partition", "np.ravel", "np.repeat",
        "np.roll", "np.sort", "np.stack", "np.take", "np.take_along_axis", "np.tril", "np.triu", "np.unique",
        "np.vstack", "np.lib.stride_tricks.sliding_window_view",
    }
)  # fmt: skip


class BitSets(Numbers):
    """Tangents are sets: unsigned integers of 64 bits, and arrays of them."""

    prefix = "sets"

    def check(self, program: ir.Program, activity: Activity) -> None:
        for op in ir.walk(program.body):
            for value in (*op.results, *op.operands):
                if activity.active(value):
                    self._check_value(value, op)
            if isinstance(op, ir.GetAttr) and op.attr == "imag" and self._is_array(activity, op.base):
                raise UnsupportedError(  # the view of a set would be empty
                    f"detection does not follow `.imag` of an array {_at(op)}; write np.imag, or pass the pattern as "
                    "sparsity"
                )
            if isinstance(op, ir.Call) and op.fn is as_strided and self._is_array(activity, op.args[0]):
                if structure.strip(op.args[0].type).dtype.bitwidth != 64:  # strides count bytes
                    raise UnsupportedError(
                        f"detection follows strides of double precision only ({_at(op)}); pass the pattern as sparsity"
                    )

    @staticmethod
    def _is_array(activity: Activity, value: ir.Value) -> bool:
        return isinstance(structure.strip(value.type), types.Array) and activity.active(value)

    @staticmethod
    def _check_value(value: ir.Value, op: ir.Op) -> None:
        ty = structure.strip(value.type)
        inner = getattr(ty, "dtype", ty)
        if isinstance(ty, types.ListType) or isinstance(inner, types.Record):
            what = "typed lists" if isinstance(ty, types.ListType) else "structured arrays"
            raise UnsupportedError(
                f"detection does not follow {what} ({value.name} {_at(op)}); pass the pattern as sparsity"
            )

    def callee(self, fn, wrt):
        from jitgrad.sparse.detection import Sets

        return derivative(fn, Sets(JvpRequest(wrt, None, inplace=True)))

    # ----- zeros and allocation ------------------------------------------------------------------
    def zero(self, e, ty):
        return f"{e.use(np, 'np')}.uint64(0)"

    def zeros_like(self, e, text, ty):
        numpy = e.use(np, "np")
        return f"{numpy}.zeros_like({text}, {numpy}.uint64)"

    def empty_like(self, e, text, ty):
        numpy = e.use(np, "np")
        return f"{numpy}.empty_like({text}, {numpy}.uint64)"

    def full_like(self, e, text, ty, dot):
        numpy = e.use(np, "np")
        return f"{numpy}.full_like({text}, {dot}, {numpy}.uint64)"

    # ----- scalars -------------------------------------------------------------------------------
    def term(self, row, param, dot, kinds, names, literals):
        return dot

    def reads(self, row, param, literals):
        return frozenset()

    def total(self, e, terms: Sequence[str], operands, result):
        return " | ".join(dict.fromkeys(terms))

    def cast(self, e, dot, source, target):
        return dot

    # ----- functions of arrays -------------------------------------------------------------------
    def function(self, e, rule: rules.ArrayRule, bound: Mapping[str, Any], kinds: Mapping[str, types.Type], out: str):
        active = [name for name, value in bound.items() if any(e.active(v) for v in arrays.flat(value))]
        sets = {name: arrays.tangent(e, bound[name]) for name in active}
        text = self._moved(e, rule, bound, kinds, out, sets) or self._made(e, rule.name, bound, kinds, out, sets)
        if text is not None:
            return text
        every = " | ".join(f"{e.use(unions.union_of)}({text})" for text in sets.values())
        return self._filled(e, every, out, kinds["out"])

    def _moved(self, e, rule, bound, kinds, out, sets) -> str | None:
        if rule.name not in MOVES or len(sets) != 1:
            return None
        ((param, text),) = sets.items()
        found = rule.pushforward(param, kinds)
        if found is None:
            return None
        fn, needs = found
        uint64 = f"{e.use(np, 'np')}.uint64"
        wanted = [uint64 if name == "out_dtype" else arrays.need(e, name, bound, kinds, out) for name in needs]
        moved = f"{e.use(fn, fn.__name__.lstrip('_'))}({', '.join([text, *wanted])})"
        single = structure.kind(kinds["out"]) in (structure.SCALAR, structure.ARRAY)
        return f"{e.use(unions.only_sets)}({moved})" if single else moved

    def _made(self, e, name, bound, kinds, out, sets) -> str | None:
        """Of functions whose elements depend on some of the arguments' elements."""
        ranks = {param: getattr(structure.strip(ty), "ndim", 0) for param, ty in kinds.items() if param in bound}
        texts = {param: sets.get(param) or self._nothing(e, value) for param, value in bound.items()}

        def call(fn: Any, *args: str) -> str:
            return f"{e.use(fn)}({', '.join([*args, out])})"

        match name:
            case "np.dot" if (ranks["a"], ranks["b"]) in PRODUCTS:
                return call(PRODUCTS[ranks["a"], ranks["b"]], texts["a"], texts["b"])
            case "np.outer":
                return call(unions.outer, texts["a"], texts["b"])
            case "np.sum" if structure.kind(kinds["out"]) == structure.ARRAY and isinstance(
                kinds["axis"], types.Integer
            ):
                return call(unions.sum_along, texts["a"], arrays.need(e, "axis", bound, kinds, out))
            case "np.cumsum" | "np.cumprod" | "np.nancumsum" | "np.nancumprod":
                return call(unions.running, texts["a"])
            case "np.diff":
                return call(unions.differences, texts["a"], arrays.need(e, "n", bound, kinds, out))
            case "np.bincount" if list(sets) == ["weights"]:
                return call(unions.binned, arrays.need(e, "a", bound, kinds, out), texts["weights"])
            case "np.interp" if ranks["x"]:
                nodes = [f"{e.use(unions.union_of)}({sets[param]})" for param in ("xp", "fp") if param in sets]
                return " | ".join([texts["x"], *(nodes or [self.zero(e, kinds["x"])])])
        return None

    def _nothing(self, e, value: Any) -> str:
        """Empty sets for an array that depends on nothing."""
        array = isinstance(value, ir.Value) and isinstance(structure.strip(value.type), types.Array)
        return self.zeros_like(e, e.name(value), value.type) if array else ""

    def _filled(self, e, every: str, out: str, ty: types.Type) -> str:
        """Something of type `ty` in which every set is the same."""
        ty = structure.strip(ty)
        match structure.kind(ty):
            case structure.SCALAR:
                return every
            case structure.ARRAY:
                return self.full_like(e, out, ty, every)
            case structure.TUPLE:
                parts = [self._filled(e, every, f"{out}[{k}]", item) for k, item in enumerate(ty.types)]
                return zeros.build(e, ty, parts)
            case None:
                return self.zero(e, ty)
        raise UnsupportedError(f"detection does not follow a result of type {ty}; pass the pattern as sparsity")


PRODUCTS = {(2, 2): unions.matrix_product, (2, 1): unions.matrix_vector, (1, 2): unions.vector_matrix}


def _at(op: ir.Op) -> str:
    place = where(op.loc)
    return f"at {place}" if place else "in this function"
