"""Tangents in several directions taken apart into one direction after the other.

For functions of arrays whose rule knows one tangent only: a structure of vectors and arrays of vectors is taken apart
into structures of numbers and arrays, and what the rule makes of these is put together again.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from jitgrad.runtime.vectors import Vector, lane, wide, with_lane, zero, zeros_like


def take_lane(x, k):
    """Direction `k` of a tangent: numbers in place of vectors, contiguous arrays in place of arrays of vectors."""
    raise NotImplementedError("nopython code only")


def from_lane(x, zero):
    """A tangent whose direction 0 is `x`, for all others to be filled in by `put_lane`."""
    raise NotImplementedError("nopython code only")


def put_lane(tangent, k, x):
    """The tangent with `x` for its direction `k`; arrays are written in place."""
    raise NotImplementedError("nopython code only")


def add_into(total, term):
    """``total += term`` for arrays of vectors of one shape."""
    raise NotImplementedError("nopython code only")


def _is_vectors(ty: types.Type) -> bool:
    return isinstance(ty, types.Array) and isinstance(ty.dtype, Vector)


def _loops(ndim: int, array: str, body: str, depth: int = 1) -> str:
    """Loops over all elements of an array; `body` says ``{at}`` for the index."""
    names = [f"i{axis}" for axis in range(ndim)]
    lines = ["    " * (depth + k) + f"for {name} in range({array}.shape[{k}]):" for k, name in enumerate(names)]
    return "\n".join([*lines, "    " * (depth + ndim) + body.format(at=", ".join(names) or "()")])


def _made(source: str, name: str, **namespace: Any) -> Any:
    scope: dict[str, Any] = {"np": np, **globals(), **namespace}
    exec(source, scope)
    return scope[name]


def _each(ty: types.BaseTuple, header: str, part: str) -> Any:
    """An implementation for a tuple: `part` for each item."""
    parts = "".join(part.format(k=k) + ", " for k in range(len(ty)))
    wrap = ("made(" + parts + ")") if isinstance(ty, types.BaseNamedTuple) else f"({parts})"
    made = ty.instance_class if isinstance(ty, types.BaseNamedTuple) else None
    return _made(f"def each({header}):\n    return {wrap}\n", "each", made=made)


@overload(take_lane)
def _take_lane(x, k):
    if isinstance(x, Vector):
        return lambda x, k: lane(x, k)
    if _is_vectors(x):
        dtype = np.dtype(str(x.dtype.dtype)).type
        body = _loops(x.ndim, "x", "made[{at}] = lane(x[{at}], k)")
        source = f"def take(x, k):\n    made = np.empty(x.shape, dtype)\n{body}\n    return made\n"
        return _made(source, "take", dtype=dtype)
    if isinstance(x, types.BaseTuple):
        return _each(x, "x, k", "take_lane(x[{k}], k)")
    if isinstance(x, types.List):
        return lambda x, k: [take_lane(v, k) for v in x]
    return lambda x, k: x


@overload(from_lane)
def _from_lane(x, zero):
    if isinstance(x, types.Float):
        target = globals()["zero"](x, zero.n)
        return lambda x, zero: with_lane(target, 0, x)
    if isinstance(x, types.Array) and isinstance(x.dtype, types.Float):
        target = globals()["zero"](x.dtype, zero.n)

        def make(x, zero):
            made = zeros_like(x, target)
            return put_lane(made, 0, x)

        return make
    if isinstance(x, types.BaseTuple):
        return _each(x, "x, zero", "from_lane(x[{k}], zero)")
    return lambda x, zero: x


@overload(put_lane)
def _put_lane(tangent, k, x):
    if isinstance(tangent, Vector):
        return lambda tangent, k, x: with_lane(tangent, k, x)
    if _is_vectors(tangent):
        body = _loops(tangent.ndim, "x", "tangent[{at}] = with_lane(tangent[{at}], k, x[{at}])")
        return _made(f"def put(tangent, k, x):\n{body}\n    return tangent\n", "put")
    if isinstance(tangent, types.BaseTuple):
        return _each(tangent, "tangent, k, x", "put_lane(tangent[{k}], k, x[{k}])")
    return lambda tangent, k, x: tangent


@overload(add_into)
def _add_into(total, term):
    if _is_vectors(total) and _is_vectors(term):
        body = _loops(total.ndim, "total", "total[{at}] = total[{at}] + term[{at}]")
        return _made(f"def add(total, term):\n{body}\n", "add")
    return None


@functools.cache
def lane_by_lane(fn: Any, n: int, needs: int) -> Any:
    """A function that applies the tangent function `fn`, which takes `needs` more arguments, to each direction."""
    rest = "".join(f", a{k}" for k in range(needs))
    name = fn.__name__.lstrip("_") + "_each"
    source = (
        f"def {name}(dot{rest}):\n"
        f"    made = from_lane(fn(take_lane(dot, 0){rest}), zero)\n"
        f"    for k in range(1, {n}):\n"
        f"        made = put_lane(made, k, fn(take_lane(dot, k){rest}))\n"
        f"    return made\n"
    )
    return wide(_made(source, name, fn=fn, zero=zero(types.float64, n)))
