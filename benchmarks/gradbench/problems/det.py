"""The determinant by expansion along the first row, again and again: n! terms.

The recursion runs while compiling: the function for n rows is made from that for n - 1, so there is one for each size.
"""

from functools import cache

from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array


@cache
def minor(size):
    """The function of `a` and `free`: the minor of the last `size` rows and the columns whose bits `free` has set."""
    if size == 1:

        @njit
        def entry(a, free):
            j = 0
            while free >> j != 1:
                j += 1
            return a[a.shape[0] - 1, j]

        return entry
    smaller = minor(size - 1)

    @njit
    def expansion(a, free):
        row = a.shape[0] - size
        s = 0.0
        sign = 1.0
        for j in range(a.shape[0]):
            if free >> j & 1:
                s += sign * a[row, j] * smaller(a, free ^ (1 << j))
                sign = -sign
        return s

    return expansion


@cache
def gradient(size):
    """The gradient of ``minor(size)`` in `a`."""
    return jitgrad.grad(minor(size))


def determinant(a):
    return minor(len(a))(a, (1 << len(a)) - 1)


def cofactors(a):
    return gradient(len(a))(a, (1 << len(a)) - 1)


def prepare(data):
    return (array(data["A"]).reshape(data["ell"], data["ell"]),)


PRIMAL = "primal"
FUNCTIONS = {
    "primal": Function(determinant, prepare, float),
    "gradient": Function(cofactors, prepare, lambda matrix: matrix.ravel().tolist()),
}
