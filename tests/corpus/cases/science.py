"""Simulation, optimisation and control."""

import math

import numpy as np
from numba import njit

from tests.corpus.corpuslib import case, ints, norms, onp, unif

GRAV = 1.0  # module constant read as a global


@case(
    "nbody_verlet",
    lambda: (unif((4, 3), 1, -1, 1), norms((4, 3), 2, 0.3), onp.array([1.0, 0.5, 0.8, 0.3]), 0.01, 12),
    (0, 1, 2),
    "physics",
    "nested_loops inplace array2d int_arg global_const array_alloc",
)
@njit
def nbody_verlet(pos0, vel0, mass, dt, steps):
    n = pos0.shape[0]
    pos = pos0.copy()
    vel = vel0.copy()
    acc = np.zeros_like(pos)
    energy = 0.0
    for s in range(steps + 1):
        acc[:] = 0.0
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + 0.05
                w = GRAV * mass[j] / (r2 * math.sqrt(r2))
                acc[i, 0] += w * dx
                acc[i, 1] += w * dy
                acc[i, 2] += w * dz
        if s == 0:
            vel += 0.5 * dt * acc
        elif s < steps:
            vel += dt * acc
        if s < steps:
            pos += dt * vel
    for i in range(n):
        energy += 0.5 * mass[i] * np.sum(vel[i] ** 2)
        for j in range(i):
            d = pos[i] - pos[j]
            energy -= GRAV * mass[i] * mass[j] / math.sqrt(np.dot(d, d) + 0.05)
    return energy


