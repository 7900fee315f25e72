"""What the backward sweep gets from the forward sweep: live, recomputed or from a strip."""

import math

import numpy as np

from tests.transforms.reverse.harness import Cases, check, some, source, sweep

cases = Cases()


@cases(some(5), 0.7, 5)
def rectangular_nests(x, c, n):
    s = 1.0
    for i in range(n):
        for j in range(3):
            s = s * math.cos(s * c + x[i])
        for j in range(2):
            s = s + math.cos(s * c + x[j])
    return s


@cases(some(5), 0.7, 5)
def triangular_nests(x, c, n):
    s = 1.0
    for i in range(n):
        for j in range(i):
            for k in range(j):
                s = math.sin(s * x[k] + c) + x[i]
            s = s * math.cos(s)
    return s


@cases(some(5), np.array([1, 3, 0, 4, 2]), np.array([2, 4, 1, 0, 3]))
def parts_of_a_tuple_in_turn(x, left, right):
    y = np.zeros(5)
    s = 0.0
    for i in range(5):
        s += math.tanh(y[i])
        for k in (left[i], right[i]):
            if k > i:
                y[k] = y[i] * 0.5 + x[i] * x[k]
    return s


@cases(some(5), 0.7, 0)
def no_iteration(x, c, n):
    s = 1.0
    for i in range(n):
        for j in range(3):
            s = s * math.cos(s * c + x[i])
    return s * c


@cases(some(5), 0.7, -3)
def negative_count_inside(x, c, n):
    s = 1.0
    for i in range(5):
        for j in range(n):
            s = s * math.cos(s * c + x[i])
        s = s * math.cos(s)
    return s * c


@cases(some(5), 0.7)
def while_inside_while(x, c):
    s = 1.0
    k = 0
    while s < 30.0:
        j = 0
        while j < k:
            s = s * 1.1 + math.sin(s) * c + x[j]
            j += 1
        s = s + 1.0
        k += 1
        if k > 4:
            break
    return s


@cases(some(5), 0.7)
def break_out_of_huge_ranges(x, c):
    s = 1.0
    for i in range(2**40):
        s = s * 1.1 + math.sin(s) * c
        for j in range(2**40):
            s = s + math.sin(s) * x[j]
            if j > i or j == 3:
                break
        if s > 9.0 or i > 6:
            break
    return s


@cases(some(5), 0.07)
def arrays_by_block(x, c):
    s = 1.0
    for i in range(3):
        for j in range(2):
            z = np.exp(x * s)
            s = s * 0.1 + z[i] * z[j] * c
    return s


@cases(some(5), 0.7)
def matrices_by_block(x, c):
    s = 1.0
    m = np.outer(x, x)
    for i in range(3):
        z = np.exp(m * s)
        y = np.sin(z[:, 1])
        s = s * 0.1 + y[i] * z[2, 2] * c
    return s


@cases(some(6), 0.7)
def arrays_by_cursor(x, c):
    s = 1.0
    for i in range(3):
        for j in range(2):
            z = np.exp(x[i : 5 - j] * math.cos(s))
            s = s * 0.1 + z[0] * z[-1] * c
    return s


@cases(some(6), 0.7)
def arrays_by_cursor_in_while(x, c):
    s = 1.0
    i = 0
    while i < 4:
        z = np.exp(x[i:] * s)
        y = np.sin(z[1:] * z[:-1])
        s = s * 0.1 + z[0] * y[-1] * c
        i += 1
    return s


@cases(some(6), 0.7)
def arrays_by_cursor_in_branches(x, c):
    s = 1.0
    for i in range(5):
        if i % 2 == 0:
            z = np.exp(x[i:] * s)
            s = s * 0.1 + z[0] * z[-1] * c
        else:
            z = np.sin(x[:i] * s)
            s = s * 0.2 + z[0] * c
    return s


@cases(some(5), 0.7, 4)
def cursor_in_a_loop_that_sums(x, c, n):
    s = 0.0
    for i in range(n):
        z = np.exp(x[: i + 1] * c)
        s += z[i] * z[0]
    return s


@cases(some(6), 0.7)
def content_after_a_write_in_the_iteration(x, c):
    a = np.zeros(3)
    s = 0.0
    for i in range(4):
        a[:] = x[i : i + 3] * c
        s += np.dot(a, a)
        a[1] = s
        s += a[0] * a[1] * np.sum(a * a)
    return s


@cases(some(6), 0.3)
def inner_value_used_after_its_loop(v, c):
    s = 0.0
    for i in range(3):
        y = v[i] * c
        for j in range(2):
            y = y * math.cos(y)
            q = y * c
        s += y * q * i
    return s * y + q


