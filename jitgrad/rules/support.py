"""Nopython helpers and type tests that array rules share."""

from __future__ import annotations

import functools
import linecache
import math
import zlib
from typing import Any

import numpy as np
from numba.core import types as nbtypes

from jitgrad.runtime.arrays import flat
from jitgrad.runtime.kernels import compiled, inline


@inline
def split_shape(shape, axis):
    """``(outer, n, inner)``: the element counts before, on and after an axis."""
    if axis < 0:
        axis += len(shape)
    outer = 1
    inner = 1
    n = 1
    for k in range(len(shape)):
        if k < axis:
            outer *= shape[k]
        elif k == axis:
            n = shape[k]
        else:
            inner *= shape[k]
    return outer, n, inner


@compiled
def identity(dot):
    """The tangent of a function that passes its argument on."""
    return dot


@compiled
def cast_pull(ct, a_dtype):
    """The cotangent as a new array of the argument's dtype."""
    return ct.astype(a_dtype)


@compiled
def real_cast_pull(ct, a_dtype):
    """The same where an array of real numbers was made complex."""
    return ct.real.astype(a_dtype)


@compiled
def reshape_pull(ct, a_shape):
    """The cotangent's elements, in C order, in the argument's shape."""
    return np.ascontiguousarray(ct).reshape(a_shape).copy()


def is_array(t: Any) -> bool:
    """Whether this Numba type is an array."""
    return isinstance(t, nbtypes.Array)


def is_none(t: Any) -> bool:
    """Whether this Numba type stands for None, given or by default."""
    return t is None or isinstance(t, nbtypes.NoneType) or (isinstance(t, nbtypes.Omitted) and t.value is None)


def is_number(t: Any) -> bool:
    """Whether this Numba type is a scalar number."""
    return isinstance(t, (nbtypes.Number, nbtypes.Boolean))


def takes_array(types: dict[str, Any]) -> bool:
    """For ``ArrayRule.when``: the first parameter is an array."""
    return is_array(next(iter(types.values())))


def is_complex(t: Any) -> bool:
    """Whether this Numba type is complex, or an array of complex numbers."""
    return isinstance(getattr(t, "dtype", t), nbtypes.Complex)


def generated(name: str, source: str, **helpers: Any) -> Any:
    """An njit function from source text, for rules whose code depends on a count or a layout.

    The same text gives the same function. The text can be read back through `inspect`.
    """
    return _generated(name, source, tuple(helpers.items()))


@functools.cache
def _generated(name: str, source: str, helpers: tuple) -> Any:
    filename = f"<jitgrad rule {name} {zlib.crc32(source.encode()):x}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    scope: dict[str, Any] = {"np": np, "math": math, "flat": flat, **dict(helpers), "__name__": "jitgrad.rules.support"}
    exec(compile(source, filename, "exec"), scope)
    return compiled(scope[name])
