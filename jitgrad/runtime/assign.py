"""``assign(out, found)``: a result written into memory that the caller keeps, whatever its structure.

Generated code calls it where it does not write into that memory from the start.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import overload
from numba.np.numpy_support import as_dtype

from jitgrad.backend.structure import describe, has_float
from jitgrad.errors import ArgumentError
from jitgrad.runtime.arrays import put_number


@njit(error_model="numpy")
def copy_into(out, found):
    """``out[...] = found``, for equal shapes; nothing is allocated."""
    if out.shape != found.shape:
        raise ValueError("an array to write a result into must have the shape of the result")
    flat, k = out.flat, 0
    for v in found.flat:
        flat[k] = v
        k += 1


def assign(out, found):
    """Write `found` into `out`, leaf by leaf.

    Parameters
    ----------
    out : array, or tuple of them
        Where `found` has a number, an array of size one. Where it has None or an integer of no derivative, anything.
    found : number, array, None, or tuple of them

    Raises
    ------
    ValueError
        The shapes differ.
    ArgumentError
        While compiling: there is no array, or one that cannot be written or of another dtype.
    """
    raise NotImplementedError("nopython code only")


@overload(assign)
def _assign(out, found):
    match found:
        case types.BaseTuple():
            _check_length(out, found)
            lines = [f"    assign(out[{k}], found[{k}])" for k in range(len(found))]
            namespace = {"assign": assign}
            exec("\n".join(["def parts(out, found):", *(lines or ["    pass"])]), namespace)
            return namespace["parts"]
        case types.NoneType():
            return lambda out, found: None
        case types.Array():
            _check_takes(out, found)
            return lambda out, found: copy_into(out, found)
        case types.Number():
            _check_takes(out, found)
            return lambda out, found: put_number(out, found)
    raise ArgumentError(f"into: a part of the result is {describe(found)}, which cannot be written into an array")


def takes(out, found):
    """Check while compiling that `out` can take numbers and arrays like those in `found`; nothing when it runs.

    Raises
    ------
    ArgumentError
    """


@overload(takes)
def _takes(out, found):
    _check_parts(out, found)
    return lambda out, found: None


def _check_parts(out: types.Type, found: types.Type) -> None:
    if isinstance(found, types.BaseTuple):
        _check_length(out, found)
        for one, part in zip(out, found, strict=True):
            _check_parts(one, part)
    elif has_float(found):
        _check_takes(out, found)


def _check_length(out: types.Type, found: types.BaseTuple) -> None:
    if not isinstance(out, types.BaseTuple) or len(out) != len(found):
        raise ArgumentError(
            f"into: a tuple of {len(found)} cannot be written into {describe(out)}; pass a tuple of as many arrays"
        )


def _check_takes(out: types.Type, found: types.Type) -> None:
    """Refuse what is no array that can be written, of as many axes, and of numbers of the same kind."""
    dtype, wanted = as_dtype(types.unliteral(found.dtype if isinstance(found, types.Array) else found)), "of size one"
    fits = isinstance(out, types.Array) and out.mutable
    if isinstance(found, types.Array):
        wanted = f"with {found.ndim} ax{'i' if found.ndim == 1 else 'e'}s"
        fits = fits and out.ndim == found.ndim
    if not fits or not np.can_cast(dtype, as_dtype(out.dtype), "same_kind"):
        raise ArgumentError(
            f"into: a part of the result cannot be written into {describe(out)}; pass a writable array {wanted} of "
            f"dtype {dtype}"
        )
