"""The logarithm of a sum of exponentials, kept from overflowing."""

import math

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array


@njit
def primal(x):
    largest = 0
    for i in range(1, x.size):
        if x[i] > x[largest]:
            largest = i
    top = x[largest]
    s = 0.0
    for v in x:
        s += math.exp(v - top)
    return top + math.log(s)


with jitgrad.options(math="fast"):
    gradient = jitgrad.grad(primal)


def prepare(data):
    return (array(data["x"]),)


PRIMAL = "primal"
FUNCTIONS = {
    "primal": Function(primal, prepare, float),
    "gradient": Function(gradient, prepare, np.ndarray.tolist),
}
