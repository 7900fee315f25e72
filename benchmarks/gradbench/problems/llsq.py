"""Least squares fit of a polynomial, with coefficients x, to the sign function on [-1, 1]."""

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array


@njit
def primal(x, n):
    s = 0.0
    for i in range(n):
        t = -1.0 + 2.0 * i / (n - 1)
        residual = np.sign(t)
        power = 1.0
        for j in range(x.size):
            residual -= x[j] * power
            power *= t
        s += residual * residual
    return 0.5 * s


gradient = jitgrad.grad(primal)


def prepare(data):
    return array(data["x"]), data["n"]


PRIMAL = "primal"
FUNCTIONS = {
    "primal": Function(primal, prepare, float),
    "gradient": Function(gradient, prepare, np.ndarray.tolist),
}
