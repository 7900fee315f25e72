"""Solve a stiff reaction-diffusion problem, the Brusselator on a periodic square, with an implicit method.

An implicit step solves linear systems with the Jacobian of the right-hand side, 2 n^2 by 2 n^2 with six entries in a
row. jitgrad finds where they are and computes them all in a dozen sweeps, whatever the size of the grid.
"""

import numpy as np
from numba import njit
from scipy.integrate import solve_ivp

import jitgrad as jg

A, B, DIFFUSION = 3.4, 1.0, 1.0


@njit
def rhs(t, state):
    """Rates of both species; the state holds the first species row by row, then the second."""
    n = int(round((state.size // 2) ** 0.5))
    u, v = state[: n * n].reshape(n, n), state[n * n :].reshape(n, n)
    out = np.empty_like(state)
    du, dv = out[: n * n].reshape(n, n), out[n * n :].reshape(n, n)
    d = DIFFUSION * n * n
    for i in range(n):
        above, below = (i - 1) % n, (i + 1) % n
        for k in range(n):
            left, right = (k - 1) % n, (k + 1) % n
            lap_u = u[above, k] + u[below, k] + u[i, left] + u[i, right] - 4.0 * u[i, k]
            lap_v = v[above, k] + v[below, k] + v[i, left] + v[i, right] - 4.0 * v[i, k]
            made = u[i, k] ** 2 * v[i, k]
            du[i, k] = B + made - (A + 1.0) * u[i, k] + d * lap_u
            dv[i, k] = A * u[i, k] - made + d * lap_v
    return out


def main():
    n = 16
    x = np.arange(n) / n
    u = 22.0 * x[:, None] * (1.0 - x[:, None]) ** 1.5 * np.ones(n)
    v = 27.0 * x * (1.0 - x) ** 1.5 * np.ones((n, 1))
    start = np.concatenate([u.ravel(), v.ravel()])

    jac = jg.jacobian(rhs, argnums=1, sparsity="detect")
    matrix = jac(0.0, start)
    print(f"Jacobian of {matrix.shape[0]} x {matrix.shape[1]}, {matrix.nnz} entries, in {jac.sweeps} sweeps")

    with np.errstate(invalid="ignore"):  # BDF's first step subtracts memory that it has not written yet
        found = solve_ivp(rhs, (0.0, 4.0), start, method="BDF", jac=jac, rtol=1e-5, atol=1e-7)
    print(f"implicit method: {found.nfev} calls of the right-hand side, {found.njev} Jacobians")
    explicit = solve_ivp(rhs, (0.0, 4.0), start, method="RK45", rtol=1e-5, atol=1e-7)
    print(f"explicit method: {explicit.nfev} calls of the right-hand side")

    assert found.success and explicit.success
    np.testing.assert_allclose(matrix @ start, jg.jvp(rhs, (0.0, start), start, argnums=1)[1], rtol=1e-10)
    np.testing.assert_allclose(found.y[:, -1], explicit.y[:, -1], rtol=1e-3)
    assert jac.sweeps <= 20 and 10 * found.nfev < explicit.nfev
    print("check: both methods arrive at the same state")


if __name__ == "__main__":
    main()
