"""Nonlinear least squares with an exact Jacobian: the frequency and damping of a ringing signal."""

import numpy as np
from numba import njit
from scipy.optimize import least_squares

import jitgrad as jg


@njit
def residuals(p, t, measured):
    """`p` is (amplitude, decay rate, frequency, phase, offset)."""
    out = np.empty_like(measured)
    for i in range(t.size):
        out[i] = p[0] * np.exp(-p[1] * t[i]) * np.cos(p[2] * t[i] + p[3]) + p[4] - measured[i]
    return out


def main():
    true = np.array([2.0, 0.3, 6.0, 0.5, 1.0])
    t = np.linspace(0.0, 8.0, 400)
    noise = np.random.default_rng(0).normal(0.0, 0.05, t.size)
    measured = residuals(true, t, np.zeros_like(t)) + noise

    jacobian = jg.jacobian(residuals)
    fit = least_squares(residuals, [1.0, 0.1, 5.7, 0.0, 0.0], jac=jacobian, args=(t, measured))
    variance = 2.0 * fit.cost / (t.size - true.size)
    errors = np.sqrt(variance * np.diag(np.linalg.inv(fit.jac.T @ fit.jac)))
    print("true    ", true)
    print("fitted  ", fit.x.round(4), f"after {fit.nfev} evaluations, {fit.njev} Jacobians")
    print("+-      ", errors.round(4))

    rough = least_squares(residuals, fit.x, jac="3-point", args=(t, measured), max_nfev=1)
    np.testing.assert_allclose(jacobian(fit.x, t, measured), rough.jac, rtol=1e-5, atol=1e-6)
    assert (np.abs(fit.x - true) < 4 * errors).all()
    print("check: Jacobian equals difference quotients, parameters within 4 standard errors")


if __name__ == "__main__":
    main()
