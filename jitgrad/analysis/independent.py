"""Proofs that the iterations of a `prange` loop stay independent in its adjoint.

The user promises that the iterations of the primal do not disturb each other; those of its adjoint may still: where
iterations read the same number, their adjoints write the same adjoint. An array that the loop touches is

direct   when every access has, on one axis, the loop's counter plus a constant: the adjoint of an iteration stays
         within a window of that axis, and chunks of iterations that are not neighbours touch nothing in common
shared   when the loop only reads it: its adjoint is only added to, so every chunk may have an accumulator of its own

and anything else keeps the loop serial. Written arrays must be direct with one and the same constant.

Source: the shared-memory conditions are those of Hückelheim & Hascoët, "Source-to-source automatic differentiation of
OpenMP parallel loops" (ACM TOMS 48, 2022), sections 3 and 4; cutting a loop into chunks and running those that may
touch in two turns takes the place of their transposed loops.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Any

from numba.core import types

from jitgrad.analysis import carried, effects
from jitgrad.analysis.activity import Activity
from jitgrad.analysis.memory import Memory, viewed, written_values
from jitgrad.analysis.scopes import Scope, Scopes
from jitgrad.program import ir


@dataclass
class Plan:
    """How the adjoint of a loop may be computed in parallel.

    Attributes
    ----------
    direct : set of Value
        Arrays from outside whose adjoint the iterations write in place.
    shared : dict
        Arrays from outside that are only read -> whether an inner loop reads them.
    window : int
        Iterations closer than this may touch the same element of a direct adjoint.
    lowest : set of (Value or None, int)
        Starts and constants of the indices, whose sum must not be negative: those would count from the end.
    """

    direct: set[ir.Value] = field(default_factory=set)
    shared: dict[ir.Value, bool] = field(default_factory=dict)
    window: int = 0
    lowest: set[tuple[ir.Value | None, int]] = field(default_factory=set)


@dataclass(frozen=True)
class Access:
    """One access to an array from outside the loop: the axes at which its index is known, and how."""

    array: ir.Value
    pins: dict[int, ir.Value]
    write: bool
    nested: bool


# ----- the loop itself -----------------------------------------------------------------------------
def asked(loop: ir.Loop, options: dict[str, Any]) -> bool:
    """Whether the user wrote a parallel loop; with bounds checks, whose errors threads would lose, it stays serial."""
    return loop.parallel and bool(options.get("parallel")) and not options.get("boundscheck")


def plain(loop: ir.Loop, scopes: Scopes) -> bool:
    """Whether a loop is counted, carries nothing but sums, and does nothing that threads must not do.

    They must not raise: an error does not leave a parallel loop.
    """
    if loop.count is None or loop.again is not None or loop.trips is not None:
        return False
    for op in ir.walk(loop.body):
        match op:
            case (
                ir.Raise() | ir.Print() | ir.SetAttr() | ir.CallValue() | ir.BuildList() | ir.BuildSet() | ir.BuildMap()
            ):
                return False
            case ir.Call() | ir.Method() if effects.effect(op).escapes:
                return False
            case _ if _may_raise(op):
                return False
            case ir.If() if any(_holds_arrays(v.type) for v in op.outs):
                return False
            case ir.Loop() if any(_holds_arrays(v.type) for v in op.params):
                return False
            case ir.BuildTuple() if _holds_arrays(op.result.type):
                return False
        if any(isinstance(v.type, (types.List, types.ListType, types.DictType, types.Set)) for v in op.operands):
            return False
    return all(is_sum(loop, k, scopes) for k in range(len(loop.params)))


SAFE = frozenset({"sum", "mean", "prod", "copy", "any", "all", "ravel", "flatten", "len", "zeros_like", "empty_like"})


def _may_raise(op: ir.Op) -> bool:
    """Whether an operation on arrays may raise, as for shapes that do not fit."""
    arrays = [v for v in op.operands if isinstance(v.type, types.Array)]
    match op:
        case ir.Call():
            return bool(arrays) and getattr(op.fn, "__name__", "") not in SAFE
        case ir.Method():
            return op.name not in SAFE
        case ir.SetItem():
            return isinstance(op.value.type, types.Array)
        case ir.Map():
            return len(set(arrays)) > 1
        case ir.Binary() | ir.InplaceBinary():
            return len(arrays) > 1
        case ir.GetItem():
            return effects.is_copy(op) or any(isinstance(v.type, types.Array) for v in ir.index_values(op.index))
    return False


def _holds_arrays(ty: types.Type) -> bool:
    if isinstance(ty, types.BaseTuple):
        return any(_holds_arrays(item) for item in ty)
    return not isinstance(ty, (types.Number, types.Boolean, types.NoneType, types.UnicodeType))


def is_sum(loop: ir.Loop, k: int, scopes: Scopes) -> bool:
    """Whether carried number `k` is only ever added to, in branches and inner loops too."""
    param = loop.params[k]
    if not isinstance(param.type, types.Number) or loop.yields[k].type != param.type:
        return False
    partial = _PartialSums(param, scopes)
    return partial.reach(loop.yields[k]) and partial.unseen()


class _PartialSums:
    """The values between the start of an iteration's sum and its end.

    Attributes
    ----------
    taken : dict
        Partial sum -> how often it was met on the way. Where it has more uses than that, something else reads it.
    """

    def __init__(self, param: ir.Value, scopes: Scopes):
        self._scopes = scopes
        self.taken: dict[ir.Value, int] = {param: 0}

    def unseen(self) -> bool:
        """Whether nothing reads a partial sum but the next sum."""
        return all(len(self._scopes.uses.get(v, [])) == n for v, n in self.taken.items())

    def reach(self, value: ir.Value) -> bool:
        """Whether `value` is a partial sum, which something on the way takes."""
        if value not in self.taken:
            if not self._made(value):
                return False
            self.taken[value] = 0
        self.taken[value] += 1
        return True

    def _made(self, value: ir.Value) -> bool:
        op = self._scopes.definition.get(value)
        match op:
            case ir.Binary(fn=operator.add):
                return sum([self.reach(op.lhs), self.reach(op.rhs)]) == 1
            case ir.Binary(fn=operator.sub):
                return self.reach(op.lhs) and not self.reach(op.rhs)
            case ir.If():
                k = op.outs.index(value)
                return self.reach(op.then_yields[k]) and self.reach(op.else_yields[k])
            case ir.Loop() if value in op.outs:
                k = op.outs.index(value)
                if op.again is not None or not self.reach(op.inits[k]):
                    return False
                self.taken[op.params[k]] = 0
                return self.reach(op.yields[k])
        return False


# ----- its arrays ----------------------------------------------------------------------------------
def plan(loop: ir.Loop, scopes: Scopes, memory: Memory, activity: Activity) -> Plan | None:
    """How the adjoint of a `plain` loop may run in parallel; None where that is not proven."""
    accesses = _accesses(loop, scopes, memory)
    if accesses is None:
        return None
    found = Plan()
    by_array: dict[ir.Value, list[Access]] = {}
    for access in accesses:
        if activity.active(access.array):
            by_array.setdefault(access.array, []).append(access)
    for array, own in by_array.items():
        others = [a for other, found_accesses in by_array.items() if other is not array for a in found_accesses
                  if not distinct(array, other, scopes, memory, activity)]  # fmt: skip
        written = any(a.write for a in (*own, *others))
        offsets = None if others else _offsets(own, loop, scopes)
        if offsets is not None and (not written or len({c for _, c in offsets}) == 1):
            found.direct.add(array)
            found.lowest |= offsets
            constants = [c for _, c in offsets]
            found.window = max(found.window, max(constants) - min(constants))
        elif not written:
            found.shared[array] = any(a.nested for a in own)
        else:
            return None
    return found


def _offsets(accesses: list[Access], loop: ir.Loop, scopes: Scopes) -> set[tuple[ir.Value | None, int]] | None:
    """Start and constants of the indices at an axis where all of them follow the loop's counter."""
    for axis in set.intersection(*(set(a.pins) for a in accesses)):
        found = {affine(a.pins[axis], loop, scopes) for a in accesses}
        if None not in found and len({start for start, _ in found}) == 1:  # type: ignore[misc]
            return found  # type: ignore[return-value]
    return None


