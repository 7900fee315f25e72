"""Machine learning."""

import math

import numpy as np
from numba import njit

from tests.corpus.corpuslib import case, ints, norms, onp, unif

EPS = 1e-5


@case(
    "mlp_softmax_ce",
    lambda: (
        (norms((3, 5), 101, 0.5), norms(5, 102, 0.1), norms((5, 3), 103, 0.5), norms(3, 104, 0.1)),
        norms((4, 3), 105),
        ints(4, 106, 0, 3),
    ),
    (0, 1),
    "ml",
    "tuple_arg matmul broadcasting axis_sum int_data tanh",
)
@njit
def mlp_softmax_ce(params, x, labels):
    w1, b1, w2, b2 = params
    h = np.tanh(x @ w1 + b1)
    logits = h @ w2 + b2
    loss = 0.0
    for i in range(logits.shape[0]):
        row = logits[i]
        m = np.max(row)
        loss += m + np.log(np.sum(np.exp(row - m))) - row[labels[i]]
    return loss / logits.shape[0] + 0.01 * (np.sum(w1**2) + np.sum(w2**2))


@case(
    "conv2d_relu_maxpool",
    lambda: (norms((5, 5), 111), norms((2, 2, 2), 112), norms(2, 113)),
    (0, 1, 2),
    "ml",
    "nested_loops array3d max_update relu accumulators",
)
@njit
def conv2d_relu_maxpool(img, ker, bias):
    f, kh, kw = ker.shape
    oh, ow = img.shape[0] - kh + 1, img.shape[1] - kw + 1
    out = np.zeros((f, oh, ow))
    for c in range(f):
        for i in range(oh):
            for j in range(ow):
                acc = bias[c]
                for a in range(kh):
                    for b in range(kw):
                        acc += ker[c, a, b] * img[i + a, j + b]
                out[c, i, j] = acc if acc > 0.0 else 0.0
    s = 0.0
    for c in range(f):
        for i in range(0, oh, 2):
            for j in range(0, ow, 2):
                best = -np.inf
                for a in range(2):
                    for b in range(2):
                        if out[c, i + a, j + b] > best:
                            best = out[c, i + a, j + b]
                s += best * best
    return s


@case(
    "batch_norm",
    lambda: (norms((6, 3), 121), unif(3, 122, 0.5, 1.5), norms(3, 123)),
    (0, 1, 2),
    "ml",
    "axis_sum broadcasting array2d vector_output global_const",
)
@njit
def batch_norm(x, gamma, beta):
    n = x.shape[0]
    mu = np.sum(x, axis=0) / n
    xc = x - mu
    var = np.sum(xc * xc, axis=0) / n
    return gamma * xc / np.sqrt(var + EPS) + beta


@case(
    "causal_attention",
    lambda: (norms((4, 3), 131), norms((4, 3), 132), norms((4, 3), 133)),
    (0, 1, 2),
    "ml",
    "matmul transpose masked_fill row_write softmax",
)
@njit
def causal_attention(q, k, v):
    n, d = q.shape
    s = q @ k.T / math.sqrt(d)
    for i in range(n):
        s[i, i + 1 :] = -1e30
    out = np.zeros_like(v)
    for i in range(n):
        w = np.exp(s[i] - np.max(s[i]))
        w /= np.sum(w)
        out[i] = w @ v
    return np.sum(out**2)


@case(
    "kmeans_loss",
    lambda: (norms((3, 2), 141, 1.5), norms((9, 2), 142, 1.5)),
    (0, 1),
    "ml",
    "argmin_assign nested_loops min_update",
)
@njit
def kmeans_loss(centers, x):
    loss = 0.0
    for i in range(x.shape[0]):
        d = np.empty(centers.shape[0])
        for k in range(centers.shape[0]):
            d[k] = np.sum((x[i] - centers[k]) ** 2)
        a = np.argmin(d)
        loss += d[a]
    return loss


@case(
    "logistic_stable",
    lambda: (norms(4, 151), norms((8, 4), 152), ints(8, 153, 0, 2)),
    0,
    "ml",
    "log1p branch dot int_data hess",
    hess=True,
)
@njit
def logistic_stable(w, x, y):
    loss = 0.0
    for i in range(x.shape[0]):
        m = np.dot(x[i], w)
        if y[i] == 0:
            m = -m
        if m > 0.0:
            loss += math.log1p(math.exp(-m))
        else:
            loss += -m + math.log1p(math.exp(m))
    return loss / x.shape[0] + 0.05 * np.dot(w, w)


@njit
def sigm(x):
    return 1.0 / (1.0 + np.exp(-x))


@case(
    "lstm_unrolled",
    lambda: (norms((12, 5), 161, 0.4), norms(12, 162, 0.1), norms((4, 2), 163)),
    (0, 1, 2),
    "ml",
    "concatenate slices calls_njit matvec vectorised",
)
@njit
def lstm_unrolled(w, b, xs):
    hsz = 3
    h = np.zeros(hsz)
    c = np.zeros(hsz)
    for t in range(xs.shape[0]):
        z = w @ np.concatenate((xs[t], h)) + b
        i = sigm(z[:hsz])
        f = sigm(z[hsz : 2 * hsz] + 1.0)
        g = np.tanh(z[2 * hsz : 3 * hsz])
        o = sigm(z[3 * hsz :])
        c = f * c + i * g
        h = o * np.tanh(c)
    return np.sum(h * h)


@case(
    "embedding_bag",
    lambda: (norms((6, 3), 171), onp.array([1, 4, 1, 0, 1, 5]), norms(3, 172)),
    (0, 2),
    "ml",
    "gather fancy_index repeated_index axis_mean_loop",
)
@njit
def embedding_bag(table, idx, w):
    e = table[idx]
    pooled = np.zeros(table.shape[1])
    for r in range(e.shape[0]):
        pooled += e[r] / e.shape[0]
    return np.sum(np.tanh(pooled) * w) + np.sum(e**2)


@case(
    "unrolled_inner_gd",
    lambda: (onp.array([0.2, -0.4]), 0.15, norms((6, 2), 181), norms(6, 182)),
    (0, 1),
    "ml",
    "loop matmul transpose bilevel hess",
    hess=False,
)
@njit
def unrolled_inner_gd(w0, lr, x, y):
    w = w0.copy()
    for s in range(6):
        r = x @ w - y
        g = x.T @ r / y.size
        w -= lr * g
    r = x @ w - y
    return np.mean(r**2)
