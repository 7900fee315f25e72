"""The same derivative called from many threads at once."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import njit

import jitgrad

THREADS = 8


@njit(nogil=True)
def chain(x, steps):
    """Tapes a value per step in a while loop, and a strip per step in the inner one."""
    a = x.copy()
    k = 0
    while k < steps:
        for i in range(1, a.size):
            a[i] = math.sin(a[i - 1]) * a[i] + x[i]
        k += 1
    s = 0.0
    for i in range(a.size):
        s += a[i] * a[i]
    return s


@njit(nogil=True)
def raises_sometimes(x, limit):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
        if s > limit:
            raise ValueError("over the limit")
    return s


def point(seed: int) -> np.ndarray:
    """Different sizes, so that threads that shared a tape would write over each other."""
    return np.random.default_rng(seed).normal(size=5 + seed % 17)


def at_once(work, count: int = THREADS) -> list:
    """The results of ``work(k)`` for every k, started together on threads of their own."""
    barrier = threading.Barrier(count)

    def run(k: int):
        barrier.wait()
        return work(k)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_compiled_before():
    gradient = jitgrad.value_and_grad(chain)
    want = {seed: gradient(point(seed), 3 + seed % 5) for seed in range(40)}

    def work(k: int) -> list:
        seeds = np.random.default_rng(k).permutation(40)
        return [(int(s), gradient(point(s), 3 + s % 5)) for _ in range(10) for s in seeds]

    for results in at_once(work):
        for seed, (value, got) in results:
            assert value == want[seed][0]
            np.testing.assert_array_equal(got, want[seed][1])


def test_first_call_from_every_thread():
    """Generation and compilation happen in all threads at once, and once."""

    @njit
    def fresh(x, c):
        s = 0.0
        for v in x:
            s += math.exp(-c * v * v)
        return s

    gradient = jitgrad.grad(fresh, argnums=(0, 1))
    results = at_once(lambda k: gradient(point(3), 0.5 + 0.1 * k))
    x = point(3)
    for k, (by_x, by_c) in enumerate(results):
        c = 0.5 + 0.1 * k
        np.testing.assert_allclose(by_x, -2.0 * c * x * np.exp(-c * x * x), rtol=1e-12)
        assert by_c == pytest.approx(-np.sum(x * x * np.exp(-c * x * x)), rel=1e-12)


def test_each_thread_has_its_own_transform():
    """Transforms made in threads of their own share nothing they could break."""
    want = [jitgrad.grad(chain)(point(k), 4) for k in range(THREADS)]
    results = at_once(lambda k: jitgrad.grad(chain)(point(k), 4))
    for got, expected in zip(results, want, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_forward_and_reverse_mixed():
    gradient = jitgrad.grad(chain)
    want = [gradient(point(k), 4) for k in range(THREADS)]

    def work(k: int) -> list:
        x, out = point(k), []
        for _ in range(20):
            direction = np.cos(np.arange(x.size) + k)
            tangent = jitgrad.jvp(chain, (x, 4), (direction,), argnums=(0,))[1]
            out.append((tangent, gradient(x, 4) @ direction))
        return out

    gradient(point(0), 4)
    for k, pairs in enumerate(at_once(work)):
        direction = np.cos(np.arange(want[k].size) + k)
        for forward, reverse in pairs:
            assert reverse == want[k] @ direction
            assert forward == pytest.approx(reverse, rel=1e-10)


def test_pullback_shared_by_threads():
    """One recorded tape, read by many."""
    x = point(9)
    _, pullback = jitgrad.vjp(chain, x, 5, argnums=(0,))
    (want,) = pullback(1.0)
    results = at_once(lambda k: [pullback(float(k + 1))[0] for _ in range(50)])
    for k, gradients in enumerate(results):
        for got in gradients:
            np.testing.assert_allclose(got, (k + 1) * want, rtol=1e-13)


def test_errors_in_some_threads():
    """A primal that raises in one thread leaves the others' tapes alone, and its own usable."""
    gradient = jitgrad.grad(raises_sometimes)
    gradient(point(1), 1e9)

    def work(k: int) -> int:
        raised = 0
        for n in range(100):
            x = point(n + k)
            if (n + k) % 3 == 0:
                with pytest.raises(ValueError, match="over the limit"):
                    gradient(x, 1e-9)
                raised += 1
            else:
                np.testing.assert_allclose(gradient(x, 1e9), 2.0 * x, rtol=1e-14)
        return raised

    assert all(count >= 33 for count in at_once(work))
