"""Which calls become kernels when that is asked for."""

import math

import numpy as np
from numba import float32, float64, njit

from jitgrad import fastmath, frontend
from jitgrad.optimize import optimize
from jitgrad.program import ir


def called(function, *types):
    program = optimize(frontend.read(function, types), kernels=True)
    return [op.fn for op in ir.walk(program.body) if isinstance(op, ir.Call)]


@njit
def nested(x, y):
    s = math.log(y)
    for i in range(x.size):
        s += math.sin(s)
        for j in range(i):
            s += math.exp(x[j]) + x[j] ** y + x[j] ** 2
    return s


def test_innermost_loops_only():
    assert called(nested, float64[::1], float64) == [math.log, math.sin, fastmath.exp, fastmath.pow]


@njit
def elementwise(x, y):
    return np.sum(np.tanh(x) + y)


def test_elementwise_expressions():
    assert called(elementwise, float64[::1], float64)[0] is fastmath.tanh
    assert called(elementwise, float32[::1], float32)[0] is fastmath.tanh


@njit
def mixed(n, z):
    s = 0.0
    for i in range(n):
        s += math.exp(i) + abs(np.exp(z))
    return s


def test_numbers_other_than_floats_stay_with_the_library():
    from numba import complex128, int64

    assert fastmath.exp not in called(mixed, int64, complex128)


def test_nothing_without_being_asked():
    program = optimize(frontend.read(nested, (float64[::1], float64)))
    assert not any(isinstance(getattr(op, "fn", None), fastmath.Function) for op in ir.walk(program.body))
