"""Losses of targets and predictions, of Keras's names and definitions: means over the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.nn.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)
from jitgrad.nn.operands import integers, real

EPSILON = 1e-7
"""Keras's: probabilities are clipped to ``EPSILON`` and ``1 - EPSILON``."""


def mean_squared_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of ``(y_true - y_pred) ** 2`` over the last axis."""
    y_true, y_pred = _aligned(y_true, y_pred)
    return np.mean(np.square(y_true - y_pred), axis=-1)


def mean_absolute_error(y_true: Any, y_pred: Any) -> Any:
    """The mean of ``abs(y_true - y_pred)`` over the last axis."""
    y_true, y_pred = _aligned(y_true, y_pred)
    return np.mean(np.abs(y_true - y_pred), axis=-1)


def huber(y_true: Any, y_pred: Any, delta: float = 1.0) -> Any:
    """The mean over the last axis of half the squared error, which goes on as a line from an error of `delta` on."""
    y_true, y_pred = _aligned(y_true, y_pred)
    error = y_pred - y_true
    size = np.abs(error)
    return np.mean(np.where(size <= delta, 0.5 * np.square(error), delta * size - 0.5 * delta**2), axis=-1)


def binary_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Any:
    """The mean of ``-y_true * log(y_pred) - (1 - y_true) * log(1 - y_pred)`` over `axis`.

    Parameters
    ----------
    y_true, y_pred : array_like or tape value
        Probabilities; `y_pred` are logits if `from_logits`.
    from_logits : bool
        Logits are exact at any size; probabilities are clipped to 1e-7 and 1 - 1e-7.
    label_smoothing : float
        Moves `y_true` by this part of the way to 0.5.
    axis : int
    """
    y_true, y_pred = _aligned(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    if from_logits:
        return np.mean(sigmoid_cross_entropy_with_logits(y_true, y_pred), axis=axis)
    p = np.clip(y_pred, EPSILON, 1.0 - EPSILON)
    return -np.mean(y_true * np.log(p) + (1.0 - y_true) * np.log(1.0 - p), axis=axis)


def categorical_crossentropy(
    y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0.0, axis: int = -1
) -> Any:
    """``-sum(y_true * log(y_pred))`` over `axis`.

    Parameters
    ----------
    y_true, y_pred : array_like or tape value
        Probabilities of the classes; `y_pred` are logits if `from_logits`, else they are divided by their sum.
    from_logits : bool
        Logits are exact at any size; probabilities are clipped to 1e-7 and 1 - 1e-7.
    label_smoothing : float
        Moves `y_true` by this part of the way to equal probabilities.
    axis : int
    """
    y_true, y_pred = _floating(y_true, y_pred)
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_pred.shape[axis]
    if from_logits:
        return softmax_cross_entropy_with_logits(y_true, y_pred, axis)
    p = np.clip(y_pred / np.sum(y_pred, axis=axis, keepdims=True), EPSILON, 1.0 - EPSILON)
    return -np.sum(y_true * np.log(p), axis=axis)


def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False) -> Any:
    """``-log(y_pred)`` of the class that `y_true` names, with the classes along the last axis.

    Parameters
    ----------
    y_true : array_like of integers
        Of the shape of `y_pred` without its last axis (or with a 1 there).
    y_pred : array_like or tape value
        Probabilities, clipped to 1e-7 and 1 - 1e-7 and then divided by their sum; logits if `from_logits`.
    from_logits : bool
    """
    y_pred, labels = real(y_pred), integers(y_true, "y_true")
    if labels.ndim == y_pred.ndim and labels.shape[-1:] == (1,):
        labels = labels[..., 0]
    logits = y_pred if from_logits else np.log(np.clip(y_pred, EPSILON, 1.0 - EPSILON))
    return sparse_softmax_cross_entropy_with_logits(labels, logits)


mse, mae = mean_squared_error, mean_absolute_error


def _floating(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both in the dtype of `y_pred`, which is made floating."""
    y_true, y_pred = real(y_true), real(y_pred)
    if y_pred.dtype.kind in "biu":
        y_pred = y_pred.astype(np.float64)
    return (y_true if y_true.dtype == y_pred.dtype else y_true.astype(y_pred.dtype)), y_pred


def _aligned(y_true: Any, y_pred: Any) -> tuple[Any, Any]:
    """Both in one dtype, and of one rank if one has a last axis of 1 more: broadcasting would pair each with each."""
    y_true, y_pred = _floating(y_true, y_pred)
    if y_true.ndim == y_pred.ndim + 1:
        y_true, y_pred = _same_rank(y_true, y_pred)
    elif y_pred.ndim == y_true.ndim + 1:
        y_pred, y_true = _same_rank(y_pred, y_true)
    return y_true, y_pred


def _same_rank(larger: Any, smaller: Any) -> tuple[Any, Any]:
    if smaller.ndim == 0 or larger.shape[-1] != 1:
        return larger, smaller
    return (larger, np.expand_dims(smaller, -1)) if smaller.ndim == 1 else (np.squeeze(larger, -1), smaller)
