"""Sizes, memory layouts, dtypes and broadcasting."""

import math

import numpy as np
from numba import njit

from tests.transforms.zoo import program
from tests.transforms.zoo.loops import some

A = np.array


@njit
def squares(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i] * (i + 1)
    return s


@program(lambda: (np.zeros(0), 1.5), expected=(np.zeros(0), 3.0))
@njit
def empty_array(x, c):
    s = 0.0
    for v in x:
        s += v
    return s + np.sum(x * c) + c * c


@program(lambda: (np.zeros((0, 3)), 2.0), expected=(np.zeros((0, 3)), 1.0))
@njit
def empty_matrix(m, c):
    y = m * c
    return np.sum(y) + c + y.shape[1]


@program(lambda: (A([3.0]),), expected=(A([6.0]),))
@njit
def one_element(x):
    return x[0] * x[-1]


@program(lambda: (A([2.0]), A([1.0, 2.0, 3.0])), expected=(A([6.0]), A([2.0, 2.0, 2.0])))
@njit
def size_one_is_broadcast(a, b):
    return np.sum(a * b)


@program(lambda: (A([[2.0], [3.0]]), A([[1.0, 4.0, 5.0]])), expected=(A([[10.0], [10.0]]), A([[5.0, 5.0, 5.0]])))
@njit
def outer_by_broadcasting(a, b):
    return np.sum(a * b)


@program(lambda: (A([2.0, 3.0]), np.ones((3, 2))), outs=(1,))
@njit
def row_broadcast_into_a_matrix(v, m):
    m *= v
    m[1:] = v * v


@program(lambda: (A([2.0]), np.ones(3), 0.5), outs=(1,))
@njit
def size_one_slice_assigned(v, out, c):
    out[:] = v * c
    out[1:] += v


@program(lambda: (some(8)[::2], 0.5))
@njit
def strided_argument(x, c):
    x[1] = x[0] * c
    return squares(x)


@program(lambda: (some(5)[::-1],))
@njit
def reversed_argument(x):
    return squares(x) * x[0]


@program(lambda: (some(24).reshape(4, 6)[::2, 1::2],))
@njit
def strided_matrix(m):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s += m[i, j] ** 2 * (i + 2 * j + 1)
    return s


@program(lambda: (np.asfortranarray(some(6).reshape(2, 3)), some(3)))
@njit
def fortran_order(m, v):
    m[1, 0] = m[0, 1] * v[0]
    return np.sum(m * v)


@program(lambda: (some(6).reshape(2, 3).T,))
@njit
def transposed_argument(m):
    s = 0.0
    for row in m:
        s = s * 0.5 + row[0] * row[1]
    return s


def read_only(array):
    array.flags.writeable = False
    return array


@program(lambda: (read_only(some(4)), 0.5))
@njit
def read_only_argument(x, c):
    return squares(x) * c


@program(lambda: (some(4).astype(np.float32), np.float32(0.7)), rtol=1e-3)
@njit
def single_precision(x, c):
    s = np.float32(0.0)
    for i in range(x.size):
        s += c * x[i] * x[i]
    return s


@program(lambda: (some(4).astype(np.float32), 0.7), rtol=1e-3)
@njit
def mixed_precision(x, c):
    s = 0.0
    for i in range(x.size):
        s += math.sin(c * x[i])
    x[0] = s
    return s * x[0]


@program(lambda: (A(1.5), 2.0))
@njit
def zero_dimensional(x, c):
    y = x.copy()
    y[()] *= c
    return np.sum(np.array([1.0, c]) * y) * x + np.exp(y)


@program(lambda: (some(3), A([1, 2, 3]), 2), wrt=(0,))
@njit
def integers_beside(x, k, n):
    s = 0.0
    for i in range(x.size):
        s += x[i] ** k[i] / n + k[i] // n
    return s


@program(lambda: (0.3, 1.2))
@njit
def complex_inside(x, y):
    z = complex(x, y)
    w = z * z + 2.0 / z
    return w.real * abs(w) + w.imag


@program(lambda: (some(3), some(3) + 2.0))
@njit
def returns_an_array(x, y):
    out = np.empty(3)
    for i in range(3):
        out[i] = x[i] / y[2 - i]
    return out


@program(lambda: (some(4), 0.5))
@njit
def returns_a_view(x, c):
    y = x * c
    y[0] = y[3] * y[3]
    return y[::2]


@program(lambda: (some(4), 0.5))
@njit
def returns_a_tuple(x, c):
    y = x * c
    return y[0] * y[1], y, 3, c * c


@program(lambda: (some(3),))
@njit
def returns_its_argument(x):
    x[0] = x[1] * x[2]
    return x


@program(lambda: (np.linspace(0.1, 2.4, 24).reshape(2, 3, 4),))
@njit
def three_dimensions(t):
    s = 0.0
    for i in range(t.shape[0]):
        plane = t[i]
        plane[1] *= plane[0, 0]
        s += plane[1, 2] * plane[2, 3]
    return s + t[-1, 1, 1]


@program(lambda: ((some(3), 0.5), 2.0), wrt=(0, 1))
@njit
def tuple_argument(params, c):
    w, b = params
    w[0] = b * c
    return np.sum(w * w) + b
