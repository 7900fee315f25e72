"""Softmax and the losses that work on logits, fused so that no probability is ever rounded to 0 or 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitgrad.errors import ShapeError
from jitgrad.nn import kernels
from jitgrad.nn.activations import sigmoid, softplus
from jitgrad.nn.operands import axes_of, integers, real
from jitgrad.tape.primitive import Primitive


# ----- softmax --------------------------------------------------------------------------------------
def _softmax(x, axis):
    # Subtracting the largest keeps exp from overflowing and does not change the result.
    weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return weights / np.sum(weights, axis=axis, keepdims=True)


def _softmax_pull(ct, out, x, axis):
    return out * (ct - np.sum(ct * out, axis=axis, keepdims=True))


def _log_softmax(x, axis):
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _log_softmax_pull(ct, out, x, axis):
    return ct - np.exp(out) * np.sum(ct, axis=axis, keepdims=True)


_SOFTMAX = Primitive("Softmax", _softmax, (_softmax_pull,))
_LOG_SOFTMAX = Primitive("LogSoftmax", _log_softmax, (_log_softmax_pull,))


def softmax(logits: Any, axis: Any = -1) -> Any:
    """``exp(logits)``, divided by its sum over `axis` (an integer, or several)."""
    return _SOFTMAX(real(logits), axis=-1 if axis is None else axes_of(axis))


def log_softmax(logits: Any, axis: Any = -1) -> Any:
    """The logarithm of `softmax`."""
    return _LOG_SOFTMAX(real(logits), axis=-1 if axis is None else axes_of(axis))


# ----- cross entropy --------------------------------------------------------------------------------
def _cross_entropy(logits, labels, axis):
    if axis in (-1, logits.ndim - 1) and logits.dtype == labels.dtype and logits.dtype.kind == "f":
        shape, classes = logits.shape[:-1], logits.shape[-1]
        count = math.prod(shape)
        rows = logits.reshape(count, classes), labels.reshape(count, classes)
        return kernels.cross_entropy(*rows).reshape(shape)[()]
    with np.errstate(invalid="ignore"):
        return _cross_entropy_formula(logits, labels, axis)


def _cross_entropy_formula(logits, labels, axis):
    terms = labels * _log_softmax(logits, axis)
    # A class of label 0 does not count, even where its probability is 0.
    return -np.sum(np.where(labels == 0, 0.0, terms), axis=axis, dtype=terms.dtype)


def _cross_entropy_logits(ct, out, logits, labels, axis):
    # The sum of the labels need not be 1.
    mass = np.sum(labels, axis=axis, keepdims=True)
    return np.expand_dims(ct, axis) * (_SOFTMAX(logits, axis=axis) * mass - labels)


def _cross_entropy_labels(ct, out, logits, labels, axis):
    return np.expand_dims(-ct, axis) * _LOG_SOFTMAX(logits, axis=axis)


_CROSS_ENTROPY = Primitive(
    "SoftmaxCrossEntropyWithLogits",
    _cross_entropy,
    (_cross_entropy_logits, _cross_entropy_labels),
    _cross_entropy_formula,
)


def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1) -> Any:
    """``-sum(labels * log_softmax(logits))`` over `axis`.

    Parameters
    ----------
    labels : array_like or tape value
        Probabilities of the classes.
    logits : array_like or tape value
        Of the same shape.
    axis : int
        The axis of the classes.

    Notes
    -----
    The derivative is exact for labels of any sum; TensorFlow's is right only for a sum of 1.
    """
    labels, logits = real(labels), real(logits)
    _check_equal_shapes(labels, logits)
    return _CROSS_ENTROPY(logits, labels, axis=axis)


def _sparse_cross_entropy(logits, labels):
    rows = logits.reshape(labels.size, logits.shape[-1])
    return kernels.sparse_cross_entropy(rows, labels.reshape(-1)).reshape(labels.shape)[()]


def _sparse_cross_entropy_formula(logits, labels):
    return -np.sum(np.where(_is_class(logits, labels), _log_softmax(logits, -1), 0.0), axis=-1)


def _sparse_cross_entropy_pull(ct, out, logits, labels):
    target = _is_class(logits, labels).astype(logits.dtype)
    return np.expand_dims(ct, -1) * (_SOFTMAX(logits, axis=-1) - target)


def _is_class(logits, labels):
    """Whether a class, the last axis, is the one that the label names."""
    return np.equal(np.expand_dims(labels, -1), np.arange(logits.shape[-1]))


_SPARSE_CROSS_ENTROPY = Primitive(
    "SparseSoftmaxCrossEntropyWithLogits",
    _sparse_cross_entropy,
    (_sparse_cross_entropy_pull, None),
    _sparse_cross_entropy_formula,
    integers=True,  # labels are checked before
)


def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """``-log_softmax(logits)`` of the class that each label names.

    Parameters
    ----------
    labels : array_like of integers
        Of the shape of `logits` without its last axis.
    logits : array_like or tape value
        With the classes along the last axis.
    """
    logits = real(logits)
    if logits.ndim == 0:
        raise ShapeError("logits must have an axis of classes, the last one")
    labels = integers(labels, "labels", limit=logits.shape[-1])
    if labels.shape != logits.shape[:-1]:
        raise ShapeError(
            f"labels must have the shape of logits without its last axis: got labels of shape {labels.shape} "
            f"and logits of shape {logits.shape}"
        )
    return _SPARSE_CROSS_ENTROPY(logits, labels)


def _sigmoid_cross_entropy(logits, labels):
    # x - x * z where x >= 0 and -x * z where it is negative: a certain and right prediction costs 0, not inf - inf.
    weight = np.where(logits >= 0, 1 - labels, -labels)
    with np.errstate(invalid="ignore"):
        linear = np.where(weight == 0, 0.0, weight * logits)
    return (linear + np.log1p(np.exp(-np.abs(logits)))).astype(np.result_type(logits, labels), copy=False)


_SIGMOID_CROSS_ENTROPY = Primitive(
    "SigmoidCrossEntropyWithLogits",
    _sigmoid_cross_entropy,
    (
        lambda ct, out, logits, labels: ct * (sigmoid(logits) - labels),
        lambda ct, out, logits, labels: -ct * logits,
    ),
)


def sigmoid_cross_entropy_with_logits(labels: Any, logits: Any) -> Any:
    """``-labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits))``, element by element.

    Parameters
    ----------
    labels : array_like or tape value
        Probabilities.
    logits : array_like or tape value
        Of the same shape.
    """
    labels, logits = real(labels), real(logits)
    _check_equal_shapes(labels, logits)
    return _SIGMOID_CROSS_ENTROPY(logits, labels)


def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any) -> Any:
    """`sigmoid_cross_entropy_with_logits` with its first term, that of the positive labels, times `pos_weight`."""
    labels, logits = real(labels), real(logits)
    _check_equal_shapes(labels, logits)
    return (1 - labels) * logits + (1 + (pos_weight - 1) * labels) * softplus(-logits)


def _check_equal_shapes(labels: Any, logits: Any) -> None:
    if labels.shape != logits.shape:
        raise ShapeError(f"labels and logits must have the same shape, got {labels.shape} and {logits.shape}")
