"""Several directions at once: the generated source, and the same tangents as one direction after the other."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import numpy as np
import pytest
from numba import njit, typeof

from jitgrad import frontend
from jitgrad.backend import derivative
from jitgrad.backend.engine import Forward
from jitgrad.transforms import forward
from jitgrad.transforms.request import JvpRequest
from tests.corpus.corpuslib import is_float_leaf
from tests.transforms.zoo import zoo

WIDTH = 3


@njit
def weighted(x, w):
    s = 0.0
    for i in range(x.size):
        y = np.sqrt(x[i]) * w
        s += max(y, 0.5)
    return s, np.where(w > 0.0, w, 1.0), 2


def test_source():
    """Zeros, loads, products that are zero where a factor is, selections, the boundary."""
    program = frontend.read(weighted, (typeof(np.ones(2)), typeof(1.0)))
    text = forward.emit(program, JvpRequest((0, 1), width=4)).source
    assert re.sub(r"  # \S+:\d+$", "", text, flags=re.M) == textwrap.dedent("""\
        def jvp4_weighted(tangents, x, w):
            x_dot = vectors(tangents[0], zero)
            w_dot = vector(tangents[1], zero)
            t = x.size
            s = 0.0
            s_dot = zero
            for i in range(t):
                t_1_dot = x_dot[i]
                t_1 = x[i]
                t_1 = np.sqrt(t_1)
                t_1_dot = mul0_each(t_1_dot, 0.5 / t_1)
                y_dot = t_1_dot * w + w_dot * t_1
                y = t_1 * w
                t_1_dot = select0(larger(y, 0.5), y_dot)
                t_1 = max(y, 0.5)
                s_dot = s_dot + t_1_dot
                s = s + t_1
            t_2 = w > 0.0
            t_3_dot = w_dot if t_2 else zero
            t_3 = w if t_2 else 1.0
            t_4_dot = (s_dot, t_3_dot, 0.0,)
            t_4 = (s, t_3, 2,)
            return (t_4, (numbers(t_4_dot[0]), numbers(t_4_dot[1]), t_4_dot[2],))
        """)


def tangents_of(value: Any, rng: np.random.Generator) -> Any:
    """Random tangents with an axis of directions, in the structure of an argument."""
    if isinstance(value, tuple):
        parts = [tangents_of(item, rng) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not is_float_leaf(value):
        return 0
    return rng.normal(size=(*np.shape(value), WIDTH)).astype(np.asarray(value).dtype)


def compare(got: Any, want: Any, rtol: float) -> None:
    if isinstance(want, tuple):
        for a, b in zip(got, want, strict=True):
            compare(a, b, rtol)
    elif is_float_leaf(want):
        assert np.asarray(got).dtype == np.asarray(want).dtype
        scale = np.abs(want).max(initial=1.0)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale)


def check(function: Any, args: Any, wrt: tuple[int, ...], outs: tuple[int, ...] = ()) -> None:
    """Vectors and the loop over directions agree; so do what they leave in the arguments."""
    request = JvpRequest(wrt, outs or None, width=WIDTH)
    tangents = tuple(tangents_of(args()[k], np.random.default_rng(1)) for k in wrt)
    left = args(), args()
    found = [derivative(function, Forward(request, loop))(tangents, *a) for loop, a in zip((False, True), left)]
    compare(*found, rtol=1e-12)
    compare(tuple(left[0]), tuple(left[1]), rtol=1e-12)


@njit
def of_arrays(a, b):
    """Rules for vectors (dot, sum, mean, copy, array of numbers), and one that takes direction by direction (sort)."""
    c = np.dot(a, b)
    d = np.dot(a.T.copy(), a)
    e = np.array([c[0], b[1], 0.5])
    return d, np.dot(c, a), np.dot(b, b) + e.mean(), np.sort(c) * e.sum()


@pytest.mark.slow
def test_functions_of_arrays():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 4)), rng.normal(size=4)
    check(of_arrays, lambda: (a, b), (0, 1))


ANIMALS = ("ring_buffer", "rounding_has_no_slope", "zero_dimensional", "list_holds_views", "rebinds_an_array")


@pytest.mark.slow
@pytest.mark.parametrize("animal", [a for a in zoo() if a.name in ANIMALS], ids=lambda animal: animal.name)
def test_zoo(animal):
    check(animal.function, animal.args, animal.wrt, animal.outs)
