# fuzz: seed 44; float64; float array:3 array:3 int
import numpy as np
from numba import njit


@njit
def f(x, a, b, n):
    v = a[1:]
    v *= x
    for i in range(3):
        a, b = b, a
        v[0] += b[1]
    return np.sum(np.sin(a)) + v[0] * b[0]
