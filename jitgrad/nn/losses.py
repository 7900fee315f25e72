"""Losses: from a batch of outputs to one number."""

from __future__ import annotations

import math

from numba import njit


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
