"""`prange` loops with tangents: which run in parallel, that no iterations meet, and the same bits from threads."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, prange

import jitgrad as jg
from jitgrad import frontend
from jitgrad.optimize import optimize
from jitgrad.transforms import forward
from jitgrad.transforms.request import JvpRequest
from tests.corpus.corpuslib import flat, unflat
from tests.transforms.reverse import test_parallel as programs
from tests.transforms.reverse.harness import floats, some, types_of
from tests.transforms.reverse.races import loops, watching


def generated(function, *args):
    program = optimize(frontend.read(njit(parallel=True)(function), types_of(args)))
    return forward.emit(program, JvpRequest(floats(args)))


def along(function, args, direction, step):
    """The function at a point moved along a direction."""
    wrt = floats(args)
    point = flat(tuple(args[k] for k in wrt)) + step * direction
    moved = list(args)
    for k, part in zip(wrt, unflat(tuple(args[k] for k in wrt), point), strict=True):
        moved[k] = part
    return function(*moved)


@pytest.mark.parametrize(
    ("case", "expected"),
    [(case, True) for case in (*programs.BACKWARD, *programs.FORWARD)]
    + [(case, False) for case in programs.SERIAL[::2]],
    ids=lambda x: str(x) if isinstance(x, bool) else x.function.__name__,
)
def test_right_and_without_races(case, expected):
    function, args = case.function, case.args
    made = generated(function, *args)
    assert (loops(made) > 0) == expected
    wrt = floats(args)
    direction = some(flat(tuple(args[k] for k in wrt)).size)
    tangents = unflat(tuple(args[k] for k in wrt), direction)
    value, dot = watching(made)(tuple(tangents), *args)
    np.testing.assert_allclose(value, function(*args), rtol=1e-12)
    want = (along(function, args, direction, 1e-6) - along(function, args, direction, -1e-6)) / 2e-6
    np.testing.assert_allclose(dot, want, rtol=1e-6)


@njit(parallel=True)
def energy(x, at, c):
    s = 0.0
    for i in prange(at.size):
        s += c * x[at[i]] ** 3
    return s


ENERGY = some(40), np.arange(4000) * 7 % 40, 2.0


def test_threads():
    v = np.cos(ENERGY[0])
    push = jg.pushforward(energy)
    value, dot = push(v, *ENERGY)
    assert all(push(v, *ENERGY) == (value, dot) for _ in range(20))
    np.testing.assert_allclose(dot, 100 * (6.0 * ENERGY[0] ** 2) @ v, rtol=1e-13)
    assert "prange(" in jg.source(push, v, *ENERGY)


@pytest.mark.slow
def test_products_with_the_hessian_in_threads():
    v = np.cos(ENERGY[0])
    push = jg.pushforward(jg.grad(energy))
    _, product = push(v, *ENERGY)
    for _ in range(20):
        np.testing.assert_array_equal(push(v, *ENERGY)[1], product)
    np.testing.assert_allclose(product, 100 * 12.0 * ENERGY[0] * v, rtol=1e-12)
    assert "prange(" in jg.source(push, v, *ENERGY)
