"""Normalization by mean and variance or by the norm, and dropout."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError
from jitgrad.nn.operands import axes_of, operand, real


def moments(x: Any, axes: Any, keepdims: bool = False) -> tuple[Any, Any]:
    """The mean and the variance of `x` over `axes` (an integer, or several)."""
    x, axes = real(x), axes_of(axes)
    mean = np.mean(x, axis=axes, keepdims=True)
    variance = np.mean(np.square(x - mean), axis=axes, keepdims=True)
    return (mean, variance) if keepdims else (np.squeeze(mean, axis=axes), np.squeeze(variance, axis=axes))


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any = None, scale: Any = None, variance_epsilon: float = 0.001
) -> Any:
    """``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``.

    Parameters
    ----------
    x : array_like or tape value
    mean, variance : array_like or tape value
        Of shapes that broadcast with `x`; see `moments`.
    offset, scale : array_like or tape value, optional
    variance_epsilon : float
    """
    x, mean = real(x), real(mean)
    factor = 1 / np.sqrt(real(variance) + variance_epsilon)
    if scale is not None:
        factor = factor * real(scale)
    out = (x - mean) * factor
    return out if offset is None else out + real(offset)


def layer_normalization(x: Any, gamma: Any = None, beta: Any = None, axis: Any = -1, epsilon: float = 0.001) -> Any:
    """`x` with mean 0 and variance 1 along `axis`, then times `gamma` plus `beta`.

    Parameters
    ----------
    x : array_like or tape value
    gamma, beta : array_like or tape value, optional
        Of the lengths of `x` along `axis`.
    axis : int or sequence of int
    epsilon : float
        Added to the variance.
    """
    x = real(x)
    mean, variance = moments(x, axis, keepdims=True)
    kept = {a % x.ndim for a in np.atleast_1d(axis).tolist()}
    shape = tuple(n if k in kept else 1 for k, n in enumerate(x.shape))
    gamma, beta = (None if p is None else np.reshape(real(p), shape) for p in (gamma, beta))
    return batch_normalization(x, mean, variance, beta, gamma, epsilon)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12) -> Any:
    """`x`, divided by ``sqrt(max(sum(x ** 2), epsilon))`` over `axis` (all by default)."""
    x = real(x)
    square = np.sum(np.square(x), axis=axes_of(axis), keepdims=True)
    return x / np.sqrt(np.maximum(square, epsilon))


def dropout(x: Any, rate: float, noise_shape: Any = None, seed: Any = None, *, training: bool = True) -> Any:
    """`x` with elements dropped by chance, and the others divided by the chance that they stay.

    Parameters
    ----------
    x : array_like or tape value of floating point numbers
    rate : float
        The chance of an element to be dropped, at least 0 and below 1.
    noise_shape : sequence of int, optional
        Of the random draws, which are broadcast to `x`; None in it stands for the length of `x`.
    seed : int, or numpy.random.Generator, optional
        The same integer drops the same elements. A generator gives new draws at each call.
    training : bool
        If False, nothing is dropped.

    Examples
    --------
    >>> import numpy as np
    >>> from jitgrad import nn
    >>> nn.dropout(np.ones(6), 0.5, seed=1)
    array([2., 2., 0., 2., 0., 0.])
    """
    x = operand(x)
    if x.dtype.kind not in "fc":
        raise ArgumentError(f"dropout scales floating point numbers, not {x.dtype}; convert them with .astype(float)")
    if not 0 <= rate < 1:
        raise ArgumentError(f"rate must be at least 0 and below 1, not {rate!r}")
    if not training or rate == 0:
        return x
    shape = x.shape
    if noise_shape is not None:
        shape = tuple(n if m is None else m for n, m in zip(x.shape, noise_shape, strict=True))
    stays = np.random.default_rng(seed).random(shape) >= rate
    return np.where(stays, x * (1 / (1 - rate)), 0.0)
