"""Arrays written in place."""

import math

import numpy as np
from numba import njit

from tests.transforms.zoo import program
from tests.transforms.zoo.loops import some

A = np.array


@program(lambda: (A([2.0, 3.0]),), expected=(A([4.0, 0.0]),))
@njit
def overwritten_argument(x):
    x[1] = x[0]
    return x[0] * x[1]


@program(lambda: (some(4), A([1.0, 2.0, 3.0, 4.0])), wrt=(0, 1), outs=(1,))
@njit
def adds_to_its_output(x, out):
    for i in range(x.size):
        out[i] += x[i] * x[i - 1]


@program(lambda: (some(4), np.zeros(4)), wrt=(0,), outs=(1,))
@njit
def value_and_output(x, out):
    s = 0.0
    for i in range(x.size):
        out[i] = math.sin(x[i])
        s += out[i] * x[0]
    return s


@njit
def doubles(v):
    v *= 2.0


@program(lambda: (some(4),))
@njit
def helper_writes(x):
    doubles(x)
    s = x[0] * x[1]
    doubles(x[1:])
    return s + x[0] * x[1] * x[2]


@njit
def scaled_in_place(v, c):
    for i in range(v.size):
        v[i] *= c
    return v


@program(lambda: (some(4), 0.7))
@njit
def helper_returns_what_it_wrote(x, c):
    y = scaled_in_place(x, c)
    y[0] = y[0] * y[1]
    return x[0] + x[1] * x[2]


@program(lambda: (some(6).reshape(2, 3), 0.6))
@njit
def row_written(m, c):
    for i in range(m.shape[0]):
        row = m[i]
        for j in range(1, row.size):
            row[j] *= row[j - 1] * c
    return np.sum(m)


@program(lambda: (some(6).reshape(3, 2),))
@njit
def column_written(m):
    column = m[:, 1]
    column[:] = column * m[:, 0]
    column += 1.0
    return np.sum(m * m)


@program(lambda: (some(5), 0.6))
@njit
def overlap_to_the_right(a, s):
    a[1:] = a[:-1] * s
    return np.sum(a * a)


@program(lambda: (some(5),))
@njit
def overlap_to_the_right_plain(a):
    a[1:] = a[:-1]
    a[2:] = a[:-2]
    return a[0] * a[1] + a[2] * a[3] * a[4]


@program(lambda: (some(5),))
@njit
def overlap_to_the_left(a):
    a[:-1] = a[1:]
    return a[0] * a[1] * a[2] + a[3] * a[4]


@program(lambda: (some(4),))
@njit
def reversed_into_itself(a):
    a[:] = a[::-1]
    return a[0] * a[1] * a[1] - a[2] + a[3] ** 3


@program(lambda: (some(5),))
@njit
def adds_its_neighbours(a):
    a[1:-1] += a[:-2] * a[2:]
    return np.sum(a * a)


@program(lambda: (some(4),))
@njit
def prefix_sums_in_place(x):
    for i in range(1, x.size):
        x[i] += x[i - 1] * x[i]
    return x[-1]


@program(lambda: (0.4, 0.9))
@njit
def stored_over_and_over(x, y):
    a = np.zeros(2)
    for i in range(5):
        a[0] = a[1] * x + i
        a[1] = a[0] * y
    return a[0] + a[1] * a[1]


@program(lambda: (A([1.0, 2.0, 3.0]),), expected=(A([0.0, 0.0, 0.0]),))
@njit
def forgets_everything(x):
    x[:] = 0.0
    return np.sum(x * x) + np.sum(x)


@program(lambda: (A([1.0, 2.0, 3.0]),), expected=(A([0.0, 3.0, 2.0]),))
@njit
def forgets_one(x):
    x[0] *= x[1]
    x[0] = 5.0
    return x[0] + x[1] * x[2]


@program(lambda: (some(3) + 2.0, 1.4))
@njit
def augmented_of_every_kind(a, c):
    a += c
    a *= a
    a -= 0.5 * c
    a /= c + a
    a **= 2
    return a[0] * a[1] + a[2]


@program(lambda: (some(8), 3))
@njit
def scratch_is_reused(x, n):
    tmp = np.empty(n)
    s = 0.0
    for i in range(x.size - n):
        for j in range(n):
            tmp[j] = x[i + j] * x[i]
        for j in range(1, n):
            tmp[j] += tmp[j - 1] * tmp[j]
        s += tmp[n - 1]
    return s


@program(lambda: (some(4),))
@njit
def allocates_in_a_loop(x):
    s = 0.0
    for i in range(x.size):
        local = np.zeros(3)
        local[0] = x[i]
        local[1] = local[0] * x[0]
        local[2] = local[1] * local[1]
        s += local[2] * local[0]
    return s


