"""Maximum likelihood through a Kalman filter, with standard errors from the exact Hessian.

A hidden level follows x[t] = phi x[t-1] + process noise and is measured with noise. The filter is a plain loop; its
log-likelihood is maximized with exact gradients, and the inverse of its Hessian is the covariance of the estimate.
"""

import math

import numpy as np
from numba import njit
from scipy.optimize import minimize

import jitgrad as jg


@njit
def negative_log_likelihood(theta, measured):
    """`theta` is (atanh phi, log process deviation, log measurement deviation): free of bounds."""
    phi = math.tanh(theta[0])
    q = math.exp(2.0 * theta[1])
    r = math.exp(2.0 * theta[2])
    level = 0.0
    variance = q / (1.0 - phi * phi)
    total = 0.0
    for t in range(measured.size):
        innovation = measured[t] - level
        spread = variance + r
        total += 0.5 * (math.log(2.0 * math.pi * spread) + innovation * innovation / spread)
        gain = variance / spread
        level = phi * (level + gain * innovation)
        variance = phi * phi * (1.0 - gain) * variance + q
    return total


def draw(true, size, generator):
    """Measurements of a path of the model, started from its stationary distribution."""
    phi, process, measurement = true
    level = generator.normal(0.0, process / math.sqrt(1.0 - phi**2))
    out = np.empty(size)
    for t in range(size):
        out[t] = level + generator.normal(0.0, measurement)
        level = phi * level + generator.normal(0.0, process)
    return out


def main():
    true = np.array([0.9, 0.5, 0.7])
    measured = draw(true, 3000, np.random.default_rng(3))

    objective = jg.value_and_grad(negative_log_likelihood)
    fit = minimize(objective, np.zeros(3), args=(measured,), jac=True, method="BFGS", options={"gtol": 1e-4})
    hessian = jg.hessian(negative_log_likelihood)(fit.x, measured)
    covariance = np.linalg.inv(hessian)

    # Back to the model's parameters; the delta method brings the standard errors along.
    estimate = np.array([math.tanh(fit.x[0]), math.exp(fit.x[1]), math.exp(fit.x[2])])
    slopes = np.array([1.0 - estimate[0] ** 2, estimate[1], estimate[2]])
    errors = slopes * np.sqrt(np.diag(covariance))
    print("                  true  estimate  std. error")
    for name, *numbers in zip(("phi", "process", "measurement"), true, estimate, errors, strict=True):
        print(f"{name:12s}", "".join(f"{number:10.4f}" for number in numbers))

    assert np.linalg.eigvalsh(hessian).min() > 0.0, "the Hessian is positive definite at the maximum"
    h = 1e-5
    steps = h * np.eye(3)
    differences = [(objective(fit.x + s, measured)[1] - objective(fit.x - s, measured)[1]) / (2 * h) for s in steps]
    np.testing.assert_allclose(hessian, differences, rtol=1e-4, atol=1e-3)
    assert (np.abs(estimate - true) < 3 * errors).all()
    print("check: Hessian equals differences of the gradient, estimates within 3 standard errors")


if __name__ == "__main__":
    main()
