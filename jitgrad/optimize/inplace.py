"""In-place array operators as loops over the elements.

``a += b``, ``-=``, ``*=`` and ``/=`` with operands apart have adjoints of their own. Everything else
(``a **= b``, ``odd *= even`` on two parts of one array) is written out here, element by element in the
order in which Numba makes the update, so that any overlap of the two sides means what it means there.
"""

from __future__ import annotations

import operator

from numba.core import types
from numba.core.dispatcher import Dispatcher

from jitgrad.analysis.memory import viewed
from jitgrad.analysis.scopes import yielded
from jitgrad.program import ir

DIRECT = {operator.add, operator.sub, operator.mul, operator.truediv}


def expand_inplace(program: ir.Program) -> None:
    """Replace in-place operators that have no adjoint of their own by loops, in place."""
    _block(program.body, Overlaps(program))


def _block(block: ir.Block, overlaps: Overlaps) -> None:
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _block(inner, overlaps)
        if isinstance(op, ir.InplaceBinary) and _needs_loop(op, overlaps):
            ops += _loops(op)
        else:
            ops.append(op)
    block.ops = ops


def _needs_loop(op: ir.InplaceBinary, overlaps: Overlaps) -> bool:
    if not isinstance(op.lhs.type, types.Array) or op.result is not None:
        return False
    if not isinstance(op.lhs.type.dtype, (types.Float, types.Complex)):
        return False
    if isinstance(op.rhs.type, types.Array) and op.rhs.type.ndim > op.lhs.type.ndim:
        return False
    if op.fn not in DIRECT:
        return True
    if op.fn in (operator.add, operator.sub) or not isinstance(op.rhs.type, types.Array):
        return False
    # the parts of one array may overlap; one and the same array is read element by element as well
    return op.rhs is op.lhs or overlaps.possible(op.lhs, op.rhs)


class Overlaps:
    """Which arrays of a program may share memory, as far as it shows without an analysis of all names."""

    def __init__(self, program: ir.Program):
        self._definitions: dict[ir.Value, ir.Op] = {}
        self._uses: dict[ir.Value, int] = {}
        for op in ir.walk(program.body):
            self._definitions |= dict.fromkeys(op.results, op)
            for value in (*op.operands, *yielded(op)):
                self._uses[value] = self._uses.get(value, 0) + 1

    def possible(self, a: ir.Value, b: ir.Value) -> bool:
        """Whether two arrays are parts of one, or one of them is picked while running."""
        roots = root(a, self._definitions), root(b, self._definitions)
        if roots[0] is roots[1]:
            return True
        return any(map(self._picked, roots)) and not any(map(self._temporary, roots))

    def _picked(self, value: ir.Value) -> bool:
        """Whether a branch, an index or a callee decides which array `value` is."""
        op = self._definitions.get(value)
        called = isinstance(op, ir.Call) and isinstance(op.fn, Dispatcher)
        return called or isinstance(op, (ir.If, ir.GetItem)) or (isinstance(op, ir.Method) and op.name == "pop")

    def _temporary(self, value: ir.Value) -> bool:
        """Whether `value` is the result of an expression that is read once."""
        return isinstance(self._definitions.get(value), ir.Map) and self._uses[value] == 1


def root(value: ir.Value, definitions: dict[ir.Value, ir.Op]) -> ir.Value:
    """The array that `value` is, or is a view of."""
    while (op := definitions.get(value)) is not None:
        base = op.operand if isinstance(op, ir.Cast) else viewed(op)
        if base is None:
            break
        value = base
    return value


def _loops(op: ir.InplaceBinary) -> list[ir.Op]:
    lhs, rhs, loc = op.lhs, op.rhs, op.loc
    ndim, dtype = lhs.type.ndim, lhs.type.dtype
    shape = ir.Value("shape", types.UniTuple(types.intp, ndim))
    before: list[ir.Op] = [ir.GetAttr(shape, lhs, "shape", loc=loc)]
    counts, indices = [], [ir.Value(f"k{d}", types.intp) for d in range(ndim)]
    for d in range(ndim):
        counts.append(ir.Value(f"n{d}", types.intp))
        before.append(ir.GetItem(counts[d], shape, (ir.Literal(str(d), types.intp, d),), loc=loc))
    body: list[ir.Op] = []
    old, new = ir.Value("old", dtype), ir.Value("new", dtype)
    body.append(ir.GetItem(old, lhs, tuple(indices), loc=loc))
    operand = rhs
    if isinstance(rhs.type, types.Array):
        operand = ir.Value("t", rhs.type.dtype)
        at = _broadcast_index(rhs, indices, before, body, loc)
        body.append(ir.GetItem(operand, rhs, at, loc=loc))
    body.append(ir.Binary(new, op.fn, old, operand, loc=loc))
    body.append(ir.SetItem(lhs, tuple(indices), new, loc=loc))
    inner = ir.Block(body)
    for d in reversed(range(ndim)):
        inner = ir.Block([ir.Loop(indices[d], counts[d], [], [], inner, [], [], loc=loc)])
    return before + inner.ops


def _broadcast_index(rhs: ir.Value, indices: list, before: list, body: list, loc) -> tuple:
    """The index of the element of `rhs` that meets the current one; axes of size one are stretched."""
    shape = ir.Value("shape", types.UniTuple(types.intp, rhs.type.ndim))
    before.append(ir.GetAttr(shape, rhs, "shape", loc=loc))
    at = []
    for d, index in enumerate(indices[len(indices) - rhs.type.ndim :]):
        extent, wide = ir.Value("n", types.intp), ir.Value("wide", types.boolean)
        step, position = ir.Value("step", types.intp), ir.Value("k", types.intp)
        before += [
            ir.GetItem(extent, shape, (ir.Literal(str(d), types.intp, d),), loc=loc),
            ir.Binary(wide, operator.ne, extent, ir.Literal("1", types.intp, 1), loc=loc),
            ir.Call(step, int, [wide], loc=loc),
        ]
        body.append(ir.Binary(position, operator.mul, index, step, loc=loc))
        at.append(position)
    return tuple(at)
