"""The classical Runge-Kutta method on a chain of equations, y_0' = x_0 and y_i' = x_i y_(i-1), from 0 to 2."""

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array


@njit
def slope(x, y, out):
    out[0] = x[0]
    for i in range(1, x.size):
        out[i] = x[i] * y[i - 1]


@njit
def solve(x, steps):
    n = x.size
    h = 2.0 / steps
    y = np.zeros(n)
    k1, k2, k3, k4, trial = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for _ in range(steps):
        slope(x, y, k1)
        for i in range(n):
            trial[i] = y[i] + 0.5 * h * k1[i]
        slope(x, trial, k2)
        for i in range(n):
            trial[i] = y[i] + 0.5 * h * k2[i]
        slope(x, trial, k3)
        for i in range(n):
            trial[i] = y[i] + h * k3[i]
        slope(x, trial, k4)
        for i in range(n):
            y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    return y


@njit
def last(x, steps):
    return solve(x, steps)[-1]


gradient = jitgrad.grad(last)


def prepare(data):
    return array(data["x"]), data["s"]


PRIMAL = "primal"
FUNCTIONS = {
    "primal": Function(solve, prepare, np.ndarray.tolist),
    "gradient": Function(gradient, prepare, np.ndarray.tolist),
}
