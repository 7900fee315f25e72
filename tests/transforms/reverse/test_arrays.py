"""Loads, stores and views backwards."""

import numpy as np
import pytest
from numba import njit

import jitgrad
from tests.transforms.reverse.harness import Cases, compare, some, source

cases = Cases()


@cases(some(3))
def arrays_of_lists_tuples_and_numbers(x):
    pair = np.asarray([x[0], x[1] ** 2])
    pair[0] *= x[2]
    return pair.sum() * np.asarray((x[2], x[0])).sum() + np.asarray(x[1])[()] ** 2


@cases(some(5), 0.5)
def increments(a, x):
    s = 0.0
    for i in range(5):
        for j in range(5):
            a[i] = a[i] + a[j] * x
            s += a[i] * a[i]
    return s


@cases(some(5), 0.5)
def parts_of_one_of_two_complex_arrays(a, x):
    z = a * (1 + 2j)
    w = a * a * (x - 1j)
    r = z.real if x > 0.0 else w.real
    first = z[0]
    r[0] = a[1] * x
    return abs(first * z[0]) ** 2 + np.sum(np.abs(z) ** 2) + np.sum(np.real(w) * np.imag(w) * a.imag + a.real)


@cases(some(5), 0.5)
def all_of_broadcast_arrays(a, x):
    c, d = np.broadcast_arrays(a, a[:2].reshape(2, 1) * x)
    return np.sum(c * d * c)


@cases(some(5), 0.5)
def broadcast_again_after_a_write(a, x):
    s = x
    for i in range(3):
        b = np.broadcast_to(a, (2, 5))
        s = s + np.sum(b * b) * x
        a[i] = s * a[i + 1] * 0.1
    return s + np.sum(a)


@cases(some(5), np.arange(5), 0.5)
def part_that_a_variable_picks(a, k, x):
    parts = (a[:3], a[2:])
    s = x
    for i in range(k.size - 2):
        a[k[i]] = a[k[i + 1]] * s
        v = parts[i % 2]
        s = s + v[0] * v[2] + np.sum(v * v)
        k[i + 2] = 0
    return s + np.sum(a * a)


@cases(some(5), 0.5)
def made_complex(a, x):
    z = a.astype(np.complex128)
    z.imag[:] = a * x
    return np.sum(np.abs(z) ** 2) + z.real[1] * z.imag[2]


PAIR = np.dtype([("k", np.int64), ("j", np.int64)])


def test_integer_fields_of_records_that_are_written_under_two_names():
    @njit
    def f(x, records):
        s = 0.0
        names = records.k
        for i in range(x.size - 1):
            s += x[records[i].k] ** 2
            records[i + 1].k = 0
            s += x[names[i + 1]] * x[names[i]] * x[records[i].j]
            names[i] = 1
        return s

    def fresh():
        return np.array([(k, k) for k in range(5)], PAIR)

    x = some(5)
    found = jitgrad.grad(f)(x, fresh())
    for k in range(5):
        up, down = x.copy(), x.copy()
        up[k], down[k] = up[k] + 1e-5, down[k] - 1e-5
        assert np.isclose(found[k], (f(up, fresh()) - f(down, fresh())) / 2e-5, rtol=1e-7)


@cases(some(5), 0.5)
def decrements(a, x):
    for i in range(5):
        for j in range(5):
            a[i] = a[i] - a[j] * x
    return a[0] * a[1] + a[2] * a[3] * a[4]


@cases(some(5), 0.5)
def increment_with_a_store_between(a, x):
    for i in range(4):
        t = a[i]
        a[i + 1] = t * x
        a[i] = t + a[i + 1] * a[0]
    return a[0] * a[1] + a[2] * a[3] * a[4]


@cases(some(5), 0.5)
def increment_after_a_store_to_the_place(a, x):
    for i in range(4):
        t = a[i]
        a[0] = t * x
        a[i] = t + a[i + 1] * a[0]
    return a[0] * a[1] + a[2] * a[3] * a[4]


@cases(some(5), 0.5)
def increment_whose_sum_is_read(a, x):
    s = 0.0
    for i in range(4):
        t = a[i] + x * a[i + 1]
        a[i] = t
        s += t * t
    return a[0] * a[1] + a[2] * a[3] * a[4] + s


@cases(some(5), 0.5)
def increment_by_a_constant(a, x):
    s = 0.0
    for i in range(4):
        a[i] = a[i] + 1.0
        s += a[i] * a[i] * x
    return s


