"""Values that share a variable are never alive at once: the primal, printed with them, computes the same."""

import math

import numpy as np
import pytest
from numba import njit, typeof, types

from jitgrad import frontend
from jitgrad.analysis.liveness import Variables
from jitgrad.transforms import forward
from jitgrad.transforms.request import JvpRequest


def printed(function, *args):
    """The function by the forward transform with nothing to differentiate, and its source."""
    program = frontend.read(njit(function), tuple(typeof(a) for a in args))
    made = forward.emit(program, JvpRequest(()))
    exec(made.source, made.namespace)
    return made.source, njit(made.namespace[made.name])


def swap(x, n):
    a, b = x, 2.0 * x
    for k in range(n):
        a, b = b, a + k
    return a - b


def rotate(x, n):
    a, b, c = x, 2.0, 3.0
    for k in range(n):
        a, b, c = b + 0.0, c + x, a * 0.5
        if k % 2 == 0:
            b, c = c, b
    return a + 10.0 * b + 100.0 * c


def old_value_needed(x, n):
    last = 0.0
    for k in range(n):
        before = x
        x = x * 1.1 + last
        last = before
    return x + last


def count_shadowed(x, n):
    n = min(n, 7)
    for k in range(n):
        n = k
        x += n
    return x + n


def nested(x, n):
    i = j = 0
    while i < n:
        j = i
        i += 1
        while True:
            j += 1
            if j > 5:
                break
            x = x + j * i
    return x + i + j


def branch_reads_old(x, n):
    y = x
    if n > 2:
        y = x + 1.0
        x = y * x
    else:
        x, y = y * 3.0, x + 2.0
    return x - y


@pytest.mark.parametrize("function", [swap, rotate, old_value_needed, count_shadowed, nested, branch_reads_old])
@pytest.mark.parametrize("n", [0, 1, 4, 9])
def test_computes_the_same(function, n):
    _, same = printed(function, 1.25, n)
    assert same((), 1.25, n) == (function(1.25, n), 0.0)


def test_loop_variables_need_no_copies():
    def f(x, n):
        s = 0.0
        for i in range(n):
            s += math.sin(x) * i
        return s

    source, _ = printed(f, 1.0, 3)
    assert source.count("s = ") == 2, source


def test_a_swap_is_one_line():
    source, _ = printed(swap, 1.0, 3)
    assert source.count("a = ") + source.count("b = ") <= 5, source


def test_parameters_keep_their_names():
    def f(x, y):
        z = x
        x = y * 2.0
        return x + z

    program = frontend.read(njit(f), (types.float64, types.float64))
    variables = Variables(program)
    assert [variables.of(p) for p in program.params] == program.params


def test_types_never_share():
    def f(x, n):
        v = n
        if x > 0.0:
            v = n + 1
        v = v * x
        return np.array([v, x])

    _, same = printed(f, 1.5, 3)
    np.testing.assert_array_equal(same((), 1.5, 3)[0], [6.0, 1.5])
