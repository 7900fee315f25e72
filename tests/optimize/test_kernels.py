"""Which calls become kernels when that is asked for."""

import math

import numpy as np
from numba import float32, float64, njit

import jitgrad
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


def free_sums(function, *types, kernels=True):
    program = optimize(frontend.read(function, types), kernels=kernels)
    return sum(op.free is not None for op in ir.walk(program.body) if isinstance(op, ir.Binary))


@njit
def several_sums(x, y):
    s, p = 0.0, 1.0
    for i in range(x.size):
        p += 0.5 * p
        for j in range(y.size):
            s = x[i] * y[j] + s
    return s + p


def test_sums_of_innermost_loops_are_free():
    assert free_sums(several_sums, float64[::1], float64[::1]) == 1
    assert free_sums(several_sums, float64[::1], float64[::1], kernels=False) == 0


@njit
def compensated(x):
    s, lost = 0.0, 0.0
    for v in x:
        term = v - lost
        t = s + term
        lost = (t - s) - term
        s = t
    return s


@njit
def watched(x):
    s = 0.0
    for v in x:
        s += v
        if s > 2.0:
            s += 0.5 * s
    return s


@njit
def running(x, out):
    s = 0.0
    for i in range(x.size):
        s += x[i]
        out[i] = s
    return s


def test_sums_that_somebody_looks_at_are_not():
    assert free_sums(compensated, float64[::1]) == 0
    assert free_sums(watched, float64[::1]) == 0
    assert free_sums(running, float64[::1], float64[::1]) == 0


def test_a_free_sum_is_the_same_but_for_the_last_digits():
    x, y = np.linspace(0.1, 2.0, 1001), np.linspace(-1.0, 2.0, 17)
    with jitgrad.options(math="fast"):
        value, gradient = jitgrad.value_and_grad(several_sums)(x, y)
    np.testing.assert_allclose(value, several_sums(x, y), rtol=1e-13)
    np.testing.assert_allclose(gradient, np.full(x.size, y.sum()), rtol=1e-13)
