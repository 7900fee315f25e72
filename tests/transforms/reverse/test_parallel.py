"""`prange` loops in both sweeps: which run in parallel, that none of their iterations meet, and the same bits."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from numba import njit, prange

import jitgrad as jg
from tests.transforms.reverse.harness import Cases, compare, floats, some
from tests.transforms.reverse.races import Race, loops, parallel, watched_prange, watching

V, W, M = some(13), some(4), some(52).reshape(13, 4)
BACKWARD = Cases()  # both sweeps run in parallel
FORWARD = Cases()  # only the forward sweep does
SERIAL = Cases()  # neither does


@BACKWARD(M, W)
def sum_of_rows(x, w):
    total = 0.0
    for i in prange(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * w[j]
        total += math.tanh(s)
    return total


@BACKWARD(V, 0.3, 3)
def swapped_buffers(x, c, steps):
    u, new = x.copy(), x.copy()
    for _ in range(steps):
        for i in prange(1, u.size - 1):
            new[i] = u[i] + c * (u[i - 1] - 2.0 * u[i] + u[i + 1]) * u[i]
        u, new = new, u
    return (u * u).sum()


@BACKWARD(M, 0.3)
def stencil_of_rows(x, c):
    y = np.zeros(x.shape)
    for i in prange(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = x[i, j] * x[i - 1, j] + c * x[i + 1, j - 1] * x[i, j + 1]
    return (y * y).sum()


@BACKWARD(V, np.arange(39) * 7 % 13, 2.0)
def gathered(x, at, c):
    s = 0.0
    for i in prange(at.size):
        if x[at[i]] > 0.1:
            s += c * x[at[i]] ** 2
        else:
            s -= x[at[i]] * x[3]
    return s


@BACKWARD(1.1, 0.3, M)
def paths(start, volatility, z):
    total = 0.0
    for p in prange(z.shape[0]):
        s = start
        for k in range(z.shape[1]):
            s = s * math.exp(volatility * z[p, k])
            s = s + 0.1 * math.sin(s)
        if s > 1.0:
            total += s - 1.0
    return total / z.shape[0]


@BACKWARD(1.1, M, 2)
def paths_in_every_step(start, z, steps):
    total = 0.0
    for n in range(steps):
        for p in prange(z.shape[0]):
            s = start
            for k in range(z.shape[1]):
                s = s * math.exp(z[p, k] * (n + 1.0))
            total += s
    return total


@BACKWARD(V, W)
def nested(a, b):
    y = np.zeros((a.size, b.size))
    for i in prange(a.size):
        for j in prange(b.size):
            y[i, j] = math.exp(a[i] * b[j])
    return (y * y).sum()


@BACKWARD(M, W)
def rows_as_views(x, w):
    y = np.empty(x.shape[0])
    for i in prange(x.shape[0]):
        row = x[i]
        part = np.zeros(2)
        part[0] = row[0] * w[0]
        part[1] = row[1] * part[0]
        y[i] = part[1] * row[2] + part[0]
    return (y * y).sum()


@BACKWARD(V, 2)
def shifted(x, lo):
    y = np.zeros(x.size)
    for i in prange(lo, x.size):
        y[i] = x[i - 1] * x[i]
    return (y * y).sum()


@BACKWARD(V, 0)
def shifted_around_the_end(x, lo):
    y = np.zeros(x.size)
    for i in prange(lo, x.size):
        y[i] = x[i - 1] * x[i]
    return (y * y).sum()


@BACKWARD(some(25).reshape(5, 5), some())
def symmetric(a, v):
    s = 0.0
    for i in prange(v.size):
        for j in range(v.size):
            s += a[i, j] * a[j, i] * v[i] * v[j]
    return s


@FORWARD(V, np.arange(13) * 5 % 13)
def scattered(x, at):
    y = np.zeros(x.size)
    for i in prange(x.size):
        y[at[i]] = x[i] ** 2
    return (y * y).sum()


@FORWARD(V)
def reversed_(x):
    y = np.zeros(x.size)
    for i in prange(x.size):
        y[x.size - 1 - i] = x[i] ** 2
    return (y * y).sum()


@SERIAL(V)
def largest(x):
    m = 0.0
    for i in prange(x.size):
        m = max(m, x[i] ** 2)
    return m


@SERIAL(M)
def triangular(x):
    s = 0.0
    for i in prange(x.shape[0]):
        p = 1.0
        for j in range(i % x.shape[1]):
            p *= math.sin(x[i, j] * p)
        s += p
    return s


@SERIAL(V)
def raises(x):
    y = np.zeros(x.size)
    for i in prange(x.size):
        if x[i] > 99.0:
            raise ValueError("too large")
        y[i] = x[i] ** 2
    return (y * y).sum()


@pytest.mark.parametrize(
    ("case", "expected"),
    [(case, kind) for kind, cases in (("both", BACKWARD), ("forward", FORWARD), ("none", SERIAL)) for case in cases],
    ids=lambda x: x if isinstance(x, str) else x.function.__name__,
)
def test_right_and_without_races(case, expected):
    made = parallel(case.function, *case.args, value=True)
    forward, backward = made.source.split("_bar = 1.0\n", 1)
    counted = [loops(type(made)(text, made.namespace, made.name)) for text in (forward, backward)]
    assert [n > 0 for n in counted] == {"both": [True, True], "forward": [True, False], "none": [False, False]}[
        expected
    ]
    compare(watching(made), case.function, case.args, floats(case.args))


def test_the_watch_sees_races():
    made = parallel(largest, V)
    source = "def f(x):\n    for i in prange(3):\n        x[i // 2] += 1.0\n"
    run = watching(type(made)(source, {"prange": numba.prange}, "f"))
    with pytest.raises(Race):
        run(np.zeros(3))
    source = "def f(x):\n    for i in prange(3):\n        x[i] = x[0]\n"
    with pytest.raises(Race):
        watching(type(made)(source, {"prange": numba.prange}, "f"))(np.zeros(3))
    assert list(watched_prange(3)) == [2, 1, 0]


def test_neighbours_take_turns_and_indices_from_the_end_one_thread():
    source = parallel(shifted, V, 2).source
    assert "for turn in range(2):" in source
    assert "if lo < 1:" in source
    assert "turn in" not in parallel(sum_of_rows, M, W).source


def test_without_the_option_prange_is_range():
    assert "prange(" not in jg.source(jg.grad(njit(sum_of_rows)), M, W)
    checked = njit(parallel=True, boundscheck=True)(sum_of_rows)  # threads would lose its errors
    assert "prange(" not in jg.source(jg.grad(checked), M, W)

    inner = njit(sum_of_rows)  # its prange is range also where it is inlined

    @njit(parallel=True)
    def outer(x, w):
        return 2.0 * inner(x, w)

    assert "prange(" not in jg.source(jg.grad(outer), M, W)


def test_large_arrays_that_all_read_get_few_accumulators():
    assert "few_chunks(chunks, t, x_bar.size)" in parallel(gathered, *BACKWARD[3].args).source
    assert "few_chunks(chunks, 2 * t, w_bar.size)" in parallel(sum_of_rows, M, W).source


def threaded(function, *args):
    """Gradients of a compiled parallel function, again and again, and of the serial one."""
    wrt = floats(args)
    g = jg.value_and_grad(njit(parallel=True)(function), wrt)
    first = g(*args)
    for _ in range(20):
        value, gradients = g(*args)
        assert value == first[0]
        for a, b in zip(gradients, first[1], strict=True):
            np.testing.assert_array_equal(a, b)
    value, gradients = jg.value_and_grad(njit(function), wrt)(*args)
    np.testing.assert_allclose(first[0], value, rtol=1e-13)
    for a, b in zip(first[1], gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13 * np.max(np.abs(b)))


LARGE = {
    "swapped_buffers": (swapped_buffers, some(2000), 0.1, 3),
    "gathered": (gathered, some(40), np.arange(4000) * 7 % 40, 2.0),
    "sum_of_rows": (sum_of_rows, some(6000).reshape(1000, 6), some(6)),
    "paths": (paths, 1.1, 0.3, some(6000).reshape(1000, 6)),
    "scattered": (scattered, some(2000), np.arange(2000)[::-1].copy()),
    "nested": (nested, some(500), some(20)),
}


def test_threads_give_the_bits_of_any_number_of_threads():
    function, *args = LARGE["gathered"]
    threaded(function, *args)
    g = jg.value_and_grad(njit(parallel=True)(function), (0, 2))
    found = []
    before = numba.get_num_threads()
    for n in range(1, numba.config.NUMBA_NUM_THREADS + 1):
        numba.set_num_threads(n)
        value, gradients = g(*args)
        found.append(np.concatenate([[value], *(np.ravel(a) for a in gradients)]).tobytes())
    numba.set_num_threads(before)
    assert len(set(found)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in LARGE if n != "gathered"])
def test_threads(name):
    threaded(*LARGE[name])
