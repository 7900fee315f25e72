"""Adjoints of rosen, heat and nbody as a careful person writes them, to measure the engine against.

Each returns what ``jitgrad.value_and_grad`` would: the value, then the gradients. The plain versions
run a forward sweep and then a backward sweep; the fused ones use that a loop carries nothing backward.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit
def rosen(x):
    n = x.size
    value = 0.0
    for i in range(n - 1):
        value += 100.0 * (x[i + 1] - x[i] * x[i]) ** 2 + (1.0 - x[i]) ** 2
    x_bar = np.zeros_like(x)
    for i in range(n - 2, -1, -1):
        gap = x[i + 1] - x[i] * x[i]
        x_bar[i + 1] += 200.0 * gap
        x_bar[i] -= 400.0 * gap * x[i] + 2.0 * (1.0 - x[i])
    return value, x_bar


@njit
def rosen_fused(x):
    n = x.size
    value = 0.0
    x_bar = np.empty_like(x)
    from_left = 0.0  # what term i - 1 adds to element i
    for i in range(n - 1):
        gap = x[i + 1] - x[i] * x[i]
        value += 100.0 * gap**2 + (1.0 - x[i]) ** 2
        x_bar[i] = from_left - 400.0 * gap * x[i] - 2.0 * (1.0 - x[i])
        from_left = 200.0 * gap
    x_bar[n - 1] = from_left
    return value, x_bar


@njit
def heat(u0, kappa, steps):
    n = u0.size
    states = np.empty((steps + 1, n))
    states[0] = u0
    for t in range(steps):
        a = states[t]
        b = states[t + 1]
        for i in range(1, n - 1):
            b[i] = a[i] + kappa * (a[i - 1] - 2.0 * a[i] + a[i + 1]) + 0.01 * math.sin(a[i])
        b[0] = a[0]
        b[n - 1] = a[n - 1]
    value = 0.0
    b_bar = np.empty(n)
    last = states[steps]
    for i in range(n):
        value += last[i] * last[i]
        b_bar[i] = 2.0 * last[i]
    a_bar = np.empty(n)
    kappa_bar = 0.0
    for t in range(steps - 1, -1, -1):
        a = states[t]
        a_bar[:] = 0.0
        a_bar[0] = b_bar[0]
        a_bar[n - 1] = b_bar[n - 1]
        for i in range(1, n - 1):
            g = b_bar[i]
            kappa_bar += g * (a[i - 1] - 2.0 * a[i] + a[i + 1])
            a_bar[i - 1] += kappa * g
            a_bar[i] += g * (1.0 - 2.0 * kappa + 0.01 * math.cos(a[i]))
            a_bar[i + 1] += kappa * g
        a_bar, b_bar = b_bar, a_bar
    return value, b_bar, kappa_bar


@njit
def nbody(pos, mass, cutoff):
    n = pos.shape[0]
    value = 0.0
    for i in range(n):
        if mass[i] <= 0.0:
            continue
        for j in range(i):
            d2 = 1e-3
            for c in range(3):
                d2 += (pos[i, c] - pos[j, c]) ** 2
            if d2 > cutoff:
                continue
            value -= mass[i] * mass[j] / math.sqrt(d2)
    pos_bar = np.zeros_like(pos)
    mass_bar = np.zeros_like(mass)
    for i in range(n - 1, -1, -1):
        if mass[i] <= 0.0:
            continue
        for j in range(i - 1, -1, -1):
            d2 = 1e-3
            for c in range(3):
                d2 += (pos[i, c] - pos[j, c]) ** 2
            if d2 > cutoff:
                continue
            inverse = 1.0 / math.sqrt(d2)
            mass_bar[i] -= mass[j] * inverse
            mass_bar[j] -= mass[i] * inverse
            pull = mass[i] * mass[j] * inverse / d2
            for c in range(3):
                force = pull * (pos[i, c] - pos[j, c])
                pos_bar[i, c] += force
                pos_bar[j, c] -= force
    return value, pos_bar, mass_bar


@njit
def nbody_fused(pos, mass, cutoff):
    n = pos.shape[0]
    value = 0.0
    pos_bar = np.zeros_like(pos)
    mass_bar = np.zeros_like(mass)
    for i in range(n):
        if mass[i] <= 0.0:
            continue
        for j in range(i):
            d2 = 1e-3
            for c in range(3):
                d2 += (pos[i, c] - pos[j, c]) ** 2
            if d2 > cutoff:
                continue
            inverse = 1.0 / math.sqrt(d2)
            value -= mass[i] * mass[j] * inverse
            mass_bar[i] -= mass[j] * inverse
            mass_bar[j] -= mass[i] * inverse
            pull = mass[i] * mass[j] * inverse / d2
            for c in range(3):
                force = pull * (pos[i, c] - pos[j, c])
                pos_bar[i, c] += force
                pos_bar[j, c] -= force
    return value, pos_bar, mass_bar


TWO_SWEEPS = {"rosen": rosen, "heat": heat, "nbody": nbody}
FUSED = {"rosen": rosen_fused, "nbody": nbody_fused}
