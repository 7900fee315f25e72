"""Tangents in several directions at once: a vector for a number, an array of vectors for an array."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from numba.core import types
from numba.core.dispatcher import Dispatcher
from numpy.lib import stride_tricks

from jitgrad import rules
from jitgrad.analysis import effects, structure
from jitgrad.analysis.activity import Activity
from jitgrad.program import ir
from jitgrad.runtime import lanes, vectors
from jitgrad.transforms.forward import algebra
from jitgrad.transforms.forward.tangents import Numbers
from jitgrad.transforms.request import JvpRequest

if TYPE_CHECKING:
    from jitgrad.transforms.forward.emitter import Emitter

_FLOATS = (types.float64, types.float32)


class Unsuitable(Exception):
    """The tangents of a program cannot all be vectors: its directions are to be computed one by one."""


class Vectors(Numbers):
    """Tangents are vectors of `width` numbers.

    Callers pass and get arrays of numbers whose last axis is that of the directions. Functions of arrays use the rule's
    `push_vectors` where it has one; else its tangent function runs for each direction in turn.
    """

    converts = True

    def __init__(self, width: int):
        self.width = width
        self.prefix = f"jvp{width}"

    def check(self, program: ir.Program, activity: Activity) -> None:
        """Complex numbers, records, typed lists, lists that come in or go out, and calls that are not inlined."""
        passed = [*program.params, program.result]
        for value in [*passed, *(v for op in ir.walk(program.body) for v in _defined(op))]:
            if activity.active(value) and not _fits(value.type, lists=value not in passed):
                raise Unsuitable(f"{value.name} is a {value.type}")
        for op in ir.walk(program.body):
            if not isinstance(op, ir.Call):
                continue
            if op.fn is stride_tricks.as_strided:
                raise Unsuitable("as_strided counts bytes")
            own = isinstance(op.fn, Dispatcher) and effects.rule_of(op) is None
            if own and any(activity.active(v) for v in (*op.results, *op.operands)):
                raise Unsuitable(f"{op.fn.__name__} is called by its own derivative")

    # ----- zeros and allocation ------------------------------------------------------------------
    def zero(self, e: Emitter, ty: types.Type) -> str:
        ty = _dtype(ty)  # Numba says array for np.where of numbers
        return self._zero(e, ty) if isinstance(ty, types.Float) else "0.0"

    def _zero(self, e: Emitter, dtype: types.Type) -> str:
        return e.use(vectors.zero(dtype, self.width), "zero")

    def zeros_like(self, e: Emitter, text: str, ty: types.Type) -> str:
        return f"{e.use(vectors.zeros_like, 'zeros_like')}({text}, {self._zero(e, _dtype(ty))})"

    def empty_like(self, e: Emitter, text: str, ty: types.Type) -> str:
        return f"{e.use(vectors.empty_like, 'empty_like')}({text}, {self._zero(e, _dtype(ty))})"

    def full_like(self, e: Emitter, text: str, ty: types.Type, dot: str) -> str:
        return f"{e.use(vectors.full_like)}({text}, {dot})"

    # ----- the boundary --------------------------------------------------------------------------
    def enter(self, e: Emitter, text: str, ty: types.Type) -> str:
        convert = vectors.vectors if isinstance(structure.strip(ty), types.Array) else vectors.vector
        return f"{e.use(convert)}({text}, {self._zero(e, _dtype(ty))})"

    def leave(self, e: Emitter, text: str, ty: types.Type) -> str:
        return f"{e.use(vectors.numbers)}({text})"

    # ----- scalars -------------------------------------------------------------------------------
    def total(self, e: Emitter, terms: list[str], operands: Sequence[ir.Value], result: types.Type) -> str:
        tree = ast.parse(algebra.total(terms), mode="eval").body
        dots = {e.dot(v) for v in operands if e.active(v)}
        text = ast.unparse(for_vectors(tree, dots, e.use, self.zero(e, result)))
        single = structure.strip(result) == types.float32
        if single and any(structure.strip(v.type) != types.float32 for v in operands):
            return f"{e.use(vectors.single)}({text})"
        return text

    def cast(self, e: Emitter, dot: str, source: types.Type, target: types.Type) -> str:
        if isinstance(source, types.Float) and isinstance(target, types.Float) and source != target:
            convert = vectors.single if target == types.float32 else vectors.double
            return f"{e.use(convert)}({dot})"
        return dot

    # ----- functions of arrays -------------------------------------------------------------------
    def pushforward(
        self, rule: rules.ArrayRule, param: str, kinds: dict[str, Any]
    ) -> tuple[Any, tuple[str, ...]] | None:
        found = rule.pushforward_vectors(param, kinds) or rule.pushforward(param, kinds)
        if found is None or rule.pushforward_vectors(param, kinds) is not None:
            return found
        fn, needs = found
        return lanes.lane_by_lane(fn, self.width, len(needs)), needs

    def accumulate(self, e: Emitter, dot: str, term: str) -> str:
        return f"{e.use(lanes.add_into)}({dot}, {term})"


def for_vectors(tree: ast.expr, dots: Collection[str], use: Callable[[Any, str], str], zero: str = "0.0") -> ast.expr:
    """An expression of tangents with the helpers for vectors in the place of those for numbers.

    The products of `runtime.kernels` become those of `runtime.vectors` where a factor is one of the tangents `dots`,
    and a 0.0 that stands for one becomes `zero`.
    """
    return _ForVectors(dots, use, zero).visit(tree)


class _ForVectors(ast.NodeTransformer):
    def __init__(self, dots: Collection[str], use: Callable[[Any, str], str], zero: str):
        self.dots, self.use, self.zero = dots, use, zero

    def _is_dot(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.dots

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id="mul0" | "div0" as name), args=[x, _]) if self._is_dot(x):
                node.func = ast.Name(self.use(getattr(vectors, name), f"{name}_each"))
            case ast.Call(func=ast.Name(id="mul0"), args=[_, y]) if self._is_dot(y):
                node.func = ast.Name(self.use(vectors.select0, "select0"))
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """``x_dot if c else 0.0``."""
        if self._is_dot(node.body):
            node.orelse = ast.Name(self.zero)
        elif self._is_dot(node.orelse):
            node.body = ast.Name(self.zero)
        return node


def suitable(program: ir.Program, request: JvpRequest) -> bool:
    """Whether the tangents of a program can be vectors."""
    try:
        Vectors(request.width).check(program, Activity(program, request.wrt, request.outs, request.inplace))
    except Unsuitable:
        return False
    return True


def _defined(op: ir.Op) -> list[ir.Value]:
    """The values that an operation defines, for itself and in its blocks."""
    return [*op.results, *getattr(op, "params", [])]


def _dtype(ty: types.Type) -> types.Type:
    ty = structure.strip(ty)
    return getattr(ty, "dtype", ty) if isinstance(ty, types.Array) else ty


def _fits(ty: types.Type, lists: bool) -> bool:
    """Whether the tangent of a value of this type can be made of vectors; with `lists`, in lists too."""
    ty = structure.strip(ty)
    match ty:
        case types.Float():
            return ty in _FLOATS
        case types.Array():
            return type(ty) is types.Array and (ty.dtype in _FLOATS or structure.kind(ty) is None)
        case types.NumpyFlatType():
            return _fits(ty.array_type, lists)
        case types.BaseTuple():
            return all(_fits(item, lists) for item in ty.types)
        case types.List():
            return lists and _fits(ty.dtype, lists)
    return structure.kind(ty) is None
