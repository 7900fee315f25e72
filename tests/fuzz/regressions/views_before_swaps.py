# fuzz: seed 43; float64; float array:3 array:3 int
import numpy as np
from numba import njit


@njit
def f(x, a, b, n):
    a[:-1] += a[0:2]
    for i in range(3):
        a, b = b, a
    return np.sum(np.sin(a))
