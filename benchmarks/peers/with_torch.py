"""PyTorch, eager: whole arrays and Python loops, `torch.autograd.grad` for the gradient."""

from __future__ import annotations

import numpy as np
import torch  # type: ignore[import-not-found]

from benchmarks.peers import Built
from benchmarks.peers.formulas import formulas, heat_step

torch.set_num_threads(1)


def heat(u0, kappa, steps):
    a = u0
    for _ in range(steps):
        a = heat_step(torch, a, kappa)
    return (a**2).sum()


PROGRAMS = {**formulas(torch, lambda x, axis: torch.logsumexp(x, axis)), "heat": heat}


def build(name: str, args: tuple, wrt: tuple[int, ...]) -> Built | None:
    if name not in PROGRAMS:
        return None
    values = [torch.as_tensor(a) if isinstance(a, np.ndarray) else a for a in args]
    for k in wrt:
        values[k] = torch.tensor(args[k], dtype=torch.float64, requires_grad=True)
    leaves = [values[k] for k in wrt]

    def primal():
        with torch.no_grad():
            return PROGRAMS[name](*values)

    def gradient():
        value = PROGRAMS[name](*values)
        return value, torch.autograd.grad(value, leaves)

    return Built(primal, gradient, lambda result: [g.numpy() for g in result[1]])
