"""Loops that NumPy has no fast form for, compiled when they are first used."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_patches(out, patches, strides, dilations):
    """Add windows to the places they were taken from.

    Parameters
    ----------
    out : array of shape (n, rows, columns, channels), which is changed
    patches : array of shape (n, out rows, out columns, height, width, channels)
    strides, dilations : (int, int)
    """
    n, out_rows, out_columns, height, width, channels = patches.shape
    for i in range(n):
        for r in range(out_rows):
            for c in range(out_columns):
                for a in range(height):
                    for b in range(width):
                        row = r * strides[0] + a * dilations[0]
                        column = c * strides[1] + b * dilations[1]
                        for k in range(channels):
                            out[i, row, column, k] += patches[i, r, c, a, b, k]


@njit(cache=True, nogil=True)
def first_maxima(x, size, strides, before, counts):
    """Where in the flat `x` the first largest element of each window is, or the first NaN.

    Parameters
    ----------
    x : array of shape (n, rows, columns, channels)
    size, strides, before, counts : (int, int)
        Of windows, their steps, the padding before the first row and column, and how many windows there are.
    """
    n, rows, columns, channels = x.shape
    out = np.empty((n, counts[0], counts[1], channels), np.int64)
    for i in range(n):
        for r in range(counts[0]):
            top = r * strides[0] - before[0]
            for c in range(counts[1]):
                left = c * strides[1] - before[1]
                first_row, first_column = max(top, 0), max(left, 0)
                for k in range(channels):
                    best = x[i, first_row, first_column, k]
                    at = ((i * rows + first_row) * columns + first_column) * channels + k
                    for row in range(first_row, min(top + size[0], rows)):
                        for column in range(first_column, min(left + size[1], columns)):
                            element = x[i, row, column, k]
                            if best == best and not element <= best:
                                best = element
                                at = ((i * rows + row) * columns + column) * channels + k
                    out[i, r, c, k] = at
    return out


@njit(cache=True, nogil=True)
def add_at(out, positions, values):
    """Add each of `values` to ``out[position]``; all are flat."""
    for k in range(positions.size):
        out[positions[k]] += values[k]


@njit(cache=True, nogil=True)
def sparse_cross_entropy(logits, labels):
    """``log(sum(exp(logits)))`` of each row, less the logit that its label names.

    Parameters
    ----------
    logits : array of shape (n, classes)
    labels : array of n integers
    """
    n, classes = logits.shape
    out = np.empty(n, logits.dtype)
    for i in range(n):
        largest = logits[i, 0]
        for k in range(1, classes):
            largest = max(largest, logits[i, k])
        total = logits.dtype.type(0.0)
        for k in range(classes):
            total += np.exp(logits[i, k] - largest)
        out[i] = np.log(total) - (logits[i, labels[i]] - largest)
    return out


@njit(cache=True, nogil=True)
def cross_entropy(logits, labels):
    """``-sum(labels * log_softmax(logits))`` of each row, where a class of label 0 does not count.

    Parameters
    ----------
    logits, labels : arrays of shape (n, classes), of one dtype
    """
    n, classes = logits.shape
    out = np.empty(n, logits.dtype)
    zero = logits.dtype.type(0.0)
    for i in range(n):
        largest = logits.dtype.type(-np.inf)
        for k in range(classes):
            largest = max(largest, logits[i, k])
        mass = zero
        for k in range(classes):
            mass += np.exp(logits[i, k] - largest)
        log_mass, total = np.log(mass), zero
        for k in range(classes):
            if labels[i, k] != 0:
                total -= labels[i, k] * (logits[i, k] - largest - log_mass)
        out[i] = total
    return out
