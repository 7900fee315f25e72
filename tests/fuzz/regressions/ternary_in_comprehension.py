# fuzz: seed 348; float64; float array:4 int
import numpy as np
from numba import njit


@njit
def f(x, a, n):
    z = np.array([a[n] if a[n] <= 0.83 else a[1] for i in range(4)])
    for i, s in enumerate(z):
        a[0:3] = np.sin(a[1:4])
    return z[0] + a[0] * x
