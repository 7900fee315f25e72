# fuzz: seed 618; float64; float float array:3 array:3x3 int
import math

import numpy as np
from numba import njit


@njit
def f(x, y, a, m, n):
    z = np.array([math.atan(min(a[-1], a[i], m[-1, n])) * np.sum(a[:n]) for i in range(3)])
    return z.sum() * x + np.sum(np.array([m[n, 1:].sum() * a[i] for i in range(3)])) * y
