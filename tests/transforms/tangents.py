"""Tangents by the forward transform against differences of the function itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.backend import derivative
from jitgrad.transforms.request import JvpRequest
from tests import numeric
from tests.corpus.corpuslib import flat, is_float_leaf, unflat


def is_sequence(x: Any) -> bool:
    return isinstance(x, (tuple, list)) or type(x).__name__ == "List"


def at_floats(value: Any, tangent: Any) -> np.ndarray:
    """The numbers of `tangent` that stand at float leaves of `value`; checks that the two have one structure."""
    if is_sequence(value):
        assert len(value) == len(tangent) and type(value) is type(tangent)
        parts = [at_floats(v, t) for v, t in zip(value, tangent)]
        return np.concatenate(parts) if parts else np.zeros(0)
    if isinstance(value, np.ndarray) and value.dtype.fields:
        return np.concatenate([at_floats(value[name], tangent[name]) for name in value.dtype.names])
    if not is_float_leaf(value):
        return np.zeros(0)
    if isinstance(value, np.ndarray):
        assert tangent.shape == value.shape and tangent.dtype == value.dtype
    return flat(tangent)


def shaped(like: tuple, numbers: np.ndarray) -> tuple:
    """`numbers` in the structure of the arguments `like`, records included."""
    made, start = [], 0
    for arg in like:
        size = flat(arg).size
        part = numbers[start : start + size]
        start += size
        if isinstance(arg, np.ndarray) and arg.dtype.fields:
            records, at = arg.copy(), 0
            for name in arg.dtype.names:
                count = flat(arg[name]).size
                if count:
                    records[name] = part[at : at + count].reshape(arg.shape)
                at += count
            made.append(records)
        else:
            made.append(unflat(arg, part))
    return tuple(made)


def check(function: Any, args: Any, wrt: tuple[int, ...], outs: tuple[int, ...] = (), rtol: float = 1e-8) -> None:
    """The tangent along a random direction is right, the value and the arguments are those of the primal.

    `args` makes fresh arguments.
    """
    given = args()
    primals = tuple(args()[k] for k in wrt)
    direction = np.random.default_rng(3).uniform(0.5, 1.5, flat(primals).size)
    tangents = shaped(primals, direction)
    request = JvpRequest(wrt, outs or None)
    value, tangent = derivative(function, request)(tangents, *given)
    np.testing.assert_array_equal(flat(tangents), direction.astype(flat(tangents).dtype))  # only read

    def result(step: float, left: list | None = None) -> Any:
        fresh = list(args())
        for k, moved in zip(wrt, shaped(primals, flat(primals) + step * direction)):
            fresh[k] = moved
        returned = function(*fresh)
        if left is not None:
            left += fresh
        if not outs:
            return returned
        contents = tuple(fresh[k] for k in outs)
        return contents if returned is None else (returned, *contents)

    left: list = []
    np.testing.assert_allclose(flat(value), flat(result(0.0, left)), rtol=1e-13 if rtol < 1e-6 else 1e-5)
    np.testing.assert_allclose(flat(tuple(given)), flat(tuple(left)), rtol=1e-13 if rtol < 1e-6 else 1e-5)
    want, noise = numeric.directional(lambda step: flat(result(step)))
    scale = np.abs(want).max(initial=1.0)
    assert noise.max(initial=0.0) < 1e-7 * scale, "the point is too close to a kink"
    np.testing.assert_allclose(at_floats(value, tangent), want, rtol=rtol, atol=rtol * scale)
