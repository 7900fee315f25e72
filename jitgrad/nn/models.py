"""Classifiers of images: for each, the logits, the loss to differentiate, and initial parameters.

=========  ============================================================================
softmax    one dense layer
mlp        dense, relu, dense
cnn        5 x 5 convolution, relu, 2 x 2 maximum, twice; then one dense layer
=========  ============================================================================

``logits(params, x)`` and ``loss(params, x, labels)`` take the parameters as a tuple of arrays and the images as an
array of shape (n, rows, columns).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import DTypeLike

from jitgrad.nn.initializers import glorot_uniform, he_normal
from jitgrad.nn.layers import conv2d, dense, max_pool2d, relu, softmax_cross_entropy

HIDDEN = 256
KERNEL = 5
CHANNELS = (8, 16)


@dataclass(frozen=True)
class Model:
    """A classifier.

    Attributes
    ----------
    logits : function of (params, x)
        One row of scores per image; the largest is the prediction.
    loss : function of (params, x, labels)
        The mean cross entropy.
    initialize : function of (generator, side, classes, dtype)
        The initial parameters for images of `side` x `side` pixels.
    """

    logits: Any
    loss: Any
    initialize: Callable[[np.random.Generator, int, int, DTypeLike], tuple[np.ndarray, ...]]


@njit(cache=True)
def softmax_logits(params, x):
    weight, bias = params
    return dense(x.reshape((x.shape[0], x.shape[1] * x.shape[2])), weight, bias)


@njit(cache=True)
def softmax_loss(params, x, labels):
    return softmax_cross_entropy(softmax_logits(params, x), labels)


def softmax_init(generator, side, classes, dtype):
    # Zeros are the customary start: the problem is convex and the classes differ by their data.
    return np.zeros((side * side, classes), dtype), np.zeros(classes, dtype)


@njit(cache=True)
def mlp_logits(params, x):
    weight1, bias1, weight2, bias2 = params
    hidden = relu(dense(x.reshape((x.shape[0], x.shape[1] * x.shape[2])), weight1, bias1))
    return dense(hidden, weight2, bias2)


@njit(cache=True)
def mlp_loss(params, x, labels):
    return softmax_cross_entropy(mlp_logits(params, x), labels)


def mlp_init(generator, side, classes, dtype):
    return (
        he_normal(generator, (side * side, HIDDEN), dtype),
        np.zeros(HIDDEN, dtype),
        glorot_uniform(generator, (HIDDEN, classes), dtype),
        np.zeros(classes, dtype),
    )


@njit(cache=True)
def cnn_logits(params, x):
    kernel1, bias1, kernel2, bias2, weight, bias = params
    pixels = x.reshape((x.shape[0], x.shape[1], x.shape[2], 1))
    # relu and the maximum commute; relu after it has a quarter of the work.
    first = relu(max_pool2d(conv2d(pixels, kernel1, bias1)))
    second = relu(max_pool2d(conv2d(first, kernel2, bias2)))
    return dense(second.reshape((x.shape[0], weight.shape[0])), weight, bias)


@njit(cache=True)
def cnn_loss(params, x, labels):
    return softmax_cross_entropy(cnn_logits(params, x), labels)


def _after_convolution(side: int) -> int:
    return (side - KERNEL + 1) // 2


def cnn_init(generator, side, classes, dtype):
    one, two = CHANNELS
    flat = _after_convolution(_after_convolution(side)) ** 2 * two
    return (
        he_normal(generator, (KERNEL, KERNEL, 1, one), dtype),
        np.zeros(one, dtype),
        he_normal(generator, (KERNEL, KERNEL, one, two), dtype),
        np.zeros(two, dtype),
        glorot_uniform(generator, (flat, classes), dtype),
        np.zeros(classes, dtype),
    )


MODELS = {
    "softmax": Model(softmax_logits, softmax_loss, softmax_init),
    "mlp": Model(mlp_logits, mlp_loss, mlp_init),
    "cnn": Model(cnn_logits, cnn_loss, cnn_init),
}
