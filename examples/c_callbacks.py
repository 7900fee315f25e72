"""Derivatives for callers in C: the length of a family of curves by SciPy's quadrature, which calls a C function.

The length of the curve y = f(x; a, b) is the integral of sqrt(1 + f'(x)^2). QUADPACK calls the integrand through a
pointer, without Python; the parameters a and b reach it as user data. How the length changes with a and b is the
integral of the derivative of the integrand: a second derivative of f.
"""

import math

import numpy as np
from numba import njit
from scipy.integrate import quad

import jitgrad as jg


@njit
def curve(x, p):
    return p[0] * math.sin(x) + p[1] * x * x


slope = jg.grad(curve)


@njit
def stretch(x, p):
    """The length of the curve for each unit of x."""
    return math.sqrt(1.0 + slope(x, p) ** 2)


by_parameter = jg.grad(stretch, argnums=1)


@njit
def first(x, p):
    return by_parameter(x, p)[0]


@njit
def second(x, p):
    return by_parameter(x, p)[1]


def integrator(function):
    """The integral over [0, 2] as a function of the parameters."""
    in_c = jg.cfunc(function, "double(double x, void *user_data)", user_data="double p[2]")

    def integral(p):
        value, error = quad(in_c.low_level_callable(p), 0.0, 2.0, epsabs=1e-12)
        assert error < 1e-8
        return value

    return integral


def main():
    length, *gradient = (integrator(function) for function in (stretch, first, second))
    p = np.array([1.5, 0.5])
    print(f"length {length(p):.10f}, its gradient {[round(g(p), 10) for g in gradient]}")

    h = 1e-5
    worst = 0.0
    for k in range(2):
        step = h * np.eye(2)[k]
        difference = (length(p + step) - length(p - step)) / (2.0 * h)
        worst = max(worst, abs(gradient[k](p) - difference))
    assert worst < 1e-7
    print(f"check: agrees with differences of the length to {worst:.0e}")


if __name__ == "__main__":
    main()
