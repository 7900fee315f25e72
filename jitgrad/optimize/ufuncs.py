"""Calls of ufuncs that are no elementwise expression yet, as code that is.

``np.add(a, b, out)`` becomes an expression and a store. A `vectorize` function with branches, which no
single expression can hold, becomes a loop nest around its scalar function.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.np.ufunc.dufunc import DUFunc

from jitgrad import frontend, rules
from jitgrad.optimize.inplace import Overlaps
from jitgrad.program import ir
from jitgrad.program.clone import clone_block, replace_values


def expand_ufuncs(program: ir.Program) -> None:
    """Expand such calls, in place."""
    values: dict[ir.Value, ir.Value] = {}
    _block(program.body, values, Overlaps(program))
    replace_values(program.body, values)
    while program.result in values:
        program.result = values[program.result]


def _block(block: ir.Block, values: dict[ir.Value, ir.Value], overlaps: Overlaps) -> None:
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _block(inner, values, overlaps)
        expanded = _expand(op, values, overlaps) if isinstance(op, ir.Call) else None
        ops += [op] if expanded is None else expanded
    block.ops = ops


def _expand(op: ir.Call, values: dict[ir.Value, ir.Value], overlaps: Overlaps) -> list[ir.Op] | None:
    arrays = [v for v in op.args if isinstance(v.type, types.Array)]
    out = ir.output(op)
    if not arrays or op.kwargs.keys() - {"out"} or op.vararg is not None:
        return None
    if isinstance(op.fn, DUFunc) and len(op.args) == op.fn.nin:
        return _scalar_loops(op, values)
    if out is not None:
        # Numba updates element by element: with an input that overlaps the output that is another function
        apart = not any(v is not out and overlaps.possible(v, out) for v in arrays)
        return _store_into(op, out, values) if apart else None
    return None


def _store_into(op: ir.Call, out: ir.Value, values: dict[ir.Value, ir.Value]) -> list[ir.Op] | None:
    """``fn(a, b, out)`` as ``out[...] = fn(a, b)``."""
    if not isinstance(rules.lookup(op.fn), rules.ScalarRule):
        return None
    inputs = op.args if op.kwargs else op.args[:-1]
    if any(not isinstance(v.type, (types.Array, types.Number, types.Boolean)) for v in inputs):
        return None
    dtype = out.type.dtype
    result = ir.Value("t", types.Array(dtype, out.type.ndim, "C"))
    params = [ir.Value(v.name, getattr(v.type, "dtype", v.type)) for v in inputs]
    element = ir.Value("t", dtype)
    body = ir.Block([ir.Call(element, op.fn, list(params), loc=op.loc)])
    values[op.result] = out
    return [
        ir.Map(result, inputs, params, body, element, loc=op.loc),
        ir.SetItem(out, tuple(ir.Slice() for _ in range(out.type.ndim)), result, loc=op.loc),
    ]


def _scalar_loops(op: ir.Call, values: dict[ir.Value, ir.Value]) -> list[ir.Op]:
    """A call of a vectorized function as loops around its scalar function."""
    ranks = tuple(v.type.ndim if isinstance(v.type, types.Array) else None for v in op.args)
    argtypes = tuple(types.unliteral(v.type) for v in op.args)
    applied = frontend.read(_loop_function(op.fn, ranks, op.result.type), argtypes)
    inside = dict(zip(applied.params, op.args, strict=True))
    block = clone_block(applied.body, inside)
    values[op.result] = inside.get(applied.result, applied.result)
    return block.ops


@functools.cache
def _loop_function(fn: DUFunc, ranks: tuple[int | None, ...], result: types.Type) -> Any:
    """``apply(x, y, ...)``: `fn` of every element of broadcast arrays."""
    names = [f"x{k}" for k in range(len(ranks))]
    ndim = max(r for r in ranks if r is not None)
    shapes = ", ".join(f"{n}.shape" for n, r in zip(names, ranks, strict=True) if r is not None)
    lines = [f"def apply({', '.join(names)}):", f"    out = np.empty(np.broadcast_shapes({shapes}), dtype)"]
    elements = []
    for name, rank in zip(names, ranks, strict=True):
        index = []
        for axis in range(rank or 0):
            lines.append(f"    s_{name}_{axis} = 0 if {name}.shape[{axis}] == 1 else 1")
            index.append(f"k{ndim - (rank or 0) + axis} * s_{name}_{axis}")
        elements.append(name if rank is None else f"{name}[{', '.join(index) or '()'}]")
    for axis in range(ndim):
        lines.append("    " * (axis + 1) + f"for k{axis} in range(out.shape[{axis}]):")
    at = ", ".join(f"k{axis}" for axis in range(ndim)) or "()"
    lines.append("    " * (ndim + 1) + f"out[{at}] = scalar({', '.join(elements)})")
    lines.append("    return out")
    namespace = {"np": np, "dtype": np.dtype(str(result.dtype)).type, "scalar": njit(fn._dispatcher.py_func)}
    exec("\n".join(lines), namespace)
    return njit(namespace["apply"])
