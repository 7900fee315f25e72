"""Finance, economics and econometrics."""

import math
from collections import namedtuple

import numpy as np
from numba import njit, prange

from tests.corpus.corpuslib import case, ints, norms, onp, unif

Hh = namedtuple("Hh", ["beta", "crra", "rate", "wage"])


@njit
def ncdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


@case(
    "black_scholes",
    lambda: (100.0, 95.0, 0.5, 0.02, 0.25, "put"),
    (0, 1, 2, 3, 4),
    "finance",
    "string_flag closed_form erf hess calls_njit greeks",
    hess=True,
)
@njit
def black_scholes(s, k, t, r, vol, kind):
    d1 = (math.log(s / k) + (r + 0.5 * vol * vol) * t) / (vol * math.sqrt(t))
    d2 = d1 - vol * math.sqrt(t)
    if kind == "call":
        return s * ncdf(d1) - k * math.exp(-r * t) * ncdf(d2)
    return k * math.exp(-r * t) * ncdf(-d2) - s * ncdf(-d1)


@case(
    "american_put_binomial",
    lambda: (100.0, 103.0, 0.75, 0.03, 0.3, 24),
    (0, 1, 2, 3, 4),
    "finance",
    "reverse_loop negative_step inplace max_builtin int_arg",
)
@njit
def american_put_binomial(s, k, t, r, vol, n):
    dt = t / n
    u = math.exp(vol * math.sqrt(dt))
    d = 1.0 / u
    disc = math.exp(-r * dt)
    p = (math.exp(r * dt) - d) / (u - d)
    v = np.zeros(n + 1)
    for j in range(n + 1):
        v[j] = max(k - s * u ** (2 * j - n), 0.0)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1):
            hold = disc * (p * v[j + 1] + (1.0 - p) * v[j])
            v[j] = max(hold, k - s * u ** (2 * j - i))
    return v[0]


@case(
    "asian_gbm_mc",
    lambda: (100.0, 101.0, 0.03, 0.2, norms((8, 10), 41)),
    (0, 1, 2, 3),
    "finance",
    "prange reduction given_normals max_builtin monte_carlo",
)
@njit(parallel=True)
def asian_gbm_mc(s0, k, r, vol, z):
    n, m = z.shape
    dt = 1.0 / m
    tot = 0.0
    for i in prange(n):
        x = math.log(s0)
        avg = 0.0
        for j in range(m):
            x += (r - 0.5 * vol**2) * dt + vol * math.sqrt(dt) * z[i, j]
            avg += math.exp(x)
        tot += max(avg / m - k, 0.0)
    return math.exp(-r) * tot / n


@case(
    "lsm_american_put",
    lambda: (1.0, 1.05, 0.04, 0.25, norms((24, 4), 43)),
    (0, 1, 2, 3),
    "finance",
    "boolean_mask linalg_solve reverse_loop np_where monte_carlo matmul transpose",
)
@njit
def lsm_american_put(s0, k, r, vol, z):
    n, m = z.shape
    dt = 0.25
    s = np.empty((n, m))
    for i in range(n):
        x = s0
        for j in range(m):
            x *= math.exp((r - 0.5 * vol * vol) * dt + vol * math.sqrt(dt) * z[i, j])
            s[i, j] = x
    cash = np.maximum(k - s[:, -1], 0.0)
    disc = math.exp(-r * dt)
    for j in range(m - 2, -1, -1):
        cash = cash * disc
        itm = s[:, j] < k
        xs = s[:, j][itm]
        if xs.size < 4:
            continue
        basis = np.ones((xs.size, 3))
        basis[:, 1] = xs
        basis[:, 2] = xs * xs
        ys = cash[itm]
        coef = np.linalg.solve(basis.T @ basis + 1e-6 * np.eye(3), basis.T @ ys)
        cont = coef[0] + coef[1] * s[:, j] + coef[2] * s[:, j] ** 2
        ex = k - s[:, j]
        cash = np.where(itm & (ex > cont), ex, cash)
    return disc * np.mean(cash)


@case(
    "garch11_nll",
    lambda: (onp.array([0.02, 0.1, 0.85]), norms(30, 45, 0.8)),
    0,
    "econometrics",
    "recursive_loop hess array_alloc",
    hess=True,
)
@njit
def garch11_nll(theta, ret):
    omega, alpha, beta = theta
    n = ret.shape[0]
    h = np.empty(n)
    h[0] = omega / (1.0 - alpha - beta)
    for t in range(1, n):
        h[t] = omega + alpha * ret[t - 1] ** 2 + beta * h[t - 1]
    return 0.5 * np.sum(np.log(2.0 * np.pi * h) + ret**2 / h)


