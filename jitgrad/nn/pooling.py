"""Pooling: the maximum or the mean of each window."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError, UnsupportedError
from jitgrad.nn.kernels import add_at, first_maxima
from jitgrad.nn.operands import real
from jitgrad.nn.windows import Windows, check_images, pair, windows
from jitgrad.tape.primitive import Primitive, plain


# ----- maximum --------------------------------------------------------------------------------------
def _pick(x, positions):
    return np.take(x, positions)


def _put(y, positions, shape):
    out = np.zeros(int(np.prod(shape)), y.dtype)
    add_at(out, positions.ravel(), np.ascontiguousarray(y).ravel())
    return out.reshape(shape)


# Given where the maxima are, the maximum is linear.
_MAX_POOL: Primitive = Primitive(
    "MaxPool", _pick, (lambda ct, out, x, positions: _UNPOOL(ct, positions=positions, shape=x.shape),)
)
_UNPOOL: Primitive = Primitive(
    "MaxPoolGrad", _put, (lambda ct, out, y, positions, shape: _MAX_POOL(ct, positions=positions),)
)


def max_pool(input: Any, ksize: Any, strides: Any, padding: Any = "VALID", data_format: str | None = None) -> Any:
    """The largest element of each window; padding does not count.

    Parameters
    ----------
    input : array_like or tape value of shape (n, rows, columns, channels)
    ksize, strides : int, or sequence of one, two or four
        The size of a window, and the steps from one to the next.
    padding : "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]]
    data_format : "NHWC"

    Notes
    -----
    Where several elements are the largest, the first of them (row by row) has the derivative 1, as in TensorFlow.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad import nn
    >>> nn.max_pool(np.arange(16.0).reshape(1, 4, 4, 1), 2, 2)[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """
    x = real(input)
    where = _windows(x, ksize, strides, padding, data_format)
    array = np.ascontiguousarray(plain(x))
    positions = first_maxima(array, where.size, where.strides, where.before, where.counts)
    positions.flags.writeable = False  # nobody else has it: a tape need not copy it
    return _MAX_POOL(x, positions=positions)


# ----- mean -----------------------------------------------------------------------------------------
def _average(x, windows):
    return _share(np.sum(windows.patches(x), axis=(3, 4)), windows)


def _spread(y, windows):
    share = _share(y, windows)[:, :, :, None, None]
    return windows.fold(np.broadcast_to(share, (*share.shape[:3], *windows.size, share.shape[5])))


def _share(y, windows):
    members = windows.members()
    return y / (members.astype(y.dtype) if y.dtype.kind in "fc" else members)


_AVG_POOL: Primitive = Primitive("AvgPool", _average, (lambda ct, out, x, windows: _AVG_UNPOOL(ct, windows=windows),))
_AVG_UNPOOL: Primitive = Primitive(
    "AvgPoolGrad", _spread, (lambda ct, out, y, windows: _AVG_POOL(ct, windows=windows),)
)


def avg_pool(input: Any, ksize: Any, strides: Any, padding: str = "VALID", data_format: str | None = None) -> Any:
    """The mean of the elements of each window; padding does not count.

    Parameters
    ----------
    input : array_like or tape value of shape (n, rows, columns, channels)
    ksize, strides : int, or sequence of one, two or four
        The size of a window, and the steps from one to the next.
    padding : "SAME" or "VALID"
    data_format : "NHWC"
    """
    if not isinstance(padding, str):
        raise UnsupportedError(f'the padding of avg_pool must be "SAME" or "VALID", not {padding!r}')
    x = real(input)
    return _AVG_POOL(x, windows=_windows(x, ksize, strides, padding, data_format))


max_pool2d, avg_pool2d = max_pool, avg_pool


def _windows(x: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None) -> Windows:
    check_images(x, "the input", data_format)
    where = windows(x.shape, pair(ksize, "ksize"), strides, padding)
    if any(p >= s for p, s in zip(where.before + where.after, where.size * 2, strict=True)):
        raise ArgumentError(
            f"padding {padding!r} must be smaller than the window {where.size}: a window would be empty"
        )
    return where
