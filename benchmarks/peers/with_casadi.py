"""CasADi: a graph of matrix operations, `gradient` of it, evaluated by CasADi's virtual machine."""

from __future__ import annotations

import casadi as ca  # type: ignore[import-not-found]
import numpy as np

from benchmarks.peers import Built


def rosen(x):
    return 100.0 * ca.sumsqr(x[1:] - x[:-1] ** 2) + ca.sumsqr(1.0 - x[:-1])


def logsumexp(x):
    return ca.logsumexp(x)


def heat(u0, kappa, steps):
    a = u0
    for _ in range(steps):
        inner = a[1:-1] + kappa * (a[:-2] - 2.0 * a[1:-1] + a[2:]) + 0.01 * ca.sin(a[1:-1])
        a = ca.vertcat(a[0], inner, a[-1])
    return ca.sumsqr(a)


def mlp_loss(w1, b1, w2, b2, x, y):
    rows, classes = y.size, w2.shape[1]
    h = ca.tanh(ca.mtimes(x, w1) + ca.repmat(b1.T, rows, 1))
    z = ca.mtimes(h, w2) + ca.repmat(b2.T, rows, 1)
    right = ca.DM(np.eye(classes)[y])
    return (ca.sum1(ca.log(ca.sum2(ca.exp(z)))) - ca.sum1(ca.sum2(z * right))) / rows


PROGRAMS = {f.__name__: f for f in (rosen, logsumexp, heat, mlp_loss)}


def build(name: str, args: tuple, wrt: tuple[int, ...]) -> Built | None:
    if name not in PROGRAMS:
        return None
    floats = [k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f"]
    symbols = {k: ca.MX.sym(f"a{k}", *np.shape(args[k])) for k in floats}
    value = PROGRAMS[name](*(symbols.get(k, a) for k, a in enumerate(args)))
    inputs = [symbols[k] for k in floats]
    primal = ca.Function("primal", inputs, [value])
    gradient = ca.Function("gradient", inputs, [value, *(ca.gradient(value, symbols[k]) for k in wrt)])
    given = [ca.DM(args[k]) for k in floats]
    shapes = [np.shape(args[k]) for k in wrt]
    return Built(
        lambda: primal(*given),
        lambda: gradient(*given),
        lambda result: [np.array(g).reshape(shape) for g, shape in zip(result[1:], shapes, strict=True)],
    )