@cases(some(6), 0.3)
def arrays_carried_by_while(v, c):
    s = c
    y = v * c
    n = 0
    while np.sum(y * y) < 3.0 and n < 6:
        y = y * 1.5 + s
        y[n] = c * y[0]
        s += y[n - 1] * 0.1
        n += 1
    return s + np.sum(y) * n


@cases(some(6), 0.3)
def array_of_one_arm(v, c):
    s = 0.0
    for i in range(4):
        if i > 1:
            b = v * s
        else:
            b = v[:3] * c
        s += b[0] * b[-1] + c
        s = s * np.sum(b * b)
    return s


@cases(some(4), 0.7)
def view_of_what_later_iterations_write(a, x):
    s = 0.0
    for i in range(3):
        a[i] *= x
        a[1] = a[1] * x
        v = a[i:]
        s += v[0] * v[0] * x
    return s


@cases(some(4), 0.7)
def view_read_by_an_inner_loop(a, x):
    s = 0.0
    for i in range(3):
        a[1] = a[1] * x
        v = a[i:]
        for j in range(v.size):
            s += v[j] * v[j] * x
    return s


@cases(some(6).reshape(3, 2), 0.7)
def row_written_in_every_epoch(a, x):
    s = 0.0
    for e in range(3):
        for i in range(3):
            row = a[i]
            row[0] = row[0] * x + row[1] * row[0]
            for j in range(2):
                s += row[j] * row[j] * x
    return s


@cases(some(4), 0.7)
def expression_of_a_view(a, x):
    s = 0.0
    for i in range(3):
        a[1] = a[1] * x
        v = a[i:]
        y = v * v
        for j in range(v.size):
            s += y[j] * x
    return s


@cases(some(4), 0.7)
def dot_of_a_view(a, x):
    s = 0.0
    for i in range(3):
        a[1] = a[1] * x
        v = a[i:]
        s += np.dot(v, v) * x
    return s


@cases(some(5), np.array([3, 1, 0, 2, 4]), wrt=(0,))
def integers_written_in_the_loop(x, k):
    s = 1.0
    for e in range(3):
        for i in range(x.size):
            k[i] = (k[i] + 1) % x.size
            s = s * 0.5 + x[k[i]] * x[k[i]] * s * (i + 1)
    return s


@cases(some(5), np.array([3, 1, 0, 2, 4]), wrt=(0,))
def integers_filled(x, k):
    s = 1.0
    for e in range(3):
        k.fill(e)
        for i in range(x.size):
            s = s * 0.5 + x[k[i]] * x[k[i]] * s
    return s


@cases(some(5), np.array([3, 1, 0, 2, 4]), wrt=(0,))
def integers_sorted(x, k):
    s = 1.0
    s *= x[k[0]]
    k.sort()
    s *= x[k[0]]
    for i in range(x.size):
        s = s * 0.5 + x[k[i]] * x[k[i]] * s
    return s


@cases(some(5), np.array([3, 1, 0, 2, 4]), np.array([0, 2]), wrt=(0,))
def integers_gathered(x, k, idx):
    a = k[idx]
    k[0] = 1
    b = k[idx]
    return x[a[0]] * x[b[0]] * x[b[0]]


@cases(some(5), np.array([3, 1, 0, 2, 4]), np.array([0, 2]), wrt=(0,))
def integers_gathered_in_a_loop(x, k, idx):
    s = 1.0
    for i in range(4):
        k[0] = i
        a = k[idx]
        for j in range(2):
            s = s * x[a[j]] + x[a[j]]
    return s


@cases(some(6), 0.3, np.arange(3), wrt=(0, 1))
def integers_made_in_a_loop(v, c, k0):
    s = 1.0
    for i in range(3):
        k = k0 + i
        k[0] = 2
        for j in range(3):
            s = s * v[k[j]] + c
        k[1] = 0
        s = s * v[k[1]]
    return s


@cases(some(9).reshape(3, 3) + 3 * np.eye(3))
def elimination(a):
    n = a.shape[0]
    out = 0.0
    for k in range(n):
        out += math.log(abs(a[k, k]))
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            for j in range(k, n):
                a[i, j] -= f * a[k, j]
    return out


@cases(some(9).reshape(3, 3) + 3 * np.eye(3))
def rows_from_the_pivot_on(a):
    n = a.shape[0]
    out = 0.0
    for k in range(n):
        out += math.log(abs(a[k, k]))
        for i in range(k, n):
            for j in range(k, n):
                a[i, j] -= 0.1 * a[k, j] * a[k, k]
    return out


