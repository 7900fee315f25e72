"""Functions that only move elements: each element of the result is one of an operand, or a fill of zero.

Their pullback needs no formula: the function itself, applied to the numbers 1, 2, 3, ... of the operand's elements in
place of its values, says where each went.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jitgrad.tape.primitive import Primitive


def _may_repeat(index: Any) -> bool:
    """Whether an index may pick an element twice: only arrays of integers can."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(p, (list, np.ndarray)) and np.asarray(p).dtype != bool for p in parts)


def _scatter(ct, shape, index):
    out = np.zeros(shape, ct.dtype)
    if _may_repeat(index):
        np.add.at(out, index, ct)
    else:
        out[index] = ct
    return out


SCATTER = Primitive("ScatterAdd", _scatter, (lambda ct, out, x, shape, index: ct[index], None, None))
"""``SCATTER(ct, shape, index)``: zeros of `shape` with `ct` added at `index`, the pullback of taking ``x[index]``."""


def rearrangement(name: str, act: Callable) -> Primitive:
    """The primitive of a function that moves elements.

    ``act(*operands, **keywords)`` works on arrays of any dtype, and where elements go depends on the keywords and on
    the shapes of the operands, not on their values.
    """

    def pull(k: int, ct: Any, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        shapes = [getattr(a, "shape", ()) for a in args]
        size = math.prod(shapes[k])
        numbers = [np.zeros(s, np.intp) for s in shapes]
        numbers[k] = np.arange(1, size + 1).reshape(shapes[k])
        plan = act(*numbers, **kwargs)
        # what came from elsewhere has number 0, a place that is cut off
        return np.reshape(SCATTER(np.ravel(ct), (size + 1,), np.ravel(plan))[1:], shapes[k])

    return Primitive(name, act, pull)
