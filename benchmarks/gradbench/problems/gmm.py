"""Fitting a Gaussian mixture: the log posterior of weights, means and precisions with a Wishart prior."""

import math

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array
from benchmarks.gradbench.problems.lse import primal as log_sum_exp


@njit
def log_gamma(a, dim):
    """The logarithm of the multivariate gamma function."""
    s = 0.25 * dim * (dim - 1) * math.log(math.pi)
    for j in range(dim):
        s += math.lgamma(a - 0.5 * j)
    return s


@njit
def objective(alpha, mu, q, l, x, gamma, m):
    """alpha (k,), mu (k, d), q (k, d), l (k, d (d - 1) / 2) by columns, x (n, d)."""
    n, d = x.shape
    k = alpha.size
    diagonal = np.empty((k, d))
    log_det = np.zeros(k)
    for a in range(k):
        for j in range(d):
            diagonal[a, j] = math.exp(q[a, j])
            log_det[a] += q[a, j]
    terms = np.empty((n, k))
    for a in range(k):
        factor = np.zeros((d, d))  # the square root of the precision, transposed
        at = 0
        for c in range(d):
            factor[c, c] = diagonal[a, c]
            for r in range(c + 1, d):
                factor[c, r] = l[a, at]
                at += 1
        scaled = x @ factor
        center = mu[a] @ factor
        weight = alpha[a] + log_det[a]
        for i in range(n):
            square = 0.0
            for r in range(d):
                square += (scaled[i, r] - center[r]) ** 2
            terms[i, a] = weight - 0.5 * square
    likelihood = 0.0
    for i in range(n):
        likelihood += log_sum_exp(terms[i])
    likelihood -= n * (0.5 * d * math.log(2.0 * math.pi) + log_sum_exp(alpha))

    freedom = d + m + 1
    prior = k * (freedom * d * math.log(gamma / math.sqrt(2.0)) - log_gamma(0.5 * freedom, d))
    for a in range(k):
        norm = 0.0
        for j in range(d):
            norm += diagonal[a, j] * diagonal[a, j]
        for j in range(l.shape[1]):
            norm += l[a, j] * l[a, j]
        prior += m * log_det[a] - 0.5 * gamma * gamma * norm
    return likelihood + prior


with jitgrad.options(math="fast"):
    gradient = jitgrad.grad(objective, argnums=(0, 1, 2, 3))


def prepare(data):
    arrays = (array(data[name]) for name in ("alpha", "mu", "q", "l", "x"))
    return *arrays, float(data["gamma"]), data["m"]


def listed(gradients):
    return {name: part.tolist() for name, part in zip(("alpha", "mu", "q", "l"), gradients, strict=True)}


PRIMAL = "objective"
FUNCTIONS = {
    "objective": Function(objective, prepare, float),
    "jacobian": Function(gradient, prepare, listed),
}