@njit
def lv_rhs(t, y, p, dy):
    dy[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    dy[1] = p[2] * y[0] * y[1] - p[3] * y[1]


@njit
def rk4_inplace(rhs, t0, y, p, h, nsteps):
    k1 = np.empty_like(y)
    k2 = np.empty_like(y)
    k3 = np.empty_like(y)
    k4 = np.empty_like(y)
    t = t0
    for _ in range(nsteps):
        rhs(t, y, p, k1)
        rhs(t + 0.5 * h, y + 0.5 * h * k1, p, k2)
        rhs(t + 0.5 * h, y + 0.5 * h * k2, p, k3)
        rhs(t + h, y + h * k3, p, k4)
        y += h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        t += h
    return y


@case(
    "lotka_volterra_fit",
    lambda: (onp.array([1.1, 0.4, 0.1, 0.4]), onp.array([10.0, 5.0]), unif((5, 2), 3, 2, 8)),
    (0, 1),
    "ode",
    "calls_njit function_arg inplace out_param hess array2d",
    hess=True,
)
@njit
def lotka_volterra_fit(p, y0, data):
    y = y0.copy()
    loss = 0.0
    for k in range(data.shape[0]):
        rk4_inplace(lv_rhs, 0.0, y, p, 0.05, 4)
        r = np.log(y) - np.log(data[k])
        loss += np.sum(r * r)
    return 0.5 * loss


@case(
    "pk_adaptive_heun",
    lambda: (1.2, 0.3, 2.0, 4.0),
    (0, 1, 2),
    "ode",
    "while convergence scalar_only continue break early_return tuple_unpack",
)
@njit
def pk_adaptive_heun(ka, ke, dose, t_end):
    if t_end <= 0.0:
        return 0.0
    g, c = dose, 0.0
    t, h = 0.0, 0.1
    n = 0
    while t < t_end:
        n += 1
        if n > 10000:
            break
        if t + h > t_end:
            h = t_end - t
        k1g, k1c = -ka * g, ka * g - ke * c
        g1, c1 = g + h * k1g, c + h * k1c
        k2g, k2c = -ka * g1, ka * g1 - ke * c1
        err = abs(0.5 * h * (k2c - k1c))
        tol = 1e-3
        if err > tol:
            h = h * 0.5
            continue
        g += 0.5 * h * (k1g + k2g)
        c += 0.5 * h * (k1c + k2c)
        t += h
        h = h * min(2.0, max(0.3, 0.9 * math.sqrt(tol / (err + 1e-12))))
    return c


@case(
    "ou_euler_maruyama",
    lambda: (0.7, 0.2, 0.35, 1.0, norms((6, 20), 5)),
    (0, 1, 2, 3, 4),
    "sde",
    "nested_loops array2d given_normals",
)
@njit
def ou_euler_maruyama(kappa, theta, sigma, x0, z):
    dt = 1.0 / z.shape[1]
    tot = 0.0
    for i in range(z.shape[0]):
        x = x0
        run = 0.0
        for k in range(z.shape[1]):
            x += kappa * (theta - x) * dt + sigma * math.sqrt(dt) * z[i, k]
            run += x * x * dt
        tot += run
    return tot / z.shape[0]


@case(
    "heat_crank_nicolson",
    lambda: (onp.sin(onp.linspace(0.1, 3.0, 12)) + 1.0, 0.4, unif(12, 7)),
    (0, 1, 2),
    "pde",
    "reverse_loop negative_step slices inplace vector_output array_alloc",
)
@njit
def heat_crank_nicolson(u0, r, src):
    n = u0.size
    u = u0.copy()
    a = np.empty(n)
    d = np.empty(n)
    for step in range(3):
        d[0] = u[0]
        d[-1] = u[-1]
        d[1:-1] = u[1:-1] + 0.5 * r * (u[2:] - 2.0 * u[1:-1] + u[:-2]) + 0.01 * src[1:-1]
        a[0] = 0.0
        for i in range(1, n - 1):
            m = 1.0 + r + 0.5 * r * a[i - 1]
            a[i] = -0.5 * r / m
            d[i] = (d[i] + 0.5 * r * d[i - 1]) / m
        for i in range(n - 2, 0, -1):
            d[i] -= a[i] * d[i + 1]
        u[:] = d
    return u


@case(
    "seir_intervention_nll",
    lambda: (onp.array([0.9, 0.4, 0.25, 0.35]), ints(18, 9, 1, 9), 9),
    0,
    "epidemiology",
    "int_data branch_on_int lgamma scalar_loop hess",
    hess=True,
)
@njit
def seir_intervention_nll(theta, cases, t_int):
    beta, sig, gam, eff = theta[0], theta[1], theta[2], theta[3]
    s, e, i, r = 0.99, 0.005, 0.005, 0.0
    nll = 0.0
    for t in range(cases.size):
        b = beta * (1.0 - eff) if t >= t_int else beta
        new_e = (1.0 - math.exp(-b * i)) * s
        new_i = (1.0 - math.exp(-sig)) * e
        new_r = (1.0 - math.exp(-gam)) * i
        s -= new_e
        e += new_e - new_i
        i += new_i - new_r
        r += new_r
        lam = 500.0 * new_i + 1e-9
        nll += lam - cases[t] * math.log(lam) + math.lgamma(cases[t] + 1.0)
    return nll


@case(
    "rosenbrock",
    lambda: (onp.array([-1.2, 1.0, 0.7, 1.3, -0.4]),),
    0,
    "optimisation",
    "loop hess int_power",
    hess=True,
)
@njit
def rosenbrock(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


@case(
    "kepler_newton",
    lambda: (1.3, 0.4),
    (0, 1),
    "physics",
    "while convergence break tuple_result int_result",
    note="second result is an integer iteration count: no derivative",
)
@njit
def kepler_newton(m, ecc):
    x = m if ecc < 0.8 else math.pi
    n = 0
    while True:
        f = x - ecc * math.sin(x) - m
        x = x - f / (1.0 - ecc * math.cos(x))
        n += 1
        if abs(f) < 1e-12 or n >= 50:
            break
    return x, n


@case(
    "pid_mass_spring",
    lambda: (onp.array([3.0, 0.8, 0.5]), 1.0, 0.3),
    (0, 1, 2),
    "control",
    "clip minmax_builtin loop accumulators",
)
@njit
def pid_mass_spring(gains, k, c):
    x, v, integ, prev = 0.0, 0.0, 0.0, 1.0
    cost = 0.0
    for t in range(60):
        e = 1.0 - x
        integ += e * 0.05
        u = gains[0] * e + gains[1] * integ + gains[2] * (e - prev) / 0.05
        u = max(-2.0, min(2.0, u))
        prev = e
        a = u - k * x - c * v
        v += 0.05 * a
        x += 0.05 * v
        cost += e * e + 0.01 * u * u
    return cost


@case(
    "ray_sphere_shade",
    lambda: (onp.array([0.1, -0.2, -3.0]), onp.array([0.02, 0.05, 1.0]), onp.array([0.0, 0.1, 0.2]), 0.9),
    (0, 1, 2, 3),
    "physics",
    "early_return calls_njit branch small_vectors",
)
@njit
def ray_sphere_shade(o, d, c, rad):
    dn = d / math.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2)
    oc = o - c
    b = np.dot(oc, dn)
    disc = b * b - (np.dot(oc, oc) - rad * rad)
    if disc < 0.0:
        return 0.05
    t = -b - math.sqrt(disc)
    if t < 0.0:
        return 0.05
    nrm = (o + t * dn - c) / rad
    light = np.array([0.5, 0.7, -0.5])
    return 0.05 + max(0.0, np.dot(nrm, light))
