"""What a recorded call looks like: its operands as they are kept, and what tells it from other calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jitgrad.tape.recording import leaf
from jitgrad.tape.tensor import Tensor


def kept(arg: Any) -> Any:
    """An operand as a node keeps it: the caller may write into his arrays afterwards."""
    if isinstance(arg, np.ndarray):
        return arg.copy() if arg.flags.writeable or arg.base is not None else arg
    if type(arg) in (list, tuple):
        return type(arg)([kept(a) for a in arg])
    return arg


OPAQUE = object()
"""In a signature: something that cannot be told from other things of its kind."""


OWNDATA = 4  # NPY_ARRAY_OWNDATA


def layout(array: Any) -> int:
    """The flags of an array that compiled code depends on: not whose memory it is."""
    return array.flags.num & ~OWNDATA


def signature(primitive: Any, args: tuple, kwargs: Mapping[str, Any], out: Any) -> tuple:
    """What tells a call from others whose backward sweep is another program; see `Node`."""
    if not vars(type(primitive)).get("traceable"):
        return (OPAQUE,)
    parts: list[Any] = [primitive]
    shaped = False
    for arg in args:
        if type(arg) is Tensor:
            node = arg.node
            if node is None:
                node = arg.node = leaf(arg._array)
            parts.append((node, arg.index) if arg.index else node)
        else:
            parts.append(described(arg))
            shaped |= isinstance(arg, (np.ndarray, tuple, list))
    if kwargs:
        parts += kwargs
        parts += [described(v, exact=True) for v in kwargs.values()]
    if shaped:  # a mask decides about the shape of the result
        parts.append(tuple([part.shape for part in (out if type(out) is tuple else (out,))]))
    return tuple(parts)


def described(arg: Any, exact: bool = False) -> Any:
    """A constant in a signature: floats and arrays by type and shape, others by content.

    With `exact` floats are told by their value, and arrays cannot be told.
    """
    kind = type(arg)
    if kind is float or isinstance(arg, np.inexact):
        return (kind, repr(arg)) if exact else kind
    if kind is np.void:  # a record, which may be written
        return OPAQUE
    if arg is None or kind in (int, bool, str) or isinstance(arg, (np.generic, np.dtype, type)):
        return kind, arg
    if kind is np.ndarray and not exact:
        return kind, arg.dtype, arg.shape, layout(arg)
    if kind in (tuple, list, slice):
        parts = [described(a, exact) for a in ((arg.start, arg.stop, arg.step) if kind is slice else arg)]
        return OPAQUE if OPAQUE in parts else (kind, *parts)
    return kind if arg is Ellipsis else OPAQUE
