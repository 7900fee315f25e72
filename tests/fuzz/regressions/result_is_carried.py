# fuzz: seed 1; float64; float array:4
from numba import njit


@njit
def f(x, a):
    p = x
    for i in range(a.size):
        p *= a[i]
    return p
