"""Signals, images, geometry and dynamic programming."""

import math

import numpy as np
from numba import njit

from tests.corpus.corpuslib import case, norms, onp, unif


@case(
    "bilinear_rotate",
    lambda: (unif((6, 6), 301), 0.3, 0.4, -0.2),
    (0, 1, 2, 3),
    "image",
    "floor_index gather bounds_branch nested_loops int_cast",
)
@njit
def bilinear_rotate(img, ang, tx, ty):
    n, m = img.shape
    c, s = math.cos(ang), math.sin(ang)
    tot = 0.0
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            y = c * (i - 2.5) - s * (j - 2.5) + 2.5 + ty
            x = s * (i - 2.5) + c * (j - 2.5) + 2.5 + tx
            y0, x0 = int(math.floor(y)), int(math.floor(x))
            if y0 < 0 or x0 < 0 or y0 + 1 >= n or x0 + 1 >= m:
                continue
            fy, fx = y - y0, x - x0
            v = (1 - fy) * ((1 - fx) * img[y0, x0] + fx * img[y0, x0 + 1]) + fy * (
                (1 - fx) * img[y0 + 1, x0] + fx * img[y0 + 1, x0 + 1]
            )
            tot += (v - img[i, j]) ** 2
    return tot


@case(
    "dct2_soft_threshold",
    lambda: (norms(8, 311), 0.3),
    (0, 1),
    "signal",
    "nested_loops vector_output np_sign branch",
)
@njit
def dct2_soft_threshold(x, lam):
    n = x.size
    c = np.zeros(n)
    for k in range(n):
        for i in range(n):
            c[k] += x[i] * math.cos(math.pi * k * (2 * i + 1) / (2.0 * n))
        c[k] *= math.sqrt((1.0 if k == 0 else 2.0) / n)
    c = np.sign(c) * np.maximum(np.abs(c) - lam, 0.0)
    y = np.zeros(n)
    for i in range(n):
        for k in range(n):
            y[i] += c[k] * math.sqrt((1.0 if k == 0 else 2.0) / n) * math.cos(math.pi * k * (2 * i + 1) / (2.0 * n))
    return y


@case(
    "biquad_filter",
    lambda: (onp.array([0.2, 0.3, 0.1, -0.5, 0.25]), norms(16, 321)),
    (0, 1),
    "signal",
    "recursive_loop inplace negative_index vector_output",
)
@njit
def biquad_filter(co, x):
    y = np.zeros(x.size)
    w1 = 0.0
    w2 = 0.0
    for i in range(x.size):
        w0 = x[i] - co[3] * w1 - co[4] * w2
        y[i] = co[0] * w0 + co[1] * w1 + co[2] * w2
        w2 = w1
        w1 = w0
    y[-1] += 0.5 * y[-2]
    return y


@njit
def rodrigues(w):
    th = math.sqrt(w[0] ** 2 + w[1] ** 2 + w[2] ** 2)
    K = np.zeros((3, 3))
    K[0, 1], K[0, 2], K[1, 2] = -w[2], w[1], -w[0]
    K -= K.T.copy()
    if th < 1e-8:
        return np.eye(3) + K
    return np.eye(3) + math.sin(th) / th * K + (1.0 - math.cos(th)) / (th * th) * (K @ K)


@case(
    "bundle_adjust_residuals",
    lambda: (
        onp.array([[0.1, -0.05, 0.2, 0.1, 0.0, 4.0], [0.05, 0.1, -0.1, -0.3, 0.1, 4.5]]),
        norms((4, 3), 331),
        onp.array([500.0, -0.1]),
        onp.array([[0, 0], [0, 1], [1, 1], [1, 2], [0, 3], [1, 3]]),
        norms((6, 2), 332, 50.0),
    ),
    (0, 1, 2),
    "geometry",
    "calls_njit vector_output index_array small_matrices jacobian sparse_jac",
)
@njit
def bundle_adjust_residuals(cams, pts, intr, obs_idx, obs):
    m = obs_idx.shape[0]
    res = np.empty(2 * m)
    for i in range(m):
        cam, pt = obs_idx[i]
        p = rodrigues(cams[cam, :3]) @ pts[pt] + cams[cam, 3:]
        u, v = p[0] / p[2], p[1] / p[2]
        dist = 1.0 + intr[1] * (u * u + v * v)
        res[2 * i] = intr[0] * dist * u - obs[i, 0]
        res[2 * i + 1] = intr[0] * dist * v - obs[i, 1]
    return res


@case(
    "planar_arm_fk",
    lambda: (onp.array([0.3, -0.4, 0.7, 0.2]), onp.array([1.0, 0.8, 0.5, 0.3])),
    (0, 1),
    "robotics",
    "cumulative_loop array2d vector_output jacobian",
)
@njit
def planar_arm_fk(q, lengths):
    pts = np.zeros((q.size + 1, 2))
    a = 0.0
    for i in range(q.size):
        a += q[i]
        pts[i + 1, 0] = pts[i, 0] + lengths[i] * np.cos(a)
        pts[i + 1, 1] = pts[i, 1] + lengths[i] * np.sin(a)
    return pts[1:].copy()


@case(
    "soft_dtw",
    lambda: (norms(5, 341), norms(6, 342), 0.4),
    (0, 1, 2),
    "dp",
    "nested_loops logsumexp inplace inf_init",
)
@njit
def soft_dtw(a, b, gamma):
    n, m = a.size, b.size
    r = np.full((n + 1, m + 1), 1e10)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            x, y, z = -r[i - 1, j] / gamma, -r[i, j - 1] / gamma, -r[i - 1, j - 1] / gamma
            mx = max(x, y, z)
            r[i, j] = (a[i - 1] - b[j - 1]) ** 2 - gamma * (
                mx + math.log(math.exp(x - mx) + math.exp(y - mx) + math.exp(z - mx))
            )
    return r[n, m]


@case(
    "viterbi_score",
    lambda: (norms((6, 3), 351), norms((3, 3), 352)),
    (0, 1),
    "dp",
    "max_update argmax_backtrack int_array tuple_result",
    note="also returns the integer path",
)
@njit
def viterbi_score(emit, trans):
    n, k = emit.shape
    v = emit[0].copy()
    back = np.zeros((n, k), dtype=np.int64)
    for t in range(1, n):
        w = np.empty(k)
        for j in range(k):
            best, arg = v[0] + trans[0, j], 0
            for i in range(1, k):
                if v[i] + trans[i, j] > best:
                    best, arg = v[i] + trans[i, j], i
            w[j] = best + emit[t, j]
            back[t, j] = arg
        v = w
    path = np.zeros(n, dtype=np.int64)
    path[-1] = np.argmax(v)
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return np.max(v), path


@case(
    "rlc_impedance_gain",
    lambda: (10.0, 0.02, 1e-4, onp.array([50.0, 120.0, 300.0])),
    (0, 1, 2, 3),
    "signal",
    "complex complex_abs vector_output",
)
@njit
def rlc_impedance_gain(r, ind, cap, freq):
    out = np.empty(freq.size)
    for i in range(freq.size):
        w = 2.0 * math.pi * freq[i]
        z = r + 1j * w * ind + 1.0 / (1j * w * cap)
        h = r / z
        out[i] = 20.0 * math.log10(abs(h)) + 0.1 * (h.real - h.imag)
    return out
