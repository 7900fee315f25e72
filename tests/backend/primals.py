"""Functions in a module that can be imported, as users have them."""

from numba import njit


@njit
def product(x, y=2.0):
    return x * y


@njit
def total(*xs):
    s = 0.0
    for i in range(len(xs)):
        s += xs[i]
    return s


@njit
def single(x):
    return x


class Callable:
    """An object that Python can call and Numba cannot."""

    def __call__(self, x):
        return x
