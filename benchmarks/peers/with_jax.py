"""JAX: whole arrays, `scan` for loops, everything jitted, results waited for."""

from __future__ import annotations

import math

import jax  # type: ignore[import-not-found]
import jax.numpy as jnp  # type: ignore[import-not-found]
import numpy as np

from benchmarks.peers import Built
from benchmarks.peers.formulas import formulas, heat_step

jax.config.update("jax_enable_x64", True)


def heat(u0, kappa, steps):
    last, _ = jax.lax.scan(lambda a, _: (heat_step(jnp, a, kappa), None), u0, None, length=steps)
    return (last**2).sum()


def rk4_lv(theta, y0, n):
    h = 0.01

    def slope(y):
        return jnp.stack((theta[0] * y[0] - theta[1] * y[0] * y[1], -theta[2] * y[1] + theta[3] * y[0] * y[1]))

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    y, _ = jax.lax.scan(step, y0, None, length=n)
    return y[0] * y[1]


def kalman(F, H, q, r, ys):
    n = F.shape[0]

    def step(state, y):
        x, P, ll = state
        x = F @ x
        P = F @ P @ F.T + q * jnp.eye(n)
        e = y - H @ x
        PH = P @ H
        S = H @ PH + r
        K = PH / S
        return (x + K * e, P - jnp.outer(K, PH), ll - 0.5 * (jnp.log(2.0 * math.pi * S) + e * e / S)), None

    (_, _, ll), _ = jax.lax.scan(step, (jnp.zeros(n), jnp.eye(n), 0.0), ys)
    return ll


PROGRAMS = {
    **formulas(jnp, lambda x, axis: jax.nn.logsumexp(x, axis=axis)),
    **{f.__name__: f for f in (heat, rk4_lv, kalman)},
}


def build(name: str, args: tuple, wrt: tuple[int, ...]) -> Built | None:
    if name not in PROGRAMS:
        return None
    fixed = tuple(k for k, a in enumerate(args) if isinstance(a, int))
    values = tuple(jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in args)
    primal = jax.jit(PROGRAMS[name], static_argnums=fixed)
    gradient = jax.jit(jax.value_and_grad(PROGRAMS[name], argnums=wrt), static_argnums=fixed)
    return Built(
        lambda: jax.block_until_ready(primal(*values)),
        lambda: jax.block_until_ready(gradient(*values)),
        lambda result: [np.asarray(g) for g in result[1]],
    )
