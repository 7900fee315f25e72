"""Gradient descent as `particle` and `saddle` prescribe it: steps double after ten good ones, halve after a bad one."""

import math

from numba import njit

import jitgrad

# The gradient of a scalar function in either mode, by the suite's letters.
GRADIENT = {"f": jitgrad.jacfwd, "r": jitgrad.grad}


@njit
def norm(v):
    s = 0.0
    for i in range(v.size):
        s += v[i] * v[i]
    return math.sqrt(s)


@njit
def minimize(function, gradient, start, fixed):
    """The minimizer of ``function(x, fixed)`` near `start`."""
    x = start.copy()
    value = function(x, fixed)
    slope = gradient(x, fixed)
    rate, good = 1e-5, 0
    while norm(slope) > 1e-5:
        if good == 10:
            rate *= 2.0
            good = 0
            continue
        trial = x - rate * slope
        if norm(trial - x) <= 1e-5:
            break
        next_value = function(trial, fixed)
        if next_value < value:
            x, value = trial, next_value
            slope = gradient(x, fixed)
            good += 1
        else:
            rate *= 0.5
            good = 0
    return x
