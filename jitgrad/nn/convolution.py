"""Two-dimensional convolution: three primitives, each bilinear, whose pullbacks are the other two.

For windows W of an input x, filters w and an output y: ``y = W(x) w``, ``x' = W^T(y w^T)`` and ``w' = W(x)^T y``. Each
is one matrix product of all windows, laid out as rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import ShapeError
from jitgrad.nn.operands import real
from jitgrad.nn.windows import check_images, windows
from jitgrad.tape.primitive import Primitive


def _rows(x, windows):
    """All windows of `x` as rows of a matrix."""
    patches = windows.patches(x)
    return patches.reshape(int(np.prod(patches.shape[:3])), int(np.prod(patches.shape[3:])))


def _convolve(x, filters, windows):
    product = _rows(x, windows) @ filters.reshape(-1, filters.shape[3])
    return product.reshape(len(x), *windows.counts, filters.shape[3])


def _to_input(y, filters, windows):
    height, width, channels, outputs = filters.shape
    product = y.reshape(-1, outputs) @ filters.reshape(-1, outputs).T
    return windows.fold(product.reshape(len(y), *windows.counts, height, width, channels))


def _to_filters(x, y, windows):
    product = _rows(x, windows).T @ y.reshape(-1, y.shape[3])
    return product.reshape(*windows.size, x.shape[3], y.shape[3])


_CONVOLUTION: Primitive = Primitive(
    "Conv2D",
    _convolve,
    (
        lambda ct, out, x, filters, windows: _TO_INPUT(ct, filters, windows=windows),
        lambda ct, out, x, filters, windows: _TO_FILTERS(x, ct, windows=windows),
    ),
)
_TO_INPUT: Primitive = Primitive(
    "Conv2DBackpropInput",
    _to_input,
    (
        lambda ct, out, y, filters, windows: _CONVOLUTION(ct, filters, windows=windows),
        lambda ct, out, y, filters, windows: _TO_FILTERS(ct, y, windows=windows),
    ),
)
_TO_FILTERS: Primitive = Primitive(
    "Conv2DBackpropFilter",
    _to_filters,
    (
        lambda ct, out, x, y, windows: _TO_INPUT(y, ct, windows=windows),
        lambda ct, out, x, y, windows: _CONVOLUTION(x, ct, windows=windows),
    ),
)


def conv2d(
    input: Any, filters: Any, strides: Any = 1, padding: Any = "VALID", data_format: str = "NHWC", dilations: Any = None
) -> Any:
    """Two-dimensional convolution (without turning the filters).

    Parameters
    ----------
    input : array_like or tape value of shape (n, rows, columns, channels)
    filters : array_like or tape value of shape (height, width, channels, outputs)
    strides, dilations : int, or sequence of one, two or four
        Steps from one window to the next, and between the elements of one.
    padding : "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]]
        With "SAME" there are ``ceil(rows / stride)`` windows, and an odd row of zeros comes last, as in TensorFlow.
    data_format : "NHWC"

    Returns
    -------
    array or tape value of shape (n, out rows, out columns, outputs)

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad import nn
    >>> nn.conv2d(np.arange(16.0).reshape(1, 4, 4, 1), np.ones((2, 2, 1, 1)), strides=2)[0, :, :, 0]
    array([[10., 18.],
           [42., 50.]])
    """
    x, filters = real(input), real(filters)
    check_images(x, "the input", data_format)
    _check_filters(filters, x.shape[3], 2)
    where = windows(x.shape, filters.shape[:2], strides, padding, dilations, "filter")
    return _CONVOLUTION(x, filters, windows=where)


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
) -> Any:
    """The transpose of `conv2d`: its derivative with respect to the input, as a layer.

    Parameters
    ----------
    input : array_like or tape value of shape (n, rows, columns, channels)
    filters : array_like or tape value of shape (height, width, outputs, channels)
    output_shape : sequence of four int
        Of an array that `conv2d` would turn into the shape of `input`.
    strides, padding, data_format, dilations
        Of that convolution.
    """
    y, filters = real(input), real(filters)
    check_images(y, "the input", data_format)
    _check_filters(filters, y.shape[3], 3)
    shape = tuple(int(n) for n in output_shape)
    if len(shape) != 4 or shape[0] != y.shape[0] or shape[3] != filters.shape[2]:
        raise ShapeError(
            f"output_shape must be (n, rows, columns, outputs) with n = {y.shape[0]} and outputs = {filters.shape[2]}, "
            f"as in the input and the filters, not {shape}"
        )
    where = windows(shape, filters.shape[:2], strides, padding, dilations, "filter")
    if where.counts != y.shape[1:3]:
        raise ShapeError(
            f"conv2d of the shape {shape} gives {where.counts[0]} rows and {where.counts[1]} columns, but the input of "
            f"its transpose has {y.shape[1]} and {y.shape[2]}"
        )
    return _TO_INPUT(y, filters, windows=where)


def _check_filters(filters: Any, channels: int, axis: int) -> None:
    if filters.ndim != 4:
        raise ShapeError(f"filters must have four axes, the window's and those of the channels, not {filters.shape}")
    if filters.shape[axis] != channels:
        raise ShapeError(
            f"the input has {channels} channels, but the filters of shape {filters.shape} are for {filters.shape[axis]}"
        )
