"""Layers and losses that are linear or quadratic, and rows picked by integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import ShapeError
from jitgrad.nn.operands import alike, integers, operand, real


def dense(x: Any, weight: Any, bias: Any) -> Any:
    """``x @ weight + bias`` for `x` of shape (n, inputs) and `weight` of shape (inputs, outputs)."""
    return operand(x) @ operand(weight) + operand(bias)


def bias_add(value: Any, bias: Any, data_format: str | None = None) -> Any:
    """`value` plus one number for each channel.

    Parameters
    ----------
    value : array_like or tape value
        With the channels along its last axis, or along the second if `data_format` starts with ``"NC"``.
    bias : array_like or tape value with one axis
    data_format : str, optional
    """
    value, bias = operand(value), operand(bias)
    axis = 1 if data_format is not None and data_format.startswith("NC") else value.ndim - 1
    if bias.ndim != 1 or value.ndim < 2 or bias.shape[0] != value.shape[axis]:
        raise ShapeError(f"bias must have one number for each channel of the shape {value.shape}, not {bias.shape}")
    return value + (bias if axis == value.ndim - 1 else np.reshape(bias, (-1, *(1,) * (value.ndim - 2))))


def embedding_lookup(params: Any, ids: Any) -> Any:
    """The rows of `params` that the integers `ids` name."""
    params = operand(params)
    return params[integers(ids, "ids", limit=params.shape[0])]


def one_hot(
    indices: Any, depth: int, on_value: Any = None, off_value: Any = None, axis: int = -1, dtype: Any = None
) -> Any:
    """A new axis with `on_value` at the place each index names, and `off_value` elsewhere.

    Parameters
    ----------
    indices : array_like of integers
        One that is not from 0 to ``depth - 1`` gets no `on_value`.
    depth : int
        The length of the new axis.
    on_value, off_value : scalar or tape value, optional
        By default 1 and 0.
    axis : int
        Where the new axis is put; the last by default.
    dtype : dtype, optional
        By default that of `on_value` and `off_value`, and float32 without them.

    Examples
    --------
    >>> from jitgrad import nn
    >>> nn.one_hot([2, 0], 3)
    array([[0., 0., 1.],
           [1., 0., 0.]], dtype=float32)
    """
    array = np.expand_dims(integers(indices, "indices"), -1) == np.arange(depth)
    hot = alike(indices, np.moveaxis(array, -1, -1 if axis is None else axis))
    if on_value is None and off_value is None:
        return hot.astype(np.float32 if dtype is None else dtype)
    out = np.where(hot, 1 if on_value is None else on_value, 0 if off_value is None else off_value)
    return out if dtype is None else out.astype(dtype)


def l2_loss(t: Any) -> Any:
    """Half the sum of the squares of all elements."""
    return np.sum(np.square(real(t))) / 2
