"""Elementwise expressions backwards."""

import numpy as np

from tests.transforms.reverse.harness import Cases, check, some, source

cases = Cases()


@cases(some(4), some(4) + 1)
def input_used_again(x, y):
    z = x + y
    w = z + x
    return np.sum(w * w) + x[0]


@cases(some(4), some(4) + 1)
def adjoint_passed_on(x, y):
    a = x * 1.0
    b = a + 0.0 * y
    c = b - y
    d = c + b
    return np.sum(d * d) + np.sum(b * y)


@cases(some(4), some(4) + 1)
def differences(x, y):
    a = x * y
    b = a - y
    c = y - a
    return np.sum(b * c)


@cases(some(4))
def one_input_twice(x):
    y = x * x
    z = y / (y + x)
    return np.sum(z * y)


@cases(some(4), np.array([2.0]))
def size_one_stretched(x, y):
    z = x + y
    return np.sum(z * z)


@cases(np.array([2.0]), np.array([3.0]))
def both_of_size_one(x, y):
    z = x * y
    return z[0] * z[0]


@cases(some(6).reshape(2, 3), some(3), some(2).reshape(2, 1))
def row_and_column_stretched(m, v, c):
    z = m * v + c * np.exp(v)
    return np.sum(z * z)


@cases(np.zeros(0), np.array([3.0]))
def no_element(x, y):
    z = x * y
    return np.sum(z) + y[0] ** 2


@cases(some(4))
def carried_expressions(x):
    y = x * 1.0
    for i in range(3):
        z = y + x
        y = z * 0.5 + y
    return np.sum(y * y)


@cases(some(4))
def one_expression_under_two_names(x):
    y = x * 1.0
    w = x * 2.0
    for i in range(3):
        z = y + w * x
        y = z
        w = z
        x = x + z
    return np.sum(y * y) + np.sum(w) + np.sum(x)


@cases(some(4), 0.3)
def expression_of_an_arm(x, c):
    y = x * c
    if c > 0:
        z = y + x
        u = z
    else:
        z = y
        u = x
    return np.sum(z * z * u) + np.sum(u)


@cases(some(4), 0.3)
def expression_of_an_arm_in_a_loop(x, c):
    y = x * c
    for i in range(3):
        if i % 2:
            z = y
        else:
            z = y + x
        y = z * z + y
    return np.sum(z * z * y)


@cases(some(4), 0.3)
def result_written_later(x, c):
    y = np.exp(x * c)
    s = np.sum(y)
    y[0] = s * c
    z = y * y
    y[1] = z[0]
    return np.sum(z * y)


@cases(some(4), 0.3)
def result_written_in_the_iteration(x, c):
    s = 0.0
    for i in range(3):
        y = np.exp(x * c + s)
        y[i] = s * c + 1.0
        s += np.sum(y) * 0.1
        y[0] = y[1] * y[2]
        s += y[0]
    return s


@cases(some(4), 0.3)
def mask_and_where(x, c):
    m = x > c
    y = np.where(m, x * c, x * x)
    z = y[m]
    return np.sum(z * z) + np.sum(y)


@cases(some(4), 0.3)
def integers_among_floats(x, c):
    k = np.arange(4)
    y = x * k + k
    return np.sum(y * y) * c


@cases(some(40).reshape(2, 1, 4, 5))
def stretched_beside_a_slice(t):
    b = t[:, :, 1:, :]
    w = t[0, :, 0, 0]
    return np.sum(b * w)


@cases.each
def test_against_differences(case):
    case.check()


def test_a_sum_passes_the_adjoint_itself():
    def f(x, y):
        z = np.sin(x)
        w = z + np.cos(y)
        return np.sum(w * w)

    text = source(f, some(3), some(3))
    assert text.count("np.empty") <= 7  # three results; adjoints of w, x, y and no more


def test_only_one_input_gets_the_result_s_adjoint():
    def f(x, y):
        a = np.sin(x)
        b = np.cos(y)
        c = a + b
        d = a * 2.0
        return np.sum(c * c) + np.sum(d * b)

    check(f, some(3), some(3) + 0.5)


def test_values_of_the_block_are_computed_again():
    def f(x):
        y = np.sin(x) * np.sin(x)
        return np.sum(y)

    assert "tape" not in source(f, some(3))
