"""A primal that raises: the same exception comes out, no memory leaks, and the derivative works afterwards."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys

import jitgrad
from jitgrad.errors import JitgradError
from tests.raising import (
    Trouble,
    asserts,
    fails_inside,
    raises_first,
    raises_in_a_helper,
    raises_in_a_loop,
    raises_in_a_while_loop,
    raises_in_recursion,
)

CASES = {
    "first": (raises_first, -1e9, 1e9, ValueError, "before anything"),
    "loop": (raises_in_a_loop, 20.0, 1e9, ValueError, "in the loop"),
    "while loop": (raises_in_a_while_loop, 12.0, 1e9, Trouble, "in the while loop"),
    "helper": (raises_in_a_helper, 3.0, 1e9, ValueError, "in the helper"),
    "assert": (asserts, 1.0, 1e9, AssertionError, "too small"),
    "recursion": (raises_in_recursion, 4.0, 1e9, ValueError, "deep down"),
}


def point() -> np.ndarray:
    return np.array([0.3, -0.8, 0.5, 1.1, 0.2])


def forward(function):
    def call(x, limit):
        return jitgrad.jvp(function, (x, limit), (np.ones_like(x),), argnums=(0,))[1]

    return call


def pulled_back(function):
    def call(x, limit):
        return jitgrad.vjp(function, x, limit, argnums=(0,))[1](1.0)[0]

    return call


MODES = {"grad": jitgrad.grad, "value_and_grad": jitgrad.value_and_grad, "jvp": forward, "vjp": pulled_back}


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return CASES[request.param]


@pytest.fixture(params=MODES, ids=str)
def derivative(request, case):
    return MODES[request.param](case[0])


def test_the_exception_of_the_primal(case, derivative):
    function, bad, _, exception, words = case
    with pytest.raises(exception, match=words) as primal:
        function(point(), bad)
    with pytest.raises(exception, match=words) as derived:
        derivative(point(), bad)
    assert derived.value.args == primal.value.args
    assert not isinstance(derived.value, JitgradError)


def test_right_after_a_failure(case, derivative):
    _, bad, good, exception, _ = case
    want = derivative(point(), good)
    for _ in range(5):
        with pytest.raises(exception):
            derivative(point(), bad)
        got = derivative(point(), good)
        for one, other in zip(_parts(got), _parts(want), strict=True):
            np.testing.assert_array_equal(one, other)


def _parts(tree):
    return [part for item in tree for part in _parts(item)] if isinstance(tree, tuple) else [tree]


@pytest.fixture
def statistics():
    """Numba's counters of allocations, which are off by default."""
    was_on = _nrt_python.memsys_stats_enabled()
    _nrt_python.memsys_enable_stats()
    yield
    if not was_on:
        _nrt_python.memsys_disable_stats()


def alive(call, times: int) -> int:
    """Arrays allocated in the calls that are still alive after them."""
    gc.collect()
    before = rtsys.get_allocation_stats()
    for _ in range(times):
        call()
    gc.collect()
    after = rtsys.get_allocation_stats()
    assert after.mi_alloc > before.mi_alloc, "nothing was allocated: this test could not fail"
    return (after.mi_alloc - before.mi_alloc) - (after.mi_free - before.mi_free)


def leaked(call) -> int:
    """What 200 calls leave behind, after 20 that may fill memory kept for reuse."""
    alive(call, 20)
    return alive(call, 200)


def failing(call, bad, exception):
    def run():
        try:
            call(point(), bad)
        except exception:
            return
        raise AssertionError("nothing was raised")

    return run


def test_no_leak_without_a_failure(statistics, case, derivative):
    good = case[2]
    assert leaked(lambda: derivative(point(), good)) == 0


def test_no_leak_after_a_failure(statistics, case, derivative):
    """Numba itself forgets the arrays of a caller whose callee raises; then we may, but not much more."""
    function, bad, _, exception, _ = case
    own = leaked(failing(function, bad, exception))
    assert leaked(failing(derivative, bad, exception)) <= 4 * own


def test_leaks_are_seen(statistics):
    kept = []
    assert leaked(lambda: kept.append(fails_inside(point(), 1e9))) == 200