def affine(value: ir.Value, loop: ir.Loop, scopes: Scopes) -> tuple[ir.Value | None, int] | None:
    """``(start, c)`` when `value` is ``loop.index + start + c``, with a `start` from outside the loop."""
    if value is loop.index:
        return None, 0
    op = scopes.definition.get(value)
    match op:
        case ir.Cast(operand=operand) if isinstance(operand.type, types.Integer) and value.type.bitwidth == 64:
            return affine(operand, loop, scopes)
        case ir.Binary(fn=operator.add, lhs=lhs, rhs=rhs):
            for a, b in ((lhs, rhs), (rhs, lhs)):
                known = affine(a, loop, scopes)
                if known is None:
                    continue
                start, c = known
                if isinstance(b, ir.Literal):
                    return (start, c + b.value) if type(b.value) is int else None
                if start is None and _outside(b, loop, scopes) and isinstance(b.type, types.Integer):
                    return b, c
        case ir.Binary(fn=operator.sub, lhs=lhs, rhs=ir.Literal(value=int(step))):
            known = affine(lhs, loop, scopes)
            return None if known is None else (known[0], known[1] - step)
    return None


def _outside(value: ir.Value, loop: ir.Loop, scopes: Scopes) -> bool:
    home = scopes.home.get(value)
    return home is not None and loop not in scopes.loops(home)


