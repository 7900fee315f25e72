"""Twelve ordinary njit programs, from easy to hard: the programs the engine is measured on.

Each has a scalar result; `WRT` names the positions of the arguments to differentiate, `inputs(name)` gives
small arguments for correctness and ``inputs(name, big=True)`` large ones for timing.
"""

import math

import numpy as np
from numba import njit


@njit
def poly(x):
    y = x * x + 3.0 * x
    return y * math.sin(x) / (1.0 + x**3)


@njit
def rosen(x):
    s = 0.0
    for i in range(x.size - 1):
        s += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    return s


@njit
def logsumexp(x):
    m = x[0]
    for i in range(1, x.shape[0]):
        if x[i] > m:
            m = x[i]
    s = 0.0
    for v in x:
        s += math.exp(v - m)
    return m + math.log(s)


@njit
def newton_sqrt(a):
    x = a
    k = 0
    while True:
        nx = 0.5 * (x + a / x)
        k += 1
        if abs(nx - x) < 1e-15 or k > 50:
            break
        x = nx
    return x * x * x


@njit
def lv_rhs(y, theta):
    out = np.empty(2)
    out[0] = theta[0] * y[0] - theta[1] * y[0] * y[1]
    out[1] = -theta[2] * y[1] + theta[3] * y[0] * y[1]
    return out


@njit
def rk4_lv(theta, y0, n):
    y = y0.copy()
    h = 0.01
    for _ in range(n):
        k1 = lv_rhs(y, theta)
        k2 = lv_rhs(y + 0.5 * h * k1, theta)
        k3 = lv_rhs(y + 0.5 * h * k2, theta)
        k4 = lv_rhs(y + h * k3, theta)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return y[0] * y[1]


@njit
def heat(u0, kappa, steps):
    n = u0.size
    a = u0.copy()
    b = np.zeros(n)
    for _ in range(steps):
        for i in range(1, n - 1):
            b[i] = a[i] + kappa * (a[i - 1] - 2.0 * a[i] + a[i + 1]) + 0.01 * math.sin(a[i])
        b[0] = a[0]
        b[n - 1] = a[n - 1]
        a, b = b, a
    s = 0.0
    for i in range(n):
        s += a[i] * a[i]
    return s


