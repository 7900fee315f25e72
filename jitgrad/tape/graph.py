"""`gradients` and `hessians`: symbolic-style derivatives of recorded values, themselves recorded."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.tape.gradient_tape import UnconnectedGradients, connected, one_hot, seeds_of, unconnected, values_of
from jitgrad.tape.structure import flatten
from jitgrad.tape.sweep import backward
from jitgrad.tape.tensor import Tensor


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """The derivatives of the sum of `ys` with respect to each of `xs`.

    Parameters
    ----------
    ys, xs : Tensor, Variable, or a list of them
        Values recorded by a `GradientTape`. All tapes that recorded them record this computation too, so that the
        results can be differentiated again.
    grad_ys : list of array_like, optional
        Cotangents of `ys`, by default ones.
    name, gate_gradients, aggregation_method
        Accepted for TensorFlow's sake.
    stop_gradients : Tensor, Variable, or a list of them, optional
        Values to treat as constants: the results are partial derivatives.
    unconnected_gradients : {"none", "zero"} or UnconnectedGradients

    Returns
    -------
    list of Tensor or None
        One per value of `xs`.

    Examples
    --------
    >>> import jitgrad
    >>> x = jitgrad.constant(3.0)
    >>> with jitgrad.GradientTape() as tape:
    ...     tape.watch(x)
    ...     (slope,) = jitgrad.gradients(x**3, x)
    ...     (curvature,) = jitgrad.gradients(slope, x)
    >>> float(slope), float(curvature)
    (27.0, 18.0)
    """
    rule = unconnected(unconnected_gradients)
    targets, sources = values_of("ys", ys), values_of("xs", xs)
    stopped = [] if stop_gradients is None else values_of("stop_gradients", stop_gradients)
    stops = {s.node for s in stopped if s.node is not None}
    found = backward(targets, seeds_of(ys, targets, grad_ys, ("ys", "grad_ys")), sources, stops=stops)
    return connected(found, sources, xs, rule, targets, None)


def hessians(ys: Any, xs: Any, name: str = "hessians", **kwargs: Any) -> list[Any]:
    """The second derivatives of the sum of `ys` with respect to each of `xs`.

    Parameters
    ----------
    ys, xs : Tensor, Variable, or a list of them
    name : str
        Accepted for TensorFlow's sake.
    **kwargs
        As in `gradients`.

    Returns
    -------
    list of Tensor
        One per value of `xs`, each of shape ``x.shape + x.shape``.

    Examples
    --------
    >>> import jitgrad
    >>> x = jitgrad.constant([1.0, 2.0])
    >>> with jitgrad.GradientTape() as tape:
    ...     tape.watch(x)
    ...     (h,) = jitgrad.hessians(x[0] ** 2 * x[1], x)
    >>> h.numpy()
    array([[4., 2.],
           [2., 0.]])
    """
    found = []
    for x, slope in zip(flatten(xs), gradients(ys, xs, **{**kwargs, "unconnected_gradients": "zero"}), strict=True):
        rows = [gradients(slope, x, seed, unconnected_gradients="zero")[0] for seed in one_hot(x.shape, x.dtype)]
        blocks = np.stack(rows) if rows else Tensor(np.zeros((0, *x.shape), x.dtype))
        found.append(np.reshape(blocks, x.shape + x.shape))
    return found
