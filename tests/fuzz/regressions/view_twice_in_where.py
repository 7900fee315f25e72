# fuzz: seed 377; float64; float array:4 array:4 int
import numpy as np
from numba import njit


@njit
def f(x, a, b, n):
    a = 0.9 * a[:]
    x = np.sum(np.where(a[0:4] > 1.27, a[0:4], a))
    return x
