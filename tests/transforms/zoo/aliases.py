"""Several names for one memory."""

from collections import namedtuple

import numpy as np
from numba import njit

from tests.transforms.zoo import program
from tests.transforms.zoo.loops import some

A = np.array


@program(lambda: (A([1.0, 2.0, 3.0]),), expected=(A([0.0, 12.0, 0.0]),))
@njit
def second_name(x):
    v = x
    v[0] = x[1] * 3.0
    return x[0] * x[1] - v[0] * 0.0 + v[2] * 0.0


@njit
def first_doubles_second_reads(a, b):
    s = 0.0
    for i in range(a.size):
        a[i] = 2.0 * a[i]
        s += a[i] * b[i]
    return s


@program(lambda: (A([1.0, 2.0]),), expected=(A([8.0, 16.0]),))
@njit
def one_array_for_two_parameters(x):
    return first_doubles_second_reads(x, x)


@program(lambda: (some(5),))
@njit
def overlapping_views_for_two_parameters(x):
    return first_doubles_second_reads(x[1:], x[:-1])


@program(lambda: (some(5),))
@njit
def disjoint_views_for_two_parameters(x):
    return first_doubles_second_reads(x[3:], x[:2]) * x[2]


@program(lambda: (A([1.0, 2.0, 3.0]),), expected=(A([36.0, 18.0, 12.0]),))
@njit
def head_and_tail(x):
    a = x.copy()
    head = a[:2]
    tail = a[1:]
    head *= 2.0
    tail *= 1.5
    return a[0] * tail[0] * a[2] * (2.0 / 3.0)


@program(lambda: (some(3), some(3) + 1.0, 0.5))
@njit
def alias_by_branch(a, b, c):
    v = a
    if c > 0.0:
        v = b
    v[0] = c * a[1]
    b[1] = v[0] * v[2]
    return np.sum(a * b)


@program(lambda: (some(3), 4))
@njit
def previous_and_current(x, n):
    current = x
    previous = x
    for _ in range(n):
        following = current * 0.9 + previous * x
        previous = current
        current = following
        current[0] = previous[1]
    return np.sum(current * previous)


@program(lambda: (some(3),))
@njit
def tuple_of_one_array_twice(x):
    t = (x, x)
    t[0][0] = x[1] * x[2]
    return t[1][0] * x[0] + t[1][2]


@program(lambda: (some(3), some(3) - 2.0))
@njit
def tuple_of_arrays_unpacked(x, y):
    pair = (x, y)
    a, b = pair
    a[1] = b[0] * a[0]
    return x[1] * y[1] + pair[0][1]


Body = namedtuple("Body", ["position", "mass"])


@program(lambda: (some(3), 0.7))
@njit
def named_tuple_holds_the_array(x, m):
    body = Body(x, m)
    body.position[0] = body.mass * x[1]
    return np.sum(x * body.position) * body.mass


@program(lambda: (some(3),), loud_is_fine=True)
@njit
def list_holds_views(x):
    parts = [x[:2], x[1:]]
    parts[0][1] = x[0] * 2.0
    parts[1][1] = parts[0][1] * x[1]
    return np.sum(x * x)


@njit
def same_array(v):
    return v


@njit
def tail_of(v):
    return v[1:]


@program(lambda: (some(4), 0.6))
@njit
def alias_from_a_helper(x, c):
    y = same_array(x)
    z = tail_of(y)
    z[0] = c
    y[0] *= z[0]
    return np.sum(x * x * x)


@program(lambda: (some(4),))
@njit
def swapped_aliases(x):
    a = x[:2]
    b = x[2:]
    a, b = b, a
    a[0] = b[0] * b[1]
    b[:] = a * 2.0
    return x[0] * x[1] * x[2] * x[3]


@program(lambda: (some(4),))
@njit
def swaps_in_a_loop_under_a_condition(x):
    a = x.copy()
    b = x * x
    for i in range(x.size):
        if x[i] > 0.0:
            a, b = b, a
        a[i] += b[i - 1] * 0.5
    return np.sum(a * x) + b[0]


@program(lambda: (some(6).reshape(2, 3),))
@njit
def rows_exchanged(m):
    first = m[0].copy()
    m[0] = m[1]
    m[1] = first * 2.0
    m[0, 0] *= m[1, 0]
    return m[0, 0] * m[0, 1] + m[1, 2] ** 2


@program(lambda: (some(4),))
@njit
def written_while_iterated(x):
    s = 0.0
    i = 0
    for v in x:
        s += v * v
        if i + 1 < x.size:
            x[i + 1] += 0.5 * v
        i += 1
    return s


@program(lambda: (some(4), 0.3))
@njit
def view_outlives_its_name(x, c):
    y = x * c
    w = y[1:]
    y = x * x
    w[0] += y[0]
    return np.sum(w) * y[1]


@program(lambda: (some(4),))
@njit
def interleaved_views(x):
    even = x[::2]
    odd = x[1::2]
    even += odd * odd
    odd *= even
    return x[0] * x[1] + x[2] * x[3]


@program(lambda: (some(4),))
@njit
def reversed_view_written(x):
    r = x[::-1]
    for i in range(x.size):
        r[i] = r[i] * x[0]
    return np.sum(x)
