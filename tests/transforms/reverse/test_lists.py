"""Lists backwards: append is pop, pop is append."""

import math

import numpy as np
import pytest

from jitgrad.errors import JitgradError
from tests.transforms.reverse.harness import Cases, some, source

cases = Cases()


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
    def inserts(x):
        items = [x, 2.0 * x]
        items.insert(0, x * x)
        return items[0] * items[2]

    def arrays_written(x):
        items = [x * 1.0, x * 2.0]
        items[0][0] = x[1]
        return np.sum(items[0] * items[1])

    for function, args in ((inserts, (0.7,)), (arrays_written, (some(3),))):
        with pytest.raises(JitgradError):
            source(function, *args)
