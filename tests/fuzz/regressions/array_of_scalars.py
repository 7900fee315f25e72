# fuzz: seed 2; float64; float array:2
import numpy as np
from numba import njit


@njit
def f(x, a):
    for i in range(3):
        k = np.array([-x * a[0] * a[1], x * a[0] - a[1]])
        a = a + 0.1 * k
    return a[0] * a[1]
