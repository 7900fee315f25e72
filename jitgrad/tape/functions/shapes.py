"""Functions that rearrange: reshape, transpose, broadcast, tile, pad, diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import UnsupportedError
from jitgrad.tape.functions.rearranging import rearrangement
from jitgrad.tape.functions.registering import operand, primitive, refuse
from jitgrad.tape.handlers import HANDLERS, handles
from jitgrad.tape.primitive import Primitive, plain
from jitgrad.tape.signatures import kept


# ----- axes -----------------------------------------------------------------------------------------
def _transpose(ct, out, a, axes=None):
    return np.transpose(ct, None if axes is None else np.argsort([k % a.ndim for k in axes]))


def _reshape(ct, out, a, shape, order):
    return np.reshape(ct, a.shape, order=order)


_RESHAPE = Primitive("Reshape", lambda a, shape, order: np.reshape(a, shape, order=order), (_reshape,))


def _resolved(order: str, a: Any) -> str:
    """The order in which elements are read, C or F; A and K depend on where they are in memory."""
    flags = np.asarray(plain(a)).flags
    if order == "A":
        return "F" if flags.fnc else "C"
    if order == "K":
        if not flags.forc:
            raise UnsupportedError(
                "order='K' is not supported for a tape value that is not contiguous; write 'C' or 'F'"
            )
        return "F" if flags.fnc else "C"
    return order


@handles(np.reshape)
def reshape(a, shape=None, order="C", *, newshape=None, copy=None):
    refuse("np.reshape", newshape=newshape, way_out="it is called shape")
    if copy is False:
        raise UnsupportedError("np.reshape of tape values does not take copy=False; leave it out")
    return _RESHAPE(a, plain(shape), _resolved(order, a))


@handles(np.ravel)
def ravel(a, order="C"):
    return _RESHAPE(a, -1, _resolved(order, a))


def _restore(ct, out, a, *rest, **kwargs):
    return np.reshape(ct, a.shape)


primitive(np.transpose, _transpose)
primitive(np.swapaxes, lambda ct, out, a, axis1, axis2: np.swapaxes(ct, axis1, axis2))
primitive(np.moveaxis, lambda ct, out, a, source, destination: np.moveaxis(ct, destination, source), name="Transpose")
primitive(np.squeeze, lambda ct, out, a, axis=None: _restore(ct, out, a))
primitive(np.expand_dims, lambda ct, out, a, axis: _restore(ct, out, a), name="ExpandDims")
primitive(np.flip, lambda ct, out, m, axis=None: np.flip(ct, axis), name="ReverseV2")
primitive(np.rot90, lambda ct, out, m, k=1, axes=(0, 1): np.rot90(ct, -k, axes))


@handles(np.rollaxis)
def rollaxis(a, axis, start=0):
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


@handles(np.matrix_transpose)
def matrix_transpose(x, /):
    return np.swapaxes(x, -1, -2)


@handles(np.flipud)
def flipud(m):
    return np.flip(m, 0)


@handles(np.fliplr)
def fliplr(m):
    return np.flip(m, 1)


def _roll(ct, out, a, shift, axis=None):
    return np.roll(ct, np.negative(shift), axis)


primitive(np.roll, _roll)


def _at_least(ndim: int, up: Any) -> Any:
    def at_least(*arys):
        done = tuple(up(operand(a)) if np.ndim(a) < ndim else operand(a) for a in arys)
        return done[0] if len(done) == 1 else done

    return at_least


def _to_3d(a: Any) -> Any:
    return np.expand_dims(a, -1) if np.ndim(a) == 2 else np.reshape(a, (1, -1, 1))


HANDLERS[np.atleast_1d] = _at_least(1, lambda a: np.reshape(a, (1,)))
HANDLERS[np.atleast_2d] = _at_least(2, lambda a: np.reshape(a, (1, -1)))
HANDLERS[np.atleast_3d] = _at_least(3, _to_3d)


# ----- copies ---------------------------------------------------------------------------------------
_IDENTITY = Primitive("Identity", np.array, (lambda ct, out, a: ct,))
_BROADCAST = Primitive(
    "BroadcastTo", np.broadcast_to, (lambda ct, out, a, shape: ct,)
)  # the sweep sums to the operand's shape


@handles(np.copy)
def copy(a, order="K", subok=False):
    return _IDENTITY(a)


@handles(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    return _BROADCAST(array, plain(shape))


@handles(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    args = [operand(a) for a in args]
    shape = np.broadcast_shapes(*(np.shape(plain(a)) for a in args))
    return tuple(np.broadcast_to(kept(a), shape) for a in args)


@handles(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    count = len(xi)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    grids = [
        np.reshape(operand(x), tuple(-1 if k == axis else 1 for k in range(count)))
        for x, axis in zip(xi, axes, strict=True)
    ]
    return tuple(grids) if sparse else np.broadcast_arrays(*grids)


def _tile_a(ct, out, a, reps):
    shape = (1,) * (len(reps) - a.ndim) + a.shape
    pairs = [n for pair in zip(reps, shape, strict=True) for n in pair]
    return np.reshape(np.sum(np.reshape(ct, pairs), axis=tuple(range(0, len(pairs), 2))), a.shape)


_TILE = Primitive("Tile", np.tile, (_tile_a,))


@handles(np.tile)
def tile(A, reps):
    reps = tuple(int(r) for r in np.atleast_1d(plain(reps)))
    return _TILE(A, (1,) * (A.ndim - len(reps)) + reps)


@handles(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    moved = np.moveaxis(operand(arr), axis, -1)
    lines = np.reshape(moved, (-1, moved.shape[-1]))
    done = np.stack([func1d(lines[k], *args, **kwargs) for k in range(len(lines))])
    inner = done.ndim - 1
    done = np.reshape(done, moved.shape[:-1] + done.shape[1:])
    # what a line became takes the place of its axis
    where = tuple(range(axis % arr.ndim, axis % arr.ndim + inner))
    return np.moveaxis(done, tuple(range(done.ndim - inner, done.ndim)), where)


@handles(np.repeat)
def repeat(a, repeats, axis=None):
    if axis is None or a.ndim == 0:
        a, axis = np.ravel(a), 0
    return np.take(a, np.repeat(np.arange(a.shape[axis]), plain(repeats)), axis)


_RESIZE = rearrangement("Resize", np.resize)
_WINDOWS = rearrangement("ExtractPatches", np.lib.stride_tricks.sliding_window_view)


@handles(np.resize)
def resize(a, new_shape):
    return _RESIZE(a, new_shape=plain(new_shape))


@handles(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None, *, subok=False, writeable=False):
    return _WINDOWS(x, window_shape=window_shape, axis=axis)


_PAD = rearrangement("Pad", lambda a, fill, width: np.pad(a, width, constant_values=fill))
_MIRROR_PAD = rearrangement("MirrorPad", lambda a, width, mode: np.pad(a, width, mode))
_MOVING = ("edge", "reflect", "symmetric", "wrap")


@handles(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    array, width = operand(array), plain(pad_width)
    if mode == "constant" and kwargs.keys() <= {"constant_values"}:
        return _PAD(array, operand(kwargs.get("constant_values", 0)), width=width)
    odd = kwargs.pop("reflect_type", "even") != "even"
    if odd or kwargs or mode not in _MOVING:
        raise UnsupportedError(
            f"np.pad of tape values has no derivative for mode={mode!r} with these arguments; the modes are "
            f"'constant' and {', '.join(map(repr, _MOVING))} with reflect_type='even'; for others join the parts with "
            f"np.concatenate"
        )
    return _MIRROR_PAD(array, width=width, mode=mode)


# ----- diagonals and triangles ----------------------------------------------------------------------
_DIAG = rearrangement("MatrixDiag", np.diag)
_DIAGONAL = rearrangement("MatrixDiagPart", np.diagonal)


@handles(np.diag)
def diag(v, k=0):
    return _DIAG(v, k=k)


@handles(np.diagflat)
def diagflat(v, k=0):
    return np.diag(np.ravel(operand(v)), k)


@handles(np.diagonal)
def diagonal(a, offset=0, axis1=0, axis2=1):
    return _DIAGONAL(a, offset=offset, axis1=axis1, axis2=axis2)


@handles(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    refuse("np.trace", out=out)
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


_triangle = {"name": "MatrixBandPart"}
primitive(np.tril, lambda ct, out, m, k=0: np.tril(ct, k), **_triangle)
primitive(np.triu, lambda ct, out, m, k=0: np.triu(ct, k), **_triangle)
