"""The layers and the loss of the models, as nopython functions that keep no state.

Arrays are batches: examples along the first axis, channels along the last. The heavy layers are one matrix product
each: that is what BLAS, and a reverse sweep over it, do fast.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit(cache=True)
def dense(x, weight, bias):
    """``x @ weight + bias`` for `x` of shape (n, inputs) and `weight` of shape (inputs, outputs)."""
    return x @ weight + bias


@njit(cache=True)
def relu(x):
    """The positive part of `x`, with derivative 0 at 0."""
    # A product keeps the dtype (a literal zero in np.maximum would widen float32) and has no tie at 0.
    return x * (x > 0)


@njit(cache=True)
def patches(x, height, width):
    """Every window of `x` as one row.

    Parameters
    ----------
    x : array of shape (n, rows, columns, channels)
    height, width : int
        Of the window.

    Returns
    -------
    array of shape (n * (rows - height + 1) * (columns - width + 1), height * width * channels)
    """
    n, rows, columns, channels = x.shape
    out_rows, out_columns = rows - height + 1, columns - width + 1
    # In a row of pixels, a window's part is one run of numbers; the innermost loop copies it.
    pixels = x.reshape((n, rows, columns * channels))
    run = width * channels
    out = np.empty((n * out_rows * out_columns, height * run), x.dtype)
    for i in range(n):
        for r in range(out_rows):
            for c in range(out_columns):
                row = (i * out_rows + r) * out_columns + c
                for a in range(height):
                    for b in range(run):
                        out[row, a * run + b] = pixels[i, r + a, c * channels + b]
    return out


@njit(cache=True)
def conv2d(x, weight, bias):
    """Two-dimensional convolution without padding, as the product of all windows with the kernels.

    Parameters
    ----------
    x : array of shape (n, rows, columns, channels)
    weight : array of shape (height, width, channels, outputs)
    bias : array of shape (outputs,)

    Returns
    -------
    array of shape (n, rows - height + 1, columns - width + 1, outputs)
    """
    height, width, channels, outputs = weight.shape
    product = patches(x, height, width) @ weight.reshape((height * width * channels, outputs)) + bias
    return product.reshape((x.shape[0], x.shape[1] - height + 1, x.shape[2] - width + 1, outputs))


@njit(cache=True)
def max_pool2d(x):
    """The largest of each 2 x 2 block of pixels; an odd last row or column is dropped."""
    n, rows, columns, channels = x.shape
    out = np.empty((n, rows // 2, columns // 2, channels), x.dtype)
    for i in range(n):
        for r in range(rows // 2):
            for c in range(columns // 2):
                for k in range(channels):
                    top = max(x[i, 2 * r, 2 * c, k], x[i, 2 * r, 2 * c + 1, k])
                    bottom = max(x[i, 2 * r + 1, 2 * c, k], x[i, 2 * r + 1, 2 * c + 1, k])
                    out[i, r, c, k] = max(top, bottom)
    return out


@njit(cache=True)
def softmax_cross_entropy(logits, labels):
    """The mean over the batch of ``-log(softmax(logits)[label])``.

    Parameters
    ----------
    logits : array of shape (n, classes)
    labels : array of n integers

    Returns
    -------
    float
        Summed in double precision, whatever the dtype of `logits`.
    """
    total = 0.0
    for i in range(logits.shape[0]):
        # Subtracting the largest logit keeps exp from overflowing and does not change the result.
        largest = logits[i, 0]
        for j in range(1, logits.shape[1]):
            if logits[i, j] > largest:
                largest = logits[i, j]
        mass = 0.0
        for j in range(logits.shape[1]):
            mass += math.exp(logits[i, j] - largest)
        total += math.log(mass) - (logits[i, labels[i]] - largest)
    return total / logits.shape[0]