@program(lambda: (some(5), 0.3, 3))
@njit
def swapped_buffers(u, k, steps):
    a = u.copy()
    b = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, u.size - 1):
            b[i] = a[i] + k * (a[i - 1] - 2.0 * a[i] + a[i + 1]) * a[i]
        a, b = b, a
    return np.sum(a * a) + b[1]


@program(lambda: (some(4), 4))
@njit
def three_buffers_rotate(x, n):
    a, b, c = x.copy(), x * 0.5, np.ones_like(x)
    for _ in range(n):
        for i in range(x.size):
            c[i] = 2.0 * b[i] - a[i] * x[i]
        a, b, c = b, c, a
    return np.sum(a * b) + c[0]


@program(lambda: (some(7),))
@njit
def ring_buffer(x):
    ring = np.zeros(3)
    s = 0.0
    for i in range(x.size):
        ring[i % 3] = x[i] * x[i]
        s += ring[(i + 1) % 3] * x[i]
    return s


@program(lambda: (some(12).reshape(3, 4), 0.2))
@njit
def gauss_seidel(u, c):
    for _ in range(2):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = c * u[i, j] * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return np.sum(u * u)


@program(lambda: (some(9).reshape(3, 3) + 3.0 * np.eye(3),))
@njit
def elimination_in_place(a):
    n = a.shape[0]
    out = 0.0
    for k in range(n):
        out += math.log(abs(a[k, k]))
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
    return out


@program(lambda: (A([0.3, -1.0, 2.0, 0.1]), A([1.0, 2.0, 3.0, 4.0])))
@njit
def bubble_sort(x, w):
    n = x.size
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    s = 0.0
    for i in range(n):
        s += w[i] * x[i] * x[i]
    return s


@program(lambda: (some(5), A([2, 0, 2, 1, 2])), wrt=(0,))
@njit
def scatter_to_repeated_places(x, k):
    bins = np.zeros(3)
    for i in range(x.size):
        bins[k[i]] += x[i] * x[i]
        bins[k[i]] *= 1.1
    return bins[0] * bins[1] + bins[2] ** 2


@program(lambda: (some(6), 0.2))
@njit
def mask_assigned(x, t):
    y = x * x
    y[x > t] = t * 2.0
    y[x < -0.5] *= 3.0
    return np.sum(y * x)


@program(lambda: (some(4), 0.4))
@njit
def negative_indices(x, c):
    x[-1] = x[-2] * c
    x[-3] += x[-1]
    k = -2
    x[k] *= x[0]
    return np.sum(x * x)


@program(lambda: (some(5),))
@njit
def view_of_a_view(a):
    b = a[1:]
    c = b[1:]
    c[0] = a[0] * b[0]
    b[2] = c[0] * c[0]
    return np.sum(a * a)


@program(lambda: (some(6).reshape(2, 3),))
@njit
def transposed_view_written(m):
    t = m.T
    t[0, 1] = m[0, 1] * m[1, 2]
    t[2] *= 2.0
    return np.sum(m * m)


@program(lambda: (some(6).reshape(3, 2).T, 0.7), wrt=(0, 1))
@njit
def elements_by_number_written(m, c):
    flat = m.flat
    for k in range(m.size):
        flat[k] = m.flat[k] * c + k * flat[0]
    m.flat[3] += m[0, 1] * c
    return np.sum(m * m) + np.cov(m[0])


@program(lambda: (some(6).reshape(2, 3), 0.3))
@njit
def flattened_view_written(m, c):
    flat = m.reshape(6)
    flat[1] = flat[0] * c
    flat[4:] *= m[0, 0]
    return np.sum(m * m)


@program(lambda: (some(3), 0.7))
@njit
def copy_is_independent(a, c):
    b = a.copy()
    b[0] = c
    a[1] = c * c
    return a[0] * b[1] + b[0] * a[1]


@program(lambda: (0.7,))
@njit
def element_of_an_element(x):
    m = np.zeros((2, 2))
    m[0][1] = x
    m[1][0] = m[0][1] * x
    m[1] += m[0]
    return m[1, 0] * m[1, 1]


@program(lambda: (some(4), A([3, 0, 3])), wrt=(0,))
@njit
def gathers_and_scatters(x, k):
    y = x[k] * x[:3]
    z = np.zeros(4)
    for i in range(3):
        z[k[i]] = y[i]
    return np.sum(z * z)


@program(lambda: (some(4), 0.4))
@njit
def slice_bounds_from_data(x, c):
    n = 0
    for v in x:
        if v > 0.0:
            n += 1
    head = x[:n]
    head *= c
    x[n:] += head[0]
    return np.sum(x * x * x)


@program(lambda: (some(3), 2.0))
@njit
def full_of_a_scalar(x, c):
    y = np.full(3, c)
    y[1] = x[1]
    y += x
    z = np.full_like(y, x[0])
    return np.sum(y * z)
