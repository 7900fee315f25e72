# fuzz: seed 11; float64; float array:2x3 int
import numpy as np
from numba import njit


@njit
def f(x, m, n):
    m[:, n] += 0.7
    m[0:1] *= x
    m += x * m
    return np.sum(np.sin(m))
