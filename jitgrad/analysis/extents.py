"""Symbolic shapes: array extents in terms of values that hold for the whole function.

Knowing that two extents are equal saves the code (and the compile time) that broadcasting needs, and an
extent that can be named need not be taped.
"""

from __future__ import annotations

import operator

import numpy as np
from numba.core import types

from jitgrad.analysis.scopes import Scopes
from jitgrad.program import ir

# ("int", n): a constant; ("value", v): an integer value; ("dim", array, axis): an extent of an array
Extent = tuple

SAME_AS_FIRST = {np.copy, np.zeros_like, np.empty_like, np.ones_like, np.full_like, np.ascontiguousarray, np.linalg.inv}
SHAPED = {np.zeros, np.empty, np.ones, np.full}


class Extents:
    """The extents of a program's arrays.

    Only values of the function's own block appear in them: these hold everywhere after their definition.
    """

    def __init__(self, scopes: Scopes):
        self._scopes = scopes
        self._known: dict[tuple[ir.Value, int], Extent | None] = {}

    def __call__(self, value: ir.Value, axis: int) -> Extent | None:
        """The extent of an array along an axis, or None when it cannot be told."""
        key = (value, axis)
        if key not in self._known:
            found = self._infer(value, axis)
            if found is None and self._lasting(value):
                found = ("dim", value, axis)
            self._known[key] = found
        return self._known[key]

    def same(self, a: ir.Value, b: ir.Value) -> bool:
        """Whether two arrays of one rank surely have the same shape."""
        return a.type.ndim == b.type.ndim and all(
            self(a, k) is not None and self(a, k) == self(b, k) for k in range(a.type.ndim)
        )

    def _lasting(self, value: ir.Value) -> bool:
        home = self._scopes.home.get(value)
        return home is not None and home is self._scopes.root

    def number(self, value: ir.Value) -> Extent | None:
        """An integer value as an extent."""
        if isinstance(value, ir.Literal):
            return ("int", value.value) if isinstance(value.value, int) else None
        op = self._scopes.definition.get(value)
        match op:
            case ir.GetItem(base=base, index=(ir.Literal(value=int(k)),)):
                shape = self._scopes.definition.get(base)
                if isinstance(shape, ir.GetAttr) and shape.attr == "shape" and isinstance(shape.base.type, types.Array):
                    return self(shape.base, k % shape.base.type.ndim)
            case ir.GetAttr(base=base, attr="size") if isinstance(base.type, types.Array) and base.type.ndim == 1:
                return self(base, 0)
            case ir.Call(args=[base]) if op.fn is len and isinstance(base.type, types.Array):
                return self(base, 0)
            case ir.Cast(operand=operand):
                return self.number(operand)
        return ("value", value) if self._lasting(value) else None

    def _infer(self, value: ir.Value, axis: int) -> Extent | None:
        op = self._scopes.definition.get(value)
        match op:
            case ir.Loop():
                return self._carried(op, value, axis)
            case ir.If():
                k = op.outs.index(value)
                then, orelse = self(op.then_yields[k], axis), self(op.else_yields[k], axis)
                return then if then == orelse else None
            case ir.Map():
                return self._broadcast(op, axis)
            case ir.Cast(operand=operand):
                return self(operand, axis)
            case ir.InplaceBinary(lhs=lhs):
                return self(lhs, axis)
            case ir.GetAttr(base=base, attr="T") if isinstance(base.type, types.Array):
                return self(base, base.type.ndim - 1 - axis)
            case ir.GetItem(base=base) if isinstance(base.type, types.Array):
                return self._item(op, axis)
            case ir.Binary(fn=operator.matmul, lhs=lhs, rhs=rhs):
                return self._product(lhs, rhs, axis)
            case ir.Method(name="copy", obj=obj):
                return self(obj, axis)
            case ir.Method(name="dot", obj=obj, args=[other]):
                return self._product(obj, other, axis)
            case ir.Call():
                return self._call(op, axis)
        return None

    def _call(self, op: ir.Call, axis: int) -> Extent | None:
        if not op.args:
            return None
        first = op.args[0]
        if ir.among(op.fn, SAME_AS_FIRST) and isinstance(first.type, types.Array):
            return self(first, axis)
        if ir.among(op.fn, SHAPED):
            if isinstance(first.type, types.Integer):
                return self.number(first)
            built = self._scopes.definition.get(first)
            return self.number(built.items[axis]) if isinstance(built, ir.BuildTuple) else None
        if op.fn is np.eye and len(op.args) == 1 and not op.kwargs:
            return self.number(first)
        if op.fn is np.dot and len(op.args) == 2:
            return self._product(op.args[0], op.args[1], axis)
        if op.fn is np.outer and all(isinstance(a.type, types.Array) and a.type.ndim == 1 for a in op.args[:2]):
            return self(op.args[axis], 0)
        if op.fn is np.linalg.solve:
            return self(op.args[1], axis)
        return None

    def _product(self, lhs: ir.Value, rhs: ir.Value, axis: int) -> Extent | None:
        if not all(isinstance(v.type, types.Array) for v in (lhs, rhs)):
            return None
        if lhs.type.ndim == 2 and axis == 0:
            return self(lhs, 0)
        return self(rhs, rhs.type.ndim - 1)

    def _broadcast(self, op: ir.Map, axis: int) -> Extent | None:
        found: Extent | None = None
        for value in op.inputs:
            if not isinstance(value.type, types.Array):
                continue
            own = axis - (op.result.type.ndim - value.type.ndim)
            if own < 0:
                continue
            extent = self(value, own)
            if extent == ("int", 1):
                continue
            if extent is None or (found is not None and extent != found):
                return None
            found = extent
        return found

    def _item(self, op: ir.GetItem, axis: int) -> Extent | None:
        """The extent of an axis of a view: that of the axis it is, unless a proper slice shortens it."""
        kept: list[int | None] = []  # for each axis of the view, the axis of the base
        own = 0
        for item in op.index:
            if isinstance(item, ir.Slice):
                kept.append(own if item == ir.Slice() else None)
            elif not isinstance(item.type, types.Integer):
                return None
            own += 1
        kept += range(own, op.base.type.ndim)
        found = kept[axis]
        return None if found is None else self(op.base, found)

    def _carried(self, op: ir.Loop, value: ir.Value, axis: int) -> Extent | None:
        """The extent of a carried array that every iteration leaves as it was."""
        k = op.params.index(value) if value in op.params else op.outs.index(value)
        start = self(op.inits[k], axis)
        if start is None:
            return None
        before = dict(self._known)
        self._known[op.params[k], axis] = self._known[op.outs[k], axis] = start
        if self(op.yields[k], axis) == start:
            return start
        self._known = before  # what was found under a wrong assumption does not count
        return None
