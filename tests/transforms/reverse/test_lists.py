"""Lists backwards: append is pop, pop is append."""

import math

import numpy as np
import pytest

from jitgrad.errors import JitgradError
from tests.transforms.reverse.harness import Cases, some, source

cases = Cases()


@cases(0.7)
def lists_and_tuples_where_arrays_are_meant(x):
    s = np.repeat([x, 2.0 * x], 2).sum() * np.roll([x, x * x, 1.0], 1)[0]
    return (
        s
        + np.bincount([0, 1, 1], [x, 1.0, x * x])[1]
        + np.ptp((x, 3.0 * x, x * x))
        + np.outer((x, 1.0), (x, 2.0))[0, 0]
    )


@cases(some(4), 0.3)
def append_and_pop(x, c):
    l = [x[0] * c, x[1], x[2]]
    l.append(c * c)
    a = l.pop()
    l.append(a * x[3])
    b = l.pop()
    return a * b * l[0] * l[-1]


@cases(some(4), 0.3)
def grows_and_shrinks_in_a_loop(x, c):
    l = [c]
    for i in range(x.size):
        l.append(l[-1] * x[i] + l[0])
        if i == 2:
            t = l.pop()
            l[0] = t * c
    s = 0.0
    for v in l:
        s += v * v
    return s


@cases(some(4), 0.3)
def grows_while_iterated(x, c):
    l = [c * x[0]]
    s = 0.0
    i = 0
    for v in l:
        s += v * v
        if i < 3:
            l.append(v * x[i] + c)
        i += 1
    return s


@cases(some(4), 0.3)
def stack_of_work(x, c):
    l = [x[0]]
    s = 0.0
    n = 0
    while len(l) > 0:
        v = l.pop()
        s += math.sin(v) * c
        n += 1
        if n < 4:
            l.append(v * x[n])
            l.append(v + x[n - 1] * c)
    return s


@cases(some(4), 0.3)
def list_of_arrays(x, c):
    l = [x * c]
    for i in range(3):
        l.append(l[-1] * x + c)
    s = 0.0
    for a in l:
        s += np.sum(a * a)
    return s


@cases(some(4), 0.3)
def made_in_a_loop(x, c):
    s = 0.0
    for i in range(3):
        l = [x[i] * c, s]
        l.append(l[0] * l[1])
        s += l[2] + l[0]
    return s


@cases([0.3, 0.4, 0.5], 0.3)
def list_argument(l, c):
    s = 0.0
    for v in l:
        s = s * v + c
    return s * l[0]


@cases(0.7)
def infinite_item(x):
    items = [x, x + np.inf]
    return items[0] * items[0]


@cases(some(4), 0.7)
def every_method(x, c):
    l = [x[0], c * x[1], x[2] ** 2, x[3]]
    l.insert(1, c * c)
    l.insert(-1, x[0] * x[3])
    l.insert(100, x[1])
    l.reverse()
    p, q = l.pop(1), l.pop(-2)
    squares = [v * v for v in l]
    l.extend(squares)
    squares[0] = p
    l.sort()
    down = sorted(l, reverse=True)
    s = q * squares[0] + down[0] * down[2] * sorted(x)[1]
    for i in range(len(l)):
        s += (i + 1) * l[i]
    return s + max(l) * min(x) + max([c, x[0]])


@cases(some(3), 0.7)
def arrays_are_popped(x, c):
    stack = [x * c, x + c]
    s = 0.0
    while len(stack) > 0:
        a = stack.pop()
        s += np.sum(a * a) * c
        if a[0] > 0.6 and len(stack) < 2:
            stack.append(a * 0.5)
    return s


@cases(some(6), 0.7)
def views_that_split_makes(x, c):
    y = x * c
    a, b, d = np.split(y, 3)
    s = np.sum(a * b * d)
    for part in np.array_split(y * y, 4):
        s += part[0] * np.sum(part)
    return s


@cases(0.7, some(3))
def list_of_an_array(c, x):
    l = list(x)
    l[1] *= c
    return l[0] * l[1] * l[2]


@cases(some(4))
def sums_and_multiples(x):
    l = [x[0], x[1] * x[2]]
    m = l + l + [1.0, 2.0] + [x[3]] * 2
    return m[0] * m[3] * m[4] * m[6] * m[7] * l[1]


@cases(some(4), True)
@cases(some(4), False)
def picked_by_a_branch(x, flag):
    l = [x[0], x[1]]
    m = l if flag else [v * v for v in x]
    s = 0.0
    for v in m:
        s += v * v
    return s * l[0]


@cases(some(4), True)
@cases(some(4), False)
def made_in_a_branch_and_changed(x, flag):
    if flag:
        l = [x[0], x[1]]
    else:
        l = [v * v for v in x]
    l[0] = l[1] * x[0]
    l.append(x[2])
    return l[0] * l[1] * l[-1]


@cases.each
def test_against_differences(case):
    case.check()


def test_append_is_a_pop_backwards():
    def f(x):
        items = [x]
        items.append(x * x)
        return items[0] * items[1]

    text = source(f, 0.7)
    assert "items_bar.pop()" in text


def test_what_is_not_followed_is_refused():
    def pairs(x):
        items = [(x, 2.0 * x), (x * x, 1.0)]
        s = 0.0
        for a, b in items:
            s += a * b
        return s

    def nested(x):
        items = [[x, 2.0 * x], [x * x, 1.0]]
        return items[1][0] * items[0][1]

    def split_and_written(x):
        y = x * 2.0
        parts = np.split(y, 3)
        y[0] = x[1]
        return np.sum(parts[0] * parts[1])

    def arrays_written(x):
        items = [x * 1.0, x * 2.0]
        items[0][0] = x[1]
        return np.sum(items[0] * items[1])

    def picked_and_changed(x):
        l = [x[0], x[1]]
        m = l if x[2] > 0.0 else [x[2], x[3]]
        m[0] *= x[1]
        return l[0] * m[1]

    for function, args in (
        (picked_and_changed, (some(4),)),
        (pairs, (0.7,)),
        (nested, (0.7,)),
        (split_and_written, (some(3),)),
        (arrays_written, (some(3),)),
    ):
        with pytest.raises(JitgradError):
            source(function, *args)


def test_a_result_of_pairs_in_a_list_is_refused():
    def f(x):
        return [(x, 2.0 * x)]

    with pytest.raises(JitgradError, match="the result of f holds a list"):
        source(f, 0.7, seed="argument")
