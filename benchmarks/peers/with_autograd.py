"""HIPS autograd: NumPy's own functions, recorded."""

from __future__ import annotations

import autograd.numpy as anp  # type: ignore[import-not-found]
import numpy as np
from autograd import value_and_grad
from autograd.scipy.special import logsumexp  # type: ignore[import-not-found]

from benchmarks.peers import Built
from benchmarks.peers.formulas import formulas, heat_step


def heat(u0, kappa, steps):
    a = u0
    for _ in range(steps):
        a = heat_step(anp, a, kappa)
    return (a**2).sum()


PROGRAMS = {**formulas(anp, lambda x, axis: logsumexp(x, axis=axis)), "heat": heat}


def build(name: str, args: tuple, wrt: tuple[int, ...]) -> Built | None:
    if name not in PROGRAMS:
        return None
    gradient = value_and_grad(PROGRAMS[name], argnum=wrt)
    return Built(
        lambda: PROGRAMS[name](*args), lambda: gradient(*args), lambda result: [np.asarray(g) for g in result[1]]
    )
