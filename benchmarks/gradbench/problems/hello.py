"""The square of a number, and its derivative."""

from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function


@njit
def square(x):
    return x * x


def prepare(data):
    return (float(data),)


PRIMAL = "square"
FUNCTIONS = {
    "square": Function(square, prepare, float),
    "double": Function(jitgrad.grad(square), prepare, float),
}