@njit
def gmm(alphas, means, icf, x, gamma, m):
    """ADBench's Gaussian mixture objective: alphas (k,), means (k, d), icf (k, d + d*(d-1)/2), x (n, d)."""
    n, d = x.shape
    k = alphas.size
    main = np.empty(k)
    q = np.empty((k, d))
    sq = np.empty(k)
    for a in range(k):
        sq[a] = 0.0
        for j in range(d):
            q[a, j] = math.exp(icf[a, j])
            sq[a] += icf[a, j]
    xc = np.empty(d)
    ll = 0.0
    for i in range(n):
        mx = -np.inf
        for a in range(k):
            for j in range(d):
                xc[j] = x[i, j] - means[a, j]
            r = 0.0
            for j in range(d):
                v = q[a, j] * xc[j]
                # column-packed strictly lower triangle
                for c in range(j):
                    v += icf[a, d + c * d - c * (c + 1) // 2 + (j - c - 1)] * xc[c]
                r += v * v
            main[a] = alphas[a] + sq[a] - 0.5 * r
            if main[a] > mx:
                mx = main[a]
        s = 0.0
        for a in range(k):
            s += math.exp(main[a] - mx)
        ll += mx + math.log(s)
    mx = -np.inf
    for a in range(k):
        if alphas[a] > mx:
            mx = alphas[a]
    s = 0.0
    for a in range(k):
        s += math.exp(alphas[a] - mx)
    out = ll - n * (mx + math.log(s))
    w = 0.0
    for a in range(k):
        for j in range(d):
            w += 0.5 * gamma * gamma * q[a, j] * q[a, j] - m * icf[a, j]
        for j in range(d, icf.shape[1]):
            w += 0.5 * gamma * gamma * icf[a, j] * icf[a, j]
    return out + w


@njit
def logdet(A):
    n = A.shape[0]
    L = A.copy()
    out = 0.0
    for k in range(n):
        p = L[k, k]
        out += math.log(abs(p))
        for i in range(k + 1, n):
            f = L[i, k] / p
            for j in range(k, n):
                L[i, j] -= f * L[k, j]
    return out


@njit
def mlp_loss(W1, b1, W2, b2, X, y):
    h = np.tanh(X @ W1 + b1)
    z = h @ W2 + b2
    loss = 0.0
    for i in range(z.shape[0]):
        row = z[i]
        m = row.max()
        s = 0.0
        for j in range(row.size):
            s += math.exp(row[j] - m)
        loss += m + math.log(s) - row[y[i]]
    return loss / z.shape[0]


@njit
def kalman(F, H, q, r, ys):
    n = F.shape[0]
    x = np.zeros(n)
    P = np.eye(n)
    ll = 0.0
    for t in range(ys.size):
        x = F @ x
        P = F @ P @ F.T + q * np.eye(n)
        e = ys[t] - np.dot(H, x)
        PH = P @ H
        S = np.dot(H, PH) + r
        K = PH / S
        x = x + K * e
        P = P - np.outer(K, PH)
        ll -= 0.5 * (math.log(2.0 * math.pi * S) + e * e / S)
    return ll


@njit
def nbody(pos, mass, cutoff):
    e = 0.0
    n = pos.shape[0]
    for i in range(n):
        if mass[i] <= 0.0:
            continue
        for j in range(i):
            d2 = 1e-3
            for c in range(3):
                d2 += (pos[i, c] - pos[j, c]) ** 2
            if d2 > cutoff:
                continue
            e -= mass[i] * mass[j] / math.sqrt(d2)
    return e


@njit
def bracket(xs, level):
    acc = 0.0
    for i in range(xs.size):
        acc += xs[i] ** 2
        if acc > level:
            return acc * xs[i], i
    return acc, -1


@njit
def early(xs, level, scale):
    v, k = bracket(xs, level)
    if k < 0:
        return v
    w = v * scale if k % 2 == 0 else v / scale
    return w + math.log(scale)


WRT = {
    "poly": (0,),
    "rosen": (0,),
    "logsumexp": (0,),
    "newton_sqrt": (0,),
    "rk4_lv": (0, 1),
    "heat": (0, 1),
    "gmm": (0, 1, 2),
    "logdet": (0,),
    "mlp_loss": (0, 1, 2, 3),
    "kalman": (0, 1, 2, 3),
    "nbody": (0, 1),
    "early": (0, 1, 2),
}
PROGRAMS = {
    "poly": poly,
    "rosen": rosen,
    "logsumexp": logsumexp,
    "newton_sqrt": newton_sqrt,
    "rk4_lv": rk4_lv,
    "heat": heat,
    "gmm": gmm,
    "logdet": logdet,
    "mlp_loss": mlp_loss,
    "kalman": kalman,
    "nbody": nbody,
    "early": early,
}


def _gmm_inputs(g, big):
    k, d, n = (25, 20, 1000) if big else (3, 4, 6)
    weights, means = g.normal(size=k), g.normal(size=(k, d))
    return weights, means, g.normal(size=(k, d * (d + 1) // 2)) * 0.3, g.normal(size=(n, d)), 1.0, 0.5


def _logdet_inputs(g, big):
    n = 200 if big else 4
    return (g.normal(size=(n, n)) + n * np.eye(n),)


def _mlp_inputs(g, big):
    n, width, hidden, classes = (256, 784, 128, 10) if big else (5, 6, 4, 3)
    first = g.normal(size=(width, hidden)) * 0.1, g.normal(size=hidden) * 0.1
    second = g.normal(size=(hidden, classes)) * 0.1, g.normal(size=classes) * 0.1
    return *first, *second, g.normal(size=(n, width)), g.integers(0, classes, size=n)


def _kalman_inputs(g, big):
    n = 4
    transition = np.eye(n) * 0.9 + 0.02 * g.normal(size=(n, n))
    return transition, g.normal(size=n), 0.1, 0.5, g.normal(size=2000 if big else 6)


def _nbody_inputs(g, big):
    n = 1500 if big else 6
    return g.normal(size=(n, 3)), np.abs(g.normal(size=n)) + 0.1, 4.0


_INPUTS = {
    "poly": lambda g, big: (0.7,),
    "rosen": lambda g, big: (g.normal(size=1_000_000 if big else 7),),
    "logsumexp": lambda g, big: (g.normal(size=1_000_000 if big else 9),),
    "newton_sqrt": lambda g, big: (7.3,),
    "rk4_lv": lambda g, big: (
        np.array([1.5, 1.0, 3.0, 1.0]),
        np.array([1.0, 1.1]),
        5_000 if big else 20,
    ),
    "heat": lambda g, big: (g.normal(size=10_000 if big else 12), 0.2, 100 if big else 5),
    "gmm": _gmm_inputs,
    "logdet": _logdet_inputs,
    "mlp_loss": _mlp_inputs,
    "kalman": _kalman_inputs,
    "nbody": _nbody_inputs,
    "early": lambda g, big: (g.normal(size=9), 3.0, 1.7),
}


def inputs(name: str, big: bool = False) -> tuple:
    """Fresh arguments, the same ones every time."""
    return _INPUTS[name](np.random.default_rng(7), big)


def central_differences(function, args: tuple, position: int, step: float = 1e-6):
    """The gradient of `function` with respect to ``args[position]`` by central differences."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    x = args[position]
    if not isinstance(x, np.ndarray):
        above, below = list(args), list(args)
        above[position] += step
        below[position] -= step
        return (function(*above) - function(*below)) / (2 * step)
    out = np.empty(x.shape)
    for index in np.ndindex(*x.shape):
        kept = x[index]
        x[index] = kept + step
        above = function(*args)
        x[index] = kept - step
        below = function(*args)
        x[index] = kept
        out[index] = (above - below) / (2 * step)
    return out