def _accesses(loop: ir.Loop, scopes: Scopes, memory: Memory) -> list[Access] | None:
    """All accesses to arrays from outside; None where one is not understood."""
    found: list[Access] = []

    def add(value: ir.Value, index: tuple[ir.IndexItem, ...], write: bool, op: ir.Op) -> None:
        if not isinstance(value.type, types.Array) or isinstance(value, (ir.Literal, ir.Global)):
            return
        region = _region(value, loop, scopes)
        if region is not None:
            array, pins, _ = _within(region, index)
            found.append(Access(array, pins, write, scopes.at[op].loop is not loop))

    for op in ir.walk(loop.body):
        match op:
            case ir.If() | ir.Loop() | ir.BuildTuple() | ir.Cast():
                continue
            case ir.GetItem() if not isinstance(op.base.type, types.Array):
                if not isinstance(op.base.type, types.BaseTuple) or _holds_arrays(op.result.type):
                    return None
            case ir.GetItem():
                if viewed(op) is None:
                    add(op.base, op.index, False, op)
            case ir.SetItem():
                if not isinstance(op.base.type, types.Array):
                    return None
                add(op.base, op.index, True, op)
                add(op.value, (), False, op)
            case ir.GetAttr() if not isinstance(op.result.type, types.Array):
                continue
            case _ if viewed(op) is None:
                written = written_values(op)
                for value in op.operands:
                    add(value, (), value in written, op)
    return found


Region = tuple[ir.Value, dict[int, ir.Value], "list[int | None] | None"]


def _region(value: ir.Value, loop: ir.Loop, scopes: Scopes) -> Region | None:
    """The array from outside that `value` is a part of, its known indices, and the axes left; None for new arrays."""
    op = scopes.definition.get(value)
    if _outside(value, loop, scopes) or value not in scopes.home:
        return value, {}, list(range(value.type.ndim))
    match op:
        case ir.Cast(operand=base) | ir.InplaceBinary(lhs=base):
            return _region(base, loop, scopes)
        case ir.GetItem(base=base) if viewed(op) is not None:
            region = _region(base, loop, scopes)
            return None if region is None else _within(region, op.index)
        case _ if op is not None and (whole := viewed(op)) is not None:
            region = _region(whole, loop, scopes)
            return None if region is None else (region[0], region[1], None)
    return None


def _within(region: Region, index: tuple[ir.IndexItem, ...]) -> Region:
    """The part of a region that an index selects."""
    array, pins, axes = region
    if axes is None:
        return region
    pins, left, rest = dict(pins), [], list(axes)
    for item in index:
        if isinstance(item, ir.Slice):
            whole = item.step is None and (item.start is None or _is_zero(item.start))
            axis = rest.pop(0)
            left.append(axis if whole else None)
        elif isinstance(item.type, types.Integer) and rest:
            axis = rest.pop(0)
            if axis is not None:
                pins[axis] = item
        else:  # new axes, ellipses, tuples, arrays
            return array, pins, None
    return array, pins, left + rest


def _is_zero(value: ir.Value) -> bool:
    return isinstance(value, ir.Literal) and value.value == 0


def distinct(a: ir.Value, b: ir.Value, scopes: Scopes, memory: Memory, activity: Activity) -> bool:
    """Whether two arrays surely share no memory, as far as their adjoints are concerned."""
    if activity.alias_class(a) is not activity.alias_class(b):
        return True
    a, b = memory.root(a), memory.root(b)
    if a is b:
        return False
    if _is_own(a, scopes) and _is_own(b, scopes):
        return True
    loop = scopes.definition.get(a)
    if not isinstance(loop, ir.Loop) or a not in loop.params or b not in loop.params:
        return False
    arrays = [k for k, p in enumerate(loop.params) if isinstance(p.type, types.Array)]
    return all(carried.problem(loop, k, scopes, memory) is None for k in arrays)


def _is_own(value: ir.Value, scopes: Scopes) -> bool:
    """Whether an array is a parameter or was made new: memory that had no name before."""
    op = scopes.definition.get(value)
    if op is None:
        return True
    if not isinstance(op, (ir.Call, ir.Method, ir.Map, ir.Binary, ir.Unary)):
        return False
    effect = effects.effect(op)
    return not effect.escapes and effect.views is None and effect.aliases is None


def straight(inner: ir.Loop, loop: ir.Loop, scopes: Scopes) -> bool:
    """Whether every iteration of `loop` runs `inner` as often as every other: no branch, and counts from outside."""
    scope: Scope | None = scopes.at[inner]
    counts = [inner.count]
    while scope is not None and scope.owner is not loop:
        if not isinstance(scope.owner, ir.Loop):
            return False
        counts.append(scope.owner.count)
        scope = scope.parent
    return all(n is not None and (isinstance(n, ir.Literal) or _outside(n, loop, scopes)) for n in counts)