@cases(some(5).astype(np.float32), 0.5, rtol=2e-3)
def increment_of_single_precision(a, x):
    for i in range(4):
        a[i] += x * a[i + 1]
    return a[0] * a[1] + a[2] * a[3] * a[4]


@cases(some(6), np.array([0, 2, 0]), some(3) + 2, wrt=(0, 2))
def store_at_repeated_places(a, k, v):
    a[k] = v * v
    return np.sum(a * a * a)


@cases(some(6), np.array([0, 2, 0]), 0.3, wrt=(0, 2))
def number_at_repeated_places(a, k, v):
    a[k] = v * v
    return np.sum(a * a * a)


@cases(some(6).reshape(3, 2), np.array([0, 2, 0]), some(6).reshape(3, 2) + 2, wrt=(0, 2))
def rows_at_repeated_places(a, k, v):
    a[k] = v * v
    return np.sum(a * a * a)


@cases(some(6).reshape(3, 2), np.array([0, 2, 0]), some(2) + 2, wrt=(0, 2))
def one_row_at_repeated_places(a, k, v):
    a[k] = v * v
    return np.sum(a * a * a)


@cases(some(6), np.array([0, 2, 0]), 0.5, wrt=(0, 2))
def gather_and_scatter_in_a_loop(a, k, c):
    s = 0.0
    for i in range(3):
        k[1] = i
        b = a[k]
        a[k] = b * c
        s += np.sum(b * b)
    return s + np.sum(a)


@cases(some(6), np.array([0, 2, 0]), 0.5, wrt=(0, 2))
def update_at_repeated_places(a, k, c):
    a[k] += c * c
    a[k] *= 1.5
    return np.sum(a * a)


@cases(some(6), some(6) + 0.1, 0.5)
def store_under_a_mask(a, v, c):
    m = a > 0
    a[m] = v[m] * c
    return np.sum(a * a * a)


@cases(some(6).reshape(2, 3), 0.5)
def number_under_a_mask(a, c):
    a[a > 0.2] = c
    return np.sum(a * a * a)


@cases(some(6).reshape(2, 3), some(3), 0.3)
def broadcast_stores(m, v, c):
    m[:] = v * c
    m[1, 1:] = c
    m[:, 0] = v[:2] * v[1:]
    return np.sum(m * m)


@cases(some(6), 0.3)
def stores_with_steps(a, c):
    a[::2] = a[1::2] * c
    a[4:1:-1] = a[0:3] * a[3:6]
    return np.sum(a * a)


@cases(some(6).reshape(2, 3), 0.3)
def rows_stored(m, c):
    m[0] = m[1] * c
    m[1] = m[0] * m[1]
    m[-1, -1] = m[0, 0] * m[-1, -1]
    return np.sum(m * m * m)


@cases(some(6).reshape(2, 3), some(3))
def store_with_a_new_axis(m, v):
    m[:] = v[None, :] * v[0]
    return np.sum(m * m * m)


@cases(some(4), 0.3)
def fill(a, c):
    b = a * c
    b.fill(c * c)
    b[0] = a[0]
    b[1:].fill(a[1])
    return np.sum(b * b)


@cases(some(4), 0.3)
def whole_array_stored(a, c):
    b = np.empty_like(a)
    b[:] = c
    b[...] = b * a
    return np.sum(b * b)


@cases(some(4), 0.3)
def ascontiguousarray_is_the_array(x, c):
    b = np.ascontiguousarray(x)
    b[0] = c
    return x[0] * x[1] + b[1]


@cases(some(4), 0.3)
def asarray_is_the_array(x, c):
    b = np.asarray(x)
    b[0] = c
    return x[0] * x[1] + b[1]


@cases(some(4), 0.3)
def ravel_is_a_view(x, c):
    b = np.ravel(x)
    b[0] = c
    return x[0] * x[1] + b[1]


@cases(some(4).reshape(2, 2), 0.3)
def ravel_method_is_a_view(x, c):
    b = x.ravel()
    b[0] = c
    return x[0, 0] * x[0, 1] + b[1]


@cases(some(4), 0.3)
def flatten_is_a_copy(x, c):
    b = x.flatten()
    b[0] = c
    return x[0] * x[1] + b[1] * b[0]


