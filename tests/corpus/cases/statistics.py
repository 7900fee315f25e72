"""Linear algebra and likelihoods written as loops and as NumPy calls."""

import math

import numpy as np
from numba import njit

from tests.corpus.corpuslib import case, norms, onp, spd, unif


# ---- linear algebra ----
@case(
    "gp_nll_cholesky_loops",
    lambda: (onp.array([0.8, 1.3, 0.2]), onp.linspace(0.0, 2.0, 6), norms(6, 501)),
    (0, 2),
    "linalg",
    "nested_loops triangular_solve inplace hess_free",
)
@njit
def gp_nll_cholesky_loops(th, x, y):
    n = x.size
    L = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = th[1] ** 2 * math.exp(-0.5 * ((x[i] - x[j]) / th[0]) ** 2)
            if i == j:
                s += th[2] ** 2
            for k in range(j):
                s -= L[i, k] * L[j, k]
            if i == j:
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    z = y.copy()
    ld = 0.0
    for i in range(n):
        for k in range(i):
            z[i] -= L[i, k] * z[k]
        z[i] /= L[i, i]
        ld += math.log(L[i, i])
    return 0.5 * np.dot(z, z) + ld


@case(
    "solve_det_inv",
    lambda: (spd(3, 511) + norms((3, 3), 512, 0.2), norms(3, 513)),
    (0, 1),
    "linalg",
    "linalg_solve linalg_det linalg_inv matmul",
)
@njit
def solve_det_inv(a, b):
    x = np.linalg.solve(a, b)
    ai = np.linalg.inv(a)
    return np.dot(x, x) + math.log(abs(np.linalg.det(a))) + np.sum(ai * ai.T)


@case("eigh_spectral", lambda: (norms((4, 4), 521),), 0, "linalg", "linalg_eigh matmul transpose")
@njit
def eigh_spectral(b):
    a = b @ b.T + 0.5 * np.eye(4)
    w, v = np.linalg.eigh(a)
    p = v[:, -1] * v[:, -1]
    return np.sum(np.sqrt(w)) + p[0] + 2.0 * p[2] + w[-1] / w[0]


# ---- statistics ----
@case(
    "student_gamma_loglik",
    lambda: (onp.array([0.3, 1.2, 5.0]), 2.5, norms(7, 531), unif(5, 532, 0.3, 3.0)),
    (0, 1),
    "statistics",
    "lgamma log1p for_each hess_free scalar_loop",
)
@njit
def student_gamma_loglik(th, shape, x, g):
    m, s, nu = th[0], th[1], th[2]
    ll = 0.0
    for v in x:
        z = (v - m) / s
        ll += (
            math.lgamma(0.5 * (nu + 1))
            - math.lgamma(0.5 * nu)
            - 0.5 * math.log(nu * math.pi)
            - math.log(s)
            - 0.5 * (nu + 1) * math.log1p(z * z / nu)
        )
    for v in g:
        ll += (shape - 1.0) * math.log(v) - v * shape + shape * math.log(shape) - math.lgamma(shape)
    return ll


@case(
    "probit_censored",
    lambda: (onp.array([0.4, -0.6]), 0.8, norms((7, 2), 541), norms(7, 542)),
    (0, 1),
    "statistics",
    "erf expm1 branch elif_chain",
)
@njit
def probit_censored(b, s, x, y):
    ll = 0.0
    for i in range(y.size):
        m = x[i, 0] * b[0] + x[i, 1] * b[1]
        if y[i] <= -0.5:
            ll += math.log(0.5 * (1.0 + math.erf((-0.5 - m) / s / math.sqrt(2.0))))
        elif y[i] >= 0.8:
            ll += math.log(0.5 * math.erfc((0.8 - m) / s / math.sqrt(2.0)))
        else:
            ll += -0.5 * ((y[i] - m) / s) ** 2 - math.log(s)
    return ll + math.expm1(-s) * 0.1
