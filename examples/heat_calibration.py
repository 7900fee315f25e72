"""Calibrate a heat equation to its steady state and to a measurement after many time steps.

    python examples/heat_calibration.py

A rod with an unknown conductivity in each of its two halves is heated in the middle. Temperatures are measured long
after the heating began, when the rod is in equilibrium (a linear equation, differentiated by the implicit function
theorem), and 4000 time steps (a loop, differentiated with the states of about 90 steps in memory). The Gauss-Newton
method takes the Jacobian through both, in reverse mode.
"""

from __future__ import annotations

import numpy as np
from numba import njit

import jitgrad as jg
from jitgrad import implicit

CELLS, DT, STEPS = 20, 2e-4, 4000


@njit
def flux_balance(u, conductivity):
    """What leaves every cell of a rod whose ends are kept at zero."""
    n = u.size
    out = np.empty(n)
    for i in range(n):
        k = conductivity[0] if i < n // 2 else conductivity[1]
        left = u[i - 1] if i > 0 else 0.0
        right = u[i + 1] if i < n - 1 else 0.0
        out[i] = k * (n + 1.0) ** 2 * (2.0 * u[i] - left - right)
    return out


@njit
def thomas(b, conductivity):
    """Solve ``flux_balance(u, conductivity) == b`` by elimination along the rod."""
    n = b.size
    above, u = np.empty(n), np.empty(n)
    for i in range(n):
        k = conductivity[0] if i < n // 2 else conductivity[1]
        r = b[i] / (k * (n + 1.0) ** 2)
        pivot = 2.0 + (above[i - 1] if i > 0 else 0.0)
        above[i] = -1.0 / pivot
        u[i] = (r + (u[i - 1] if i > 0 else 0.0)) / pivot
    for i in range(n - 2, -1, -1):
        u[i] -= above[i] * u[i + 1]
    return u


@njit
def step(u, i, conductivity, source):
    return u + DT * (source - flux_balance(u, conductivity))


steady_state = implicit.linear_solve(flux_balance, thomas)
heated = jg.repeat(step, snapshots="sqrt")


@njit
def temperatures(conductivity, source):
    """After a long time, and after the time steps, at a quarter and at three quarters of the rod."""
    n = source.size
    late = steady_state(source, conductivity)
    early = heated(np.zeros(n), STEPS, conductivity, source)
    return np.array([late[n // 4], late[3 * n // 4], early[n // 4], early[3 * n // 4]])


def main() -> None:
    source = np.zeros(CELLS)
    source[CELLS // 2 - 1 : CELLS // 2 + 1] = 10.0
    truth = np.array([0.08, 0.12])
    measured = temperatures(truth, source)
    k = np.array([0.1, 0.1])
    sensitivity = jg.jacrev(temperatures)
    for iteration in range(20):
        residual = temperatures(k, source) - measured
        print(f"{iteration:2d}  misfit {residual @ residual:.3e}  conductivities {k.round(6)}")
        if residual @ residual < 1e-20:
            break
        k = k - np.linalg.lstsq(sensitivity(k, source), residual, rcond=None)[0]
    error = np.max(np.abs(k - truth))
    assert error < 1e-8
    print(f"check: the conductivities are found again, to {error:.0e}")


if __name__ == "__main__":
    main()