@cases(some(4), 0.3)
def astype_is_a_copy(x, c):
    b = x.astype(np.float64)
    b[0] = c
    return x[0] * x[3] + b[1] * b[0]


@cases(some(4), 0.3)
def real_of_reals_is_the_array(x, c):
    b = x.real
    b[0] = c
    return x[0] * x[1] + b[1] * b[0]


@cases(some(4), 0.3)
def expand_dims_is_a_view(x, c):
    b = np.expand_dims(x, 0)
    b[0, 0] = c
    return x[0] * x[1] + b[0, 1] * b[0, 0]


@cases(some(4), 0.3)
def flip_is_a_view(x, c):
    b = np.flip(x)
    b[0] = c
    return x[0] * x[3] + b[1] * b[0]


@cases(some(4), 0.3)
def ellipsis_is_a_view(x, c):
    b = x[...]
    b[0] = c
    return x[0] * x[3] + b[1] * b[0]


@cases(some(4), 0.3)
def newaxis_is_a_view(x, c):
    b = x[None, :]
    b[0, 0] = c
    return x[0] * x[3] + b[0, 1] * b[0, 0]


@cases(some(4).reshape(2, 2), 0.3)
def swapaxes_is_a_view(x, c):
    b = np.swapaxes(x, 0, 1)
    b[0, 1] = c
    return x[1, 0] * x[1, 1] + b[0, 1]


@cases(some(4), 0.3)
def atleast_1d_is_the_array(x, c):
    b = np.atleast_1d(x)
    b[0] = c
    return x[0] * x[1] + b[1] * b[0]


@cases(some(4), 0.3)
def atleast_2d_is_a_view(x, c):
    b = np.atleast_2d(x)
    b[0, 0] = c
    return x[0] * x[1] + b[0, 1] * b[0, 0]


@cases(some(4).reshape(2, 2), 0.3)
def iterated_flat(x, c):
    s = 0.0
    for v in x.flat:
        s += v * v * c
    return s


@cases(some(6).reshape(2, 3).T, 0.4)
def transposed_argument(m, c):
    s = c
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s = s * 0.5 + m[i, j] * m[i, j - 1]
            m[i, j] = s
    return s + np.sum(m * c)


@cases(some(9)[::2], 0.4)
def strided_argument(m, c):
    s = c
    for i in range(m.shape[0]):
        s = s * 0.5 + m[i] * m[i]
        m[i] = s
    return s + np.sum(m * c)


@cases(some(6), 0.3)
def loads_around_stores(v, c):
    s = v[0] * c
    for i in range(3):
        s += v[0] * c
        v[i] = s
    return s + v[0] * c


@cases(np.array(0.7), some(2))
def array_without_axes(z, v):
    m = np.zeros((2, 2))
    m[:] = z
    m += z
    m[0] *= v
    y = z.copy()
    y[()] = y[()] * m[0, 1]
    return np.sum(m * m) * y[()] + z[()]


@cases(some(12).reshape(3, 4), 0.7)
def index_arrays_beside_other_items(m, c):
    k, mask = np.array([2, 0, 0, -1]), m[0] > -0.5
    loads = m[k, 1] * m[1, k] + m[k[:2], :2].sum() + m[0, mask].sum() * m[:, k[1:3]].sum()
    b = m * c
    b[k, 0] = m[0]  # the last store wins
    b[1, mask] = c
    b[k[:2], 1:] = m[:2, 1:] * c
    b[..., k[:2]] *= m[2, 3]
    return np.sum(b * b) * loads[0] + loads[1] * loads[3]


@cases(some(12).reshape(2, 3, 2), 0.7)
def several_index_arrays(t, c):
    i, j = np.array([[0], [1]]), np.array([1, 2, 1])
    apart = t[i, :, j[:2] - 1] * t[0, :, j - 1][:2, :2].sum()
    u = t * c
    u[:, j, np.array([0, 1, 1])] = t[:, 0, :1]
    u[0, None, j, 0] += c
    return np.sum(apart * u[:, :2].sum()) + np.sum(u * u)


@cases(some(6), 0.7)
def whole_of_a_strided_view(x, c):
    y = x * c
    y[::-2][...] = x[:3] * y[1]
    return np.sum(y * y)


@cases(some(9).reshape(3, 3), some(2), 0.7)
def diagonals_are_filled(m, v, c):
    a, b = m.copy(), m.T.copy()
    np.fill_diagonal(a, c * c)
    np.fill_diagonal(b, v)
    return np.sum(a * b) + a[0, 0] * b[1, 1]


