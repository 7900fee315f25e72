"""A charged particle steered to the origin: gradient descent over a trajectory whose force is a gradient itself."""

import math

import numpy as np
from numba import njit

from benchmarks.gradbench.descent import GRADIENT, minimize
from benchmarks.gradbench.problem import Function, array


@njit
def potential(x, w):
    """Of charges at (10, 10 - w) and (10, 0)."""
    return 1.0 / math.hypot(x[0] - 10.0, x[1] - 10.0 + w) + 1.0 / math.hypot(x[0] - 10.0, x[1])


def solver(outer, inner):
    """The solver that differentiates the descent in mode `outer` and the potential in mode `inner`."""
    field = GRADIENT[inner](potential)

    @njit
    def miss(control, step):
        """The square of where the trajectory meets the axis."""
        x = np.array([0.0, 8.0])
        v = np.array([0.75, 0.0])
        while True:
            force = field(x, control[0])
            for i in range(2):
                x[i] += step * v[i]
            if x[1] <= 0.0:
                return (x[0] - x[1] / v[1] * v[0]) ** 2
            for i in range(2):
                v[i] -= step * force[i]

    slope = GRADIENT[outer](miss)

    @njit
    def solve(control):
        return minimize(miss, slope, control, 0.1)[0]

    return solve


def prepare(data):
    return (array([data["w"]]),)


PRIMAL = None
FUNCTIONS = {outer + inner: Function(solver(outer, inner), prepare, float) for outer in "fr" for inner in "fr"}
