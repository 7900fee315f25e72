"""Functions that only move elements: each element of the result is one of an operand, or a fill of zero.

Their pullback needs no formula: the function itself, applied to the numbers 1, 2, 3, ... of the operand's elements in
place of its values, says where each went.
"""

from __future__ import annotations

import functools
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


def _act(act: Callable, *arrays: Any) -> Any:
    return act(*arrays)


def _pull(k: int, ct: Any, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    act, *operands = args
    shapes = [np.shape(o) for o in operands]
    size = int(np.prod(shapes[k - 1]))
    numbers = [np.zeros(s, np.intp) for s in shapes]
    numbers[k - 1] = np.arange(1, size + 1).reshape(shapes[k - 1])
    plan = act(*numbers)
    # what came from elsewhere has number 0, a place that is cut off
    return np.reshape(SCATTER(np.ravel(ct), (size + 1,), plan.ravel())[1:], shapes[k - 1])


@functools.cache
def rearrangement(name: str) -> Primitive:
    """The primitive ``rearrange(act, *operands)`` of a type of operation.

    ``act(*operands)`` moves elements of arrays of any dtype: where they go must not depend on their values. What `act`
    holds must be copies: the caller may write into his arrays afterwards.
    """
    return Primitive(name, _act, _pull)