@cases(some(9).reshape(3, 3) + 3 * np.eye(3))
def elimination_started_anew(a):
    n = a.shape[0]
    out = 0.0
    for e in range(2):
        for k in range(n):
            out += math.log(abs(a[k, k])) * a[k, 0]
            for i in range(k + 1, n):
                for j in range(n):
                    a[i, j] -= 0.1 * a[k, j] * a[k, k]
    return out


@cases(some(9).reshape(3, 3) + 3 * np.eye(3))
def elimination_upwards(a):
    n = a.shape[0]
    out = 0.0
    for k in range(n - 1, -1, -1):
        out += math.log(abs(a[k, k])) * a[k, 0]
        for i in range(k + 1, n):
            for j in range(n):
                a[i, j] -= 0.1 * a[k, j] * a[k, k]
    return out


@cases(some(9).reshape(3, 3) + 3 * np.eye(3))
def row_below_is_overwritten(a):
    n = a.shape[0]
    out = 0.0
    for k in range(n - 1):
        out += a[k + 1, 0] * a[k + 1, 0]
        for i in range(k + 1, n):
            a[i, 0] -= 0.1 * a[k, 1] * out
    return out


@cases(some(9).reshape(3, 3) + 3 * np.eye(3))
def row_above_is_overwritten(a):
    n = a.shape[0]
    out = 0.0
    for k in range(n):
        out += a[k, k] * a[k, k]
        for i in range(k + 1, n):
            a[i, i] -= 0.1 * a[k, i] * out
        a[0, k] *= out
    return out


@cases(np.zeros((0, 3)), 0.4)
def no_rows(a, c):
    s = c
    for i in range(a.shape[0]):
        z = np.exp(a[i] * s)
        s = s * z[0]
    return s


@cases(np.zeros((2, 0)), 0.4)
def empty_rows(a, c):
    s = c
    for i in range(a.shape[0]):
        z = np.exp(a[i] * s)
        y = np.sin(z * z)
        s = s * np.cos(s) + np.sum(y)
    return s


@cases(np.array([0.4]), 0.4)
def one_element(a, c):
    s = c
    for i in range(a.size):
        z = np.exp(a * s)
        s = s * z[0] * z[-1]
    a[-1] = a[0] * s
    return s * a[0]


@cases.each
def test_against_differences(case):
    case.check()


def fresh_strips(text):
    return [line.strip() for line in text.splitlines() if "tape" in line and "np.empty" in line]


def test_nothing_is_taped_that_memory_still_holds():
    def f(x, c):
        s = 0.0
        for i in range(x.size):
            s += x[i] * x[i] * c
        return s

    assert "tape" not in source(f, some(3), 0.7)


def test_a_rectangular_nest_is_reserved_at_once():
    def f(x, n):
        s = 1.0
        for _ in range(n):
            for j in range(5):
                s = s * x[j]
        return s

    text = source(f, some(5), 3)
    assert fresh_strips(text) == ["tape_s = np.empty(max(n, 0) * max(5, 0), np.float64)"]
    assert "grow" not in text


def test_other_nests_grow():
    def f(x):
        s = 1.0
        for i in range(x.size):
            for j in range(i):
                s = s * x[j]
        return s

    text = source(f, some(5))
    assert fresh_strips(text) == ["tape_s = np.empty(64, np.float64)"]
    assert "base += max(i, 0)" in text and "base -= max(i, 0)" in text


def test_a_loop_that_may_break_reserves_nothing_by_its_count():
    def f(x):
        s = 1.0
        for i in range(2**40):
            s = s * x[i]
            if s < 0.0:
                break
        return s

    text = source(f, some(5))
    assert fresh_strips(text) == ["tape_s = np.empty(64, np.float64)"] and "trips" in text


def test_an_array_of_fixed_shape_is_one_more_axis_of_its_strip():
    def f(x):
        s = 1.0
        for _ in range(5):
            z = np.exp(x * s)
            s = z[0] * z[1]
        return s

    assert any("np.empty((max(5, 0), x.shape[0])" in line for line in fresh_strips(source(f, some(5))))


def test_derivable():
    def f(x, a):
        s = 0.0
        for i in range(a.size):
            y = a[i] * x
            z = math.sin(y)
            s += z * z
        return s

    state = sweep(f, 0.7, some(4))
    named = {v.name: v for v in state.scopes.definition}
    assert state.saved.derivable(named["y"]) and not state.saved.derivable(named["z"])


def test_a_product_of_what_is_taped_anyway_is_not_taped():
    def f(x, y):
        s = 0.0
        sign = 1.0
        for i in range(x.size):
            s += sign * x[i] * y[i] * y[i]
            sign = -sign
        return s

    assert fresh_strips(source(f, some(5), some(5))) == ["tape_sign = np.empty(max(t, 0), np.float64)"]
    check(f, some(5), some(5) + 1.0)
