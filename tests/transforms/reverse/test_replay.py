"""Scratch nests that run again in the backward sweep, and those that must not."""

import re

import numpy as np
from numba import njit

from tests.transforms.reverse.harness import Cases, generated, in_python, some, source

cases = Cases()


@cases(some(4).reshape(2, 2), 0.3)
def filled_under_a_condition(x, c):
    t = np.zeros(2)
    s = 0.0
    for i in range(2):
        for j in range(2):
            if x[i, j] > 0:
                t[j] = x[i, j] * c
        for j in range(2):
            for k in range(2):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3), 2)
def filled_in_part(x, w, m):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(m):
            t[j] = x[i, j] - w[j]
        t[i % 3] = 0.5 * w[0]
        for j in range(m):
            for k in range(j):
                s += t[j] * t[k]
        for j in range(d):
            for k in range(d):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3))
def first_element_from_the_iteration_before(x, w):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(1, d):
            t[j] = t[j - 1] * w[j] + x[i, j]
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3))
def running_scratch(x, w):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        t[0] = x[i, 0]
        for j in range(1, d):
            t[j] = t[j - 1] * w[j] + x[i, j]
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3))
def read_before_it_is_filled(x, w):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            s += t[j] * x[i, j]
        for j in range(d):
            t[j] = x[i, j] - w[j]
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3))
def what_fills_it_is_overwritten(x, w):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            t[j] = x[i, j] - w[j]
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
        w[0] = s
    return s


@cases(some(12).reshape(4, 3), some(3))
def filled_twice(x, w):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            t[j] = x[i, j] - w[j]
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
        for j in range(d):
            t[j] = x[i, j] * w[j]
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3), 5)
def filled_until_a_break(x, w, m):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            t[j] = x[i, j] - w[j]
            if t[j] > 1.0:
                break
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3), 5)
def read_through_a_view(x, w, m):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            t[j] = x[i, j] - w[j]
        v = t[1:]
        for j in range(d - 1):
            for k in range(j):
                s += v[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3), 5)
def filled_from_a_carried_value(x, w, m):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            t[j] = x[i, j] - w[j] * s
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3), 5)
def used_after_the_loop(x, w, m):
    n, d = x.shape
    t = np.zeros(d)
    s = 0.0
    for e in range(2):
        for i in range(n):
            for j in range(d):
                t[j] = x[i, j] - w[j] * (e + 1)
            for j in range(d):
                for k in range(j):
                    s += t[j] * t[k]
        s += t[0] * t[1] * s
        for j in range(d):
            for k in range(j):
                s += t[j] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3), 5)
def two_scratch_arrays(x, w, m):
    n, d = x.shape
    t = np.zeros(d)
    u = np.zeros(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            t[j] = x[i, j] - w[j]
            u[j] = t[j] * w[j] + x[i, 0]
        for j in range(d):
            for k in range(j):
                s += t[j] * u[k] * t[k]
    return s


@cases(some(12).reshape(4, 3), some(3))
def filled_from_another_scratch(x, w):
    n, d = x.shape
    tmp = np.empty(d)
    xc = np.empty(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            tmp[j] = x[i, j] * x[i, j]
        for j in range(d):
            xc[j] = tmp[j] - w[j]
        for j in range(d):
            for c in range(j):
                s += xc[j] * xc[c]
    return s


@cases(some(12).reshape(4, 3), some(3))
def last_content_used(x, w):
    n, d = x.shape
    xc = np.empty(d)
    s = 0.0
    for i in range(n):
        for j in range(d):
            xc[j] = x[i, j] - w[j]
        for j in range(d):
            for c in range(j):
                s += xc[j] * xc[c]
    for j in range(d):
        s += xc[j] ** 3
    return s


@cases.each
def test_against_differences(case):
    case.check()


def nest(x, w):
    n, d = x.shape
    scratch = np.empty(d)
    s = 0.0
    for i in range(n):
        for a in range(w.shape[0]):
            for j in range(d):
                scratch[j] = x[i, j] - w[a, j]
            for j in range(d):
                for c in range(j):
                    s += scratch[j] * scratch[c]
    return s, scratch


X, W = some(12).reshape(4, 3), some(6).reshape(2, 3)


def backward(text):
    return text.split("s_bar = 1.0")[1]


def test_the_nest_runs_again_and_nothing_is_taped():
    inner = njit(nest)

    def f(x, w):
        return inner(x, w)[0]

    text = source(f, X, W)
    assert "tape" not in text
    assert re.search(r" scratch\[\w+\] = t", backward(text))


def test_nothing_but_the_scratch_itself_is_read_again():
    """Sources of a nest that do not hold what they held are no sources."""
    replayed = [case.function.__name__ for case in cases if "tape" not in source(case.function, *case.args)]
    assert set(replayed) <= {"running_scratch", "two_scratch_arrays", "last_content_used", "used_after_the_loop"}


def test_what_is_returned_is_left_alone():
    (value, scratch), _ = in_python(generated(nest, X, W, has_aux=True, value=True))(X, W)
    assert value == nest(X, W)[0]
    np.testing.assert_array_equal(scratch, nest(X, W)[1])


def test_a_result_that_is_a_scratch_array():
    def f(x, w):
        n, d = x.shape
        scratch = np.empty(d)
        s = 0.0
        for i in range(n):
            for j in range(d):
                scratch[j] = x[i, j] - w[0, j]
            for j in range(d):
                for c in range(j):
                    s += scratch[j] * scratch[c]
        scratch[0] = s
        return scratch

    out, _ = in_python(generated(f, X, W, seed="argument"))(np.ones(3), X, W)
    np.testing.assert_array_equal(out, f(X, W))
