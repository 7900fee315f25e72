"""``assign(out, found)``: a result written into memory that the caller keeps, whatever its structure.

Generated code calls it where it does not write into that memory from the start.
"""

from __future__ import annotations

from numba import njit
from numba.core import types
from numba.core.errors import TypingError
from numba.extending import overload

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
    """
    raise NotImplementedError("nopython code only")


@overload(assign)
def _assign(out, found):
    match found:
        case types.BaseTuple():
            if not isinstance(out, types.BaseTuple) or len(out) != len(found):
                raise TypingError(f"into: the result is a tuple of {len(found)}; pass a tuple of as many arrays")
            lines = [f"    assign(out[{k}], found[{k}])" for k in range(len(found))]
            namespace = {"assign": assign}
            exec("\n".join(["def parts(out, found):", *(lines or ["    pass"])]), namespace)
            return namespace["parts"]
        case types.NoneType():
            return lambda out, found: None
        case types.Array() if isinstance(out, types.Array):
            return lambda out, found: copy_into(out, found)
        case types.Number() if isinstance(out, types.Array):
            return lambda out, found: put_number(out, found)
    raise TypingError(f"into: the result is a {found}, which cannot be written into a {out}; pass an array")