@cases(some(6).reshape(2, 3), 0.7)
def sorted_in_place(m, c):
    y = m * c
    y.sort()
    return y[0, 0] * y[1, 2] + np.sum(y[0] * m[0])


@cases.each
def test_against_differences(case):
    case.check()


UPDATES = [
    "a[1:] += a[:-1]",
    "a[1:] *= a[:-1]",
    "a[:-1] -= a[1:]",
    "a += a[::-1]",
    "a *= a[::-1]",
    "a += a",
    "a /= a[0:1] + a",
    "a -= a * a[0]",
    "a **= 2",
    "a *= a[1]",
    "a[1:] = a[:-1]",
    "a[:] = a[::-1]",
    "a[::2] = a[1::2]",
    "a[1:3] = a[0:2] * a[1:3]",
]


def test_updates_of_overlapping_parts():
    """Compiled: Numba updates element by element, NumPy does not."""
    lines = ["def f(a, c):", "s = 0.0"]
    for update in UPDATES:
        lines += ["a[:] = 1.5 + 0.3 * np.sin(a + c)", update, "s += 0.1 * (a[0] * a[1] + a[2] * a[3] * a[3])"]
    text = "\n    ".join([*lines, "return s"])
    namespace = {"np": np}
    exec(text, namespace)
    f = njit(namespace["f"])
    compare(jitgrad.value_and_grad(f, (0, 1)), f, (some(4) + 1.05, 0.7), (0, 1))


def test_updates_by_parts_that_a_branch_picks():
    @njit
    def f(a, c):
        y = a * c
        w = y[1:] if c > 0.0 else y[:-1]
        v = y[:-1]
        w *= v
        w += v
        v /= w
        return np.sum(y * a)

    compare(jitgrad.value_and_grad(f, (0, 1)), f, (some(5) + 1.05, 0.7), (0, 1))


def test_updates_of_overlapping_parts_of_matrices():
    @njit
    def f(m, c):
        m *= c
        m += m.T
        m *= m[0]
        m[:, 0] *= m[0]
        m /= m[:, 0:1] + 2.0
        m[:] = m.T
        m[0] = m[:, 0]
        m[1:, :] += m[:-1, :]
        return np.sum(m * m) + m[1, 0] * m[0, 1]

    compare(jitgrad.value_and_grad(f, (0, 1)), f, (some(4).reshape(2, 2) + 1.05, 0.7), (0, 1))


def test_an_increment_adds_and_forgets_nothing():
    def f(x, k):
        a = np.zeros(3)
        for i in range(x.size):
            a[k[i]] += x[i]
        return a[0] * a[1] * a[2]

    text = source(f, some(4), np.array([0, 1, 2, 0]), wrt=(0,))
    assert "] = 0.0" not in text


def test_a_mask_of_several_axes_beside_other_items_is_refused():
    def f(a, mask, x):
        a[mask, 0] = x
        return np.sum(a * a)

    with pytest.raises(jitgrad.UnsupportedError, match="index with the mask alone"):
        source(f, some(8).reshape(2, 2, 2), np.eye(2) > 0, 0.7, wrt=(0, 2))


def test_memory_that_changes_while_it_is_in_use_elsewhere_is_refused():
    def broadcast(a):
        b = np.broadcast_to(a, (2, 4))
        a[0] = 2.0
        return np.sum(b * b)

    def picked(a, k):
        v = (a[:2], a[2:])[k]
        v[0] = 2.0 * a[1]
        return np.sum(a * a)

    def picked_with_another(a, k):
        v = ((1.0, a[:2]), (2.0, a[2:]))[k][1]
        a[1] = 2.0 * a[0]
        return np.sum(v * v)

    def reinterpreted(a):
        k = np.arange(4)
        k.view(np.int32)[2] = 0
        return a[k[1]]

    for function, args, message in (
        (broadcast, (), "writes into memory that the result of np.broadcast_to in line .* shares"),
        (picked, (1,), "an array that a variable picks from a tuple is written in place"),
        (picked_with_another, (1,), "an array that a variable picks from a tuple is written in place"),
        (reinterpreted, (), "may write into memory that the method view in line .* reinterprets"),
    ):
        with pytest.raises(jitgrad.UnsupportedError, match=message):
            source(function, some(4), *args, wrt=(0,))
