"""The problems in JAX, as one would write them there: whole arrays, jitted, waited for.

    python benchmarks/gradbench/peers/jax_peer.py NAME SIZE

prints the median seconds of each function as JSON; nothing for problems that are not written here, because their
recursion or data-dependent loops do not suit JAX. One CPU, one thread. The answers are compared with the right ones.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from functools import partial

from benchmarks.gradbench import data

if __name__ == "__main__" and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

try:
    import jax
except ImportError:
    print("{}")
    raise SystemExit(0) from None
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, multigammaln

jax.config.update("jax_enable_x64", True)


def floats(values):
    return jnp.asarray(np.array(values, dtype=np.float64))


# ----- gmm -------------------------------------------------------------------------------------
def gmm_objective(wanted, x, gamma, m):
    alpha, mu, q, l = wanted
    n, d = x.shape
    k = alpha.size
    columns, rows = np.triu_indices(d, 1)
    lower = jnp.zeros((k, d, d)).at[:, rows, columns].set(l)
    diagonal = jnp.exp(q)
    centered = x[:, None, :] - mu
    scaled = diagonal * centered + jnp.einsum("krc,nkc->nkr", lower, centered)
    terms = alpha + q.sum(1) - 0.5 * (scaled**2).sum(2)
    likelihood = logsumexp(terms, axis=1).sum() - n * (0.5 * d * math.log(2 * math.pi) + logsumexp(alpha))
    freedom = d + m + 1
    prior = k * (freedom * d * jnp.log(gamma / math.sqrt(2)) - multigammaln(0.5 * freedom, d))
    norm = (diagonal**2).sum() + (l**2).sum()
    return likelihood + prior + m * q.sum() - 0.5 * gamma**2 * norm


def gmm(given):
    wanted = tuple(floats(given[name]) for name in ("alpha", "mu", "q", "l"))
    arguments = (wanted, floats(given["x"]), float(given["gamma"]), given["m"])
    objective = jax.jit(gmm_objective, static_argnums=3)
    jacobian = jax.jit(jax.grad(gmm_objective), static_argnums=3)
    names = ("alpha", "mu", "q", "l")
    return {
        "objective": (lambda: objective(*arguments), float),
        "jacobian": (
            lambda: jacobian(*arguments),
            lambda parts: {name: part.tolist() for name, part in zip(names, parts, strict=True)},
        ),
    }


# ----- ba --------------------------------------------------------------------------------------
def reprojection_error(camera, point, weight, feature):
    axis, moved = camera[:3], point - camera[3:6]
    square = jnp.dot(axis, axis)
    small = square == 0.0
    angle = jnp.sqrt(jnp.where(small, 1.0, square))
    unit = axis / angle
    turned = (
        moved * jnp.cos(angle)
        + jnp.cross(unit, moved) * jnp.sin(angle)
        + unit * (jnp.dot(unit, moved) * (1.0 - jnp.cos(angle)))
    )
    seen = jnp.where(small, moved + jnp.cross(axis, moved), turned)
    flat = seen[:2] / seen[2]
    square = jnp.dot(flat, flat)
    flat = flat * (1.0 + camera[9] * square + camera[10] * square**2)
    return weight * (flat * camera[6] + camera[7:9] - feature)


def ba_objective(cameras, points, weights, features, observations):
    errors = jax.vmap(reprojection_error)(cameras[observations[:, 0]], points[observations[:, 1]], weights, features)
    return errors, 1.0 - weights**2


def ba_jacobian(cameras, points, weights, features, observations):
    block = jax.jacfwd(reprojection_error, argnums=(0, 1, 2))
    n, m, count = cameras.shape[0], points.shape[0], weights.size
    by_camera, by_point, by_weight = jax.vmap(block)(
        cameras[observations[:, 0]], points[observations[:, 1]], weights, features
    )
    values = jnp.concatenate((by_camera, by_point, by_weight[:, :, None]), axis=2)
    each = jnp.arange(count)
    columns = jnp.concatenate(
        (
            11 * observations[:, :1] + jnp.arange(11),
            11 * n + 3 * observations[:, 1:] + jnp.arange(3),
            11 * n + 3 * m + each[:, None],
        ),
        axis=1,
    )
    columns = jnp.broadcast_to(columns[:, None, :], values.shape)
    rows = jnp.concatenate((15 * jnp.arange(2 * count), 30 * count + jnp.arange(count + 1)))
    slopes = jax.vmap(jax.grad(lambda w: 1.0 - w**2))(weights)
    return (
        rows,
        jnp.concatenate((columns.ravel(), 11 * n + 3 * m + each)),
        jnp.concatenate((values.ravel(), slopes)),
    )


def ba(given):
    n, m, p = given["n"], given["m"], given["p"]
    count = jnp.arange(p)
    arguments = (
        jnp.tile(floats(given["cam"]), (n, 1)),
        jnp.tile(floats(given["x"]), (m, 1)),
        jnp.full(p, float(given["w"])),
        jnp.tile(floats(given["feat"]), (p, 1)),
        jnp.stack((count % n, count % m), axis=1),
    )
    objective, jacobian = jax.jit(ba_objective), jax.jit(ba_jacobian)
    return {
        "objective": (
            lambda: objective(*arguments),
            lambda errors: {
                "reproj_error": {"elements": errors[0][0].tolist(), "repeated": p},
                "w_err": {"element": float(errors[1][0]), "repeated": p},
            },
        ),
        "jacobian": (
            lambda: jacobian(*arguments),
            lambda parts: {
                name: [*part[:30].tolist(), part[-1].item()]
                for name, part in zip(("rows", "cols", "vals"), parts, strict=True)
            },
        ),
    }


# ----- lstm ------------------------------------------------------------------------------------
def lstm_objective(main, extra, state, sequence):
    b = extra.shape[1]
    weights, biases = main.reshape(-1, 2, 4, b).transpose(1, 0, 2, 3)

    def layer(x, items):
        weight, bias, (hidden, cell) = items
        forget = jax.nn.sigmoid(x * weight[0] + bias[0])
        ingate = jax.nn.sigmoid(hidden * weight[1] + bias[1])
        outgate = jax.nn.sigmoid(x * weight[2] + bias[2])
        change = jnp.tanh(hidden * weight[3] + bias[3])
        cell = cell * forget + ingate * change
        hidden = outgate * jnp.tanh(cell)
        return hidden, jnp.stack((hidden, cell))

    def step(state, pair):
        now, following = pair
        x = now * extra[0]
        layers = []
        for k in range(weights.shape[0]):
            x, new = layer(x, (weights[k], biases[k], state[k]))
            layers.append(new)
        y = x * extra[1] + extra[2]
        return jnp.stack(layers), jnp.dot(following, y - jnp.log(2.0 + jnp.exp(y).sum()))

    _, terms = jax.lax.scan(step, state.reshape(-1, 2, b), (sequence[:-1], sequence[1:]))
    return -terms.sum() / (b * (sequence.shape[0] - 1))


def lstm(given):
    arguments = [floats(given[name]) for name in ("main_params", "extra_params", "state", "sequence")]
    objective, jacobian = jax.jit(lstm_objective), jax.jit(jax.grad(lstm_objective, argnums=(0, 1)))
    return {
        "objective": (lambda: objective(*arguments), float),
        "jacobian": (
            lambda: jacobian(*arguments),
            lambda parts: np.concatenate([np.asarray(part).ravel() for part in parts]).tolist(),
        ),
    }


# ----- ht --------------------------------------------------------------------------------------
def rotation(axis):
    angle = jnp.sqrt(jnp.dot(axis, axis))
    x, y, z = axis / angle
    s, c = jnp.sin(angle), jnp.cos(angle)
    cross = jnp.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    unit = axis / angle
    return c * jnp.eye(3) + (1.0 - c) * jnp.outer(unit, unit) + s * cross


def turns(angles):
    """Rotations about x, then y, then z as 4 x 4 matrices; the angles come as x, z, y."""
    (cx, cz, cy), (sx, sz, sy) = jnp.cos(angles).T, jnp.sin(angles).T
    zero, one = jnp.zeros_like(cx), jnp.ones_like(cx)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, one],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def ht_objective(theta, us, parents, model, corners, points):
    bone = 2 + 4 * np.arange(5)
    places = np.stack((bone, bone, bone + 1, bone + 2), axis=1).ravel(), np.tile([0, 1, 0, 0], 5)
    angles = jnp.zeros((len(parents), 3)).at[places].set(theta[6:])
    relatives = model["relatives"] @ turns(angles)
    absolutes = []
    for b, parent in enumerate(parents):
        absolutes.append(relatives[b] if parent < 0 else absolutes[parent] @ relatives[b])
    transforms = jnp.stack(absolutes) @ model["inverses"]
    surface = jnp.einsum("vb,bij,vj->vi", model["weights"], transforms[:, :3], model["vertices"])
    surface = surface * model["sign"] @ rotation(theta[:3]).T + theta[3:6]
    a, b, c = (surface[corners[:, k]] for k in range(3))
    u, v = us[:, :1], us[:, 1:]
    return points - (u * a + v * b + (1.0 - u - v) * c)


def ht_jacobian(theta, us, parents, model, corners, points):
    def push(shift):
        def moved(s):
            return ht_objective(theta + s[2:], us + s[:2], parents, model, corners, points)

        return jax.jvp(moved, (jnp.zeros(2 + theta.size),), (shift,))[1]

    return jax.vmap(push, out_axes=-1)(jnp.eye(2 + theta.size))


def ht(given):
    own = given["data"]["model"]
    model = {
        "relatives": floats(own["base_relatives"]),
        "inverses": floats(own["inverse_base_absolutes"]),
        "vertices": floats(own["base_positions"]),
        "weights": floats(own["weights"]),
        "sign": jnp.array([-1.0 if own["is_mirrored"] else 1.0, 1.0, 1.0]),
    }
    corners = jnp.array(own["triangles"])[jnp.array(given["data"]["correspondences"])]
    parents = tuple(own["parents"])
    arguments = (floats(given["theta"]), floats(given["us"]), parents, model, corners, floats(given["data"]["points"]))
    objective, jacobian = (jax.jit(f, static_argnums=2) for f in (ht_objective, ht_jacobian))
    return {
        "objective": (lambda: objective(*arguments), lambda errors: errors.ravel().tolist()),
        "jacobian": (lambda: jacobian(*arguments), lambda j: j.reshape(-1, j.shape[-1]).tolist()),
    }


# ----- ode -------------------------------------------------------------------------------------
def solve(x, steps):
    h = 2.0 / steps

    def slope(y):
        return x * jnp.concatenate((jnp.ones(1), y[:-1]))

    def step(y, _):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    return jax.lax.scan(step, jnp.zeros_like(x), None, length=steps)[0]


def ode(given):
    x, steps = floats(given["x"]), given["s"]
    primal = jax.jit(solve, static_argnums=1)
    gradient = jax.jit(jax.grad(lambda x, steps: solve(x, steps)[-1]), static_argnums=1)
    return {
        "primal": (lambda: primal(x, steps), lambda y: y.tolist()),
        "gradient": (lambda: gradient(x, steps), lambda g: g.tolist()),
    }


# ----- kmeans ----------------------------------------------------------------------------------
def kmeans_cost(points, centroids):
    between = points @ centroids.T
    squares = (points**2).sum(1)[:, None] + (centroids**2).sum(1) - 2.0 * between
    return squares.min(1).sum()


def kmeans(given):
    points, centroids = floats(given["points"]), floats(given["centroids"])

    @jax.jit
    def direction(points, centroids):
        slope, curvature = jax.jvp(jax.grad(partial(kmeans_cost, points)), (centroids,), (jnp.ones_like(centroids),))
        return slope / curvature

    cost = jax.jit(kmeans_cost)
    return {
        "cost": (lambda: cost(points, centroids), float),
        "dir": (lambda: direction(points, centroids), lambda d: d.tolist()),
    }


# ----- llsq, lse -------------------------------------------------------------------------------
def llsq_primal(x, n):
    t = -1.0 + 2.0 * jnp.arange(n) / (n - 1)
    powers = jnp.cumprod(jnp.broadcast_to(t[:, None], (n, x.size)).at[:, 0].set(1.0), axis=1)
    return 0.5 * ((jnp.sign(t) - powers @ x) ** 2).sum()


def llsq(given):
    x, n = floats(given["x"]), given["n"]
    primal, gradient = (jax.jit(f, static_argnums=1) for f in (llsq_primal, jax.grad(llsq_primal)))
    return {"primal": (lambda: primal(x, n), float), "gradient": (lambda: gradient(x, n), lambda g: g.tolist())}


def lse(given):
    x = floats(given["x"])
    primal, gradient = jax.jit(logsumexp), jax.jit(jax.grad(logsumexp))
    return {"primal": (lambda: primal(x), float), "gradient": (lambda: gradient(x), lambda g: g.tolist())}


PROBLEMS = {f.__name__: f for f in (gmm, ba, lstm, ht, ode, kmeans, llsq, lse)}


def median_seconds(call) -> float:
    """Of at least 15 calls: the smaller of wall time and the process's CPU time, which a loud machine leaves alone."""
    jax.block_until_ready(call())
    walls, cpus = [], []
    while len(walls) < 15 or (sum(walls) < 0.5 and len(walls) < 200):
        wall, cpu = time.perf_counter(), time.process_time()
        jax.block_until_ready(call())
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(statistics.median(walls), statistics.median(cpus))


def main(name: str, size: str) -> None:
    times = {}
    if name in PROBLEMS:
        for function, (call, finish) in PROBLEMS[name](data.load_input(name, size)).items():
            problem = data.difference(finish(call()), data.load_answer(name, size, function))
            if problem is not None:
                raise SystemExit(f"JAX's {function} is wrong: {problem}")
            times[function] = median_seconds(call)
    print(json.dumps(times))


if __name__ == "__main__":
    main(*sys.argv[1:])
