# fuzz: seed 441; float64; float float array:4 array:3x4
import numpy as np
from numba import njit


@njit
def f(x, y, a, m):
    top = np.max(np.array([x, 0.7, y, m[1, 1]]))
    return np.mean(np.array([a[1] + a[2], top, abs(x), np.sum(m)]))
