"""A saddle point by gradient descent within gradient descent: min over x of max over y of |x|^2 - |y|^2."""

import numpy as np
from numba import njit

from benchmarks.gradbench.descent import GRADIENT, minimize
from benchmarks.gradbench.problem import Function, array


@njit
def surface(x, y):
    return (x[0] * x[0] + x[1] * x[1]) - (y[0] * y[0] + y[1] * y[1])


@njit
def lowered(y, x):
    return -surface(x, y)


def solver(outer, inner):
    """The solver that differentiates the minimization in mode `outer` and the maximization within in mode `inner`."""
    inner_gradient = GRADIENT[inner](lowered)
    last_gradient = GRADIENT[outer](lowered)

    @njit
    def highest(x, start):
        return surface(x, minimize(lowered, inner_gradient, start, x))

    outer_gradient = GRADIENT[outer](highest)

    @njit
    def solve(start):
        x = minimize(highest, outer_gradient, start, start)
        y = minimize(lowered, last_gradient, start, x)
        return np.concatenate((x, y))

    return solve


def prepare(data):
    return (array(data["start"]),)


PRIMAL = None
FUNCTIONS = {
    outer + inner: Function(solver(outer, inner), prepare, np.ndarray.tolist) for outer in "fr" for inner in "fr"
}