@case(
    "kalman_trend_nll",
    lambda: (onp.array([0.3, 0.05, 0.02]), onp.cumsum(norms(12, 47, 0.3)) + 1.0),
    0,
    "econometrics",
    "matmul linalg_inv slogdet transpose small_matrices",
)
@njit
def kalman_trend_nll(sd, y):
    T = np.array([[1.0, 1.0], [0.0, 1.0]])
    Z = np.array([[1.0, 0.0], [0.5, 0.2]])
    Q = np.zeros((2, 2))
    Q[0, 0] = sd[1] ** 2
    Q[1, 1] = sd[2] ** 2
    R = np.eye(2) * sd[0] ** 2
    a = np.zeros(2)
    P = np.eye(2) * 2.0
    ll = 0.0
    for t in range(y.size):
        obs = np.array([y[t], 0.5 * y[t]])
        v = obs - Z @ a
        F = Z @ P @ Z.T + R
        Fi = np.linalg.inv(F)
        sign, ld = np.linalg.slogdet(F)
        ll -= 0.5 * (2.0 * math.log(2.0 * math.pi) + ld + v @ Fi @ v)
        K = P @ Z.T @ Fi
        a = T @ (a + K @ v)
        P = T @ (P - K @ Z @ P) @ T.T + Q
    return -ll


@case(
    "hmm_forward_scaled",
    lambda: (unif((3, 3), 51, 0.1, 1.0), onp.array([-1.0, 0.2, 1.5]), 0.7, norms(14, 52)),
    (0, 1, 2),
    "econometrics",
    "row_normalise nested_loops axis_sum inplace",
)
@njit
def hmm_forward_scaled(trans_raw, mu, sd, y):
    k = mu.size
    A = np.empty((k, k))
    rs = np.sum(trans_raw, axis=1)
    for i in range(k):
        for j in range(k):
            A[i, j] = trans_raw[i, j] / rs[i]
    alpha = np.full(k, 1.0 / k)
    ll = 0.0
    nxt = np.zeros(k)
    for t in range(y.size):
        c = 0.0
        for j in range(k):
            acc = 0.0
            for i in range(k):
                acc += alpha[i] * A[i, j]
            zz = (y[t] - mu[j]) / sd
            nxt[j] = acc * math.exp(-0.5 * zz * zz) / (sd * math.sqrt(2.0 * math.pi))
            c += nxt[j]
        for j in range(k):
            alpha[j] = nxt[j] / c
        ll += math.log(c)
    return -ll


@case(
    "vfi_interp",
    lambda: (Hh(0.94, 2.0, 0.03, 1.0), onp.linspace(0.1, 5.0, 10)),
    0,
    "economics",
    "namedtuple_arg np_interp while convergence max_update nested_loops",
)
@njit
def vfi_interp(par, grid):
    n = grid.size
    v = np.zeros(n)
    it = 0
    while it < 12:
        vn = np.empty(n)
        for i in range(n):
            best = -1e10
            cash = par.wage + (1.0 + par.rate) * grid[i]
            for f in range(1, 9):
                c = cash * (0.1 * f)
                a = cash - c
                u = c ** (1.0 - par.crra) / (1.0 - par.crra)
                val = u + par.beta * np.interp(a, grid, v)
                if val > best:
                    best = val
            vn[i] = best
        gap = np.max(np.abs(vn - v))
        v = vn
        it += 1
        if gap < 1e-9:
            break
    return np.mean(v)


@case(
    "bond_ytm_newton",
    lambda: (onp.array([2.5, 2.5, 2.5, 2.5, 102.5]), onp.array([0.5, 1.0, 1.5, 2.0, 2.5]), 98.7),
    (0, 1, 2),
    "finance",
    "while convergence zip_loop tuple_unpack",
)
@njit
def bond_ytm_newton(cf, tm, price):
    y = 0.05
    for _ in range(40):
        pv = 0.0
        dpv = 0.0
        for c, t in zip(cf, tm):
            df = math.exp(-y * t)
            pv += c * df
            dpv -= t * c * df
        step = (pv - price) / dpv
        y -= step
        if abs(step) < 1e-13:
            break
    return y


@case(
    "nested_logit_nll",
    lambda: (onp.array([0.5, -0.8]), 0.6, norms((6, 4, 2), 55), ints(6, 56, 0, 4)),
    (0, 1),
    "econometrics",
    "logsumexp array3d int_data nested_function fancy_scalar_index",
)
@njit
def nested_logit_nll(beta, lam, x, choice):
    def lse2(a, b):
        m = a if a > b else b
        return m + math.log(math.exp(a - m) + math.exp(b - m))

    nll = 0.0
    for i in range(x.shape[0]):
        v = np.dot(np.ascontiguousarray(x[i]), beta)
        i1 = lam * lse2(v[0] / lam, v[1] / lam)
        i2 = lam * lse2(v[2] / lam, v[3] / lam)
        den = lse2(i1, i2)
        inc = i1 if choice[i] < 2 else i2
        nll -= v[choice[i]] / lam + inc * (1.0 - 1.0 / lam) - den
    return nll
