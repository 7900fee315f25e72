"""Functions whose results carry no derivative: queries, indices, comparisons, text; and those that are refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import UnsupportedError
from jitgrad.tape.functions.registering import without_derivative
from jitgrad.tape.handlers import HANDLERS
from jitgrad.tape.primitive import plain
from jitgrad.tape.tensor import Tensor, Value

without_derivative((
    np.all, np.any, np.argmax, np.argmin, np.argpartition, np.argsort, np.argwhere, np.array_equal, np.array_equiv,
    np.allclose, np.can_cast, np.common_type, np.count_nonzero, np.digitize, np.empty_like, np.flatnonzero, np.isclose,
    np.iscomplex, np.iscomplexobj, np.isin, np.isneginf, np.isposinf, np.isreal, np.isrealobj, np.ix_, np.lexsort,
    np.may_share_memory, np.min_scalar_type, np.nanargmax, np.nanargmin, np.ndim, np.nonzero, np.ones_like,
    np.ravel_multi_index, np.result_type, np.searchsorted, np.shape, np.shares_memory, np.size, np.tril_indices_from,
    np.triu_indices_from, np.unravel_index, np.zeros_like, np.diag_indices_from,
))  # fmt: skip
without_derivative(
    (np.array2string, np.array_repr, np.array_str, np.save, np.savez, np.savetxt, np.savez_compressed), wrapped=False
)


# ----- weights that would lose their derivative -----------------------------------------------------
def _counts(function: Any) -> Any:
    def counts(a, bins=10, range=None, density=None, weights=None):
        if isinstance(weights, Value):
            raise UnsupportedError(
                f"np.{function.__name__} of tape values does not take weights that are one; "
                f"use np.bincount(np.digitize(...), weights)"
            )
        found = function(plain(a), plain(bins), plain(range), density, plain(weights))
        return tuple(Tensor(part) for part in found)

    return counts


HANDLERS[np.histogram] = _counts(np.histogram)


# ----- in place -------------------------------------------------------------------------------------
def _writes(name: str, way_out: str = "make a new array with np.where, np.concatenate or np.stack") -> Any:
    def refused(*args, **kwargs):
        raise UnsupportedError(f"{name} writes into an array, which is not recorded for tape values; {way_out}")

    return refused


for _function in (np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask):
    HANDLERS[_function] = _writes(f"np.{_function.__name__}")
HANDLERS[np.copyto] = _writes(
    "np.copyto (also of np.full)", "write np.broadcast_to, np.where, np.concatenate or np.stack"
)
for _ufunc in vars(np).values():
    if isinstance(_ufunc, np.ufunc):
        HANDLERS[_ufunc, "at"] = _writes(f"np.{_ufunc.__name__}.at", "sum into new arrays, as np.bincount does")
