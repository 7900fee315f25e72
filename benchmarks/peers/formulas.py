"""Whole-array formulas of the programs, for libraries that have NumPy's functions.

`xp` is the library's namespace, `lse` its ``logsumexp(x, axis)``. What are not floats comes as NumPy has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def formulas(xp: Any, lse: Callable[[Any, int], Any]) -> dict[str, Callable[..., Any]]:
    """Each program without loops as a function of the library's arrays."""

    def rosen(x):
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    def logsumexp(x):
        return lse(x, 0)

    def gmm(alphas, means, icf, x, gamma, m):
        n, d = x.shape
        diagonal = xp.exp(icf[:, :d])
        centered = x[:, None, :] - means
        lower = xp.concatenate((icf[:, d:], xp.zeros_like(icf[:, :1])), axis=1)[:, packed(d)]
        scaled = diagonal * centered + xp.einsum("krc,nkc->nkr", lower, centered)
        terms = alphas + icf[:, :d].sum(1) - 0.5 * (scaled**2).sum(2)
        prior = 0.5 * gamma * gamma * ((diagonal**2).sum() + (icf[:, d:] ** 2).sum()) - m * icf[:, :d].sum()
        return lse(terms, 1).sum() - n * lse(alphas, 0) + prior

    def logdet(a):
        return xp.linalg.slogdet(a)[1]

    def mlp_loss(w1, b1, w2, b2, x, y):
        z = xp.tanh(x @ w1 + b1) @ w2 + b2
        return (lse(z, 1) - z[np.arange(z.shape[0]), y]).mean()

    def nbody(pos, mass, cutoff):
        square = 1e-3 + ((pos[:, None] - pos) ** 2).sum(2)
        heavy = mass > 0.0
        counts = (square <= cutoff) & heavy[:, None] & heavy
        pull = xp.where(counts, mass[:, None] * mass / xp.sqrt(square), xp.zeros_like(square))
        return -xp.tril(pull, -1).sum()

    return {f.__name__: f for f in (rosen, logsumexp, gmm, logdet, mlp_loss, nbody)}


def heat_step(xp: Any, a: Any, kappa: Any) -> Any:
    """One step of the heat equation with fixed ends."""
    inner = a[1:-1] + kappa * (a[:-2] - 2.0 * a[1:-1] + a[2:]) + 0.01 * xp.sin(a[1:-1])
    return xp.concatenate((a[:1], inner, a[-1:]))


def packed(d: int) -> np.ndarray:
    """Where the entries of a strictly lower triangle are in its packed columns; the last place for the others."""
    where = np.full((d, d), d * (d - 1) // 2)
    columns, rows = np.triu_indices(d, 1)
    where[rows, columns] = np.arange(rows.size)
    return where
