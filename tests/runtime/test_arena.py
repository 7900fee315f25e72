"""The arena: large arrays get memory that was used before, and only memory that nobody uses."""

import ctypes
import gc
import threading

import numpy as np
import pytest
from numba import njit

import jitgrad as jg
from jitgrad.runtime import arena

N = 40_000  # elements: more bytes than `LARGE`


@njit
def swept(x):
    s, p = 0.0, 1.0
    for i in range(x.size):
        p = 0.5 * p + x[i] * x[i]
        s += p * p
    if s < 0.0 or np.isnan(s):
        raise ValueError("no sum")
    return s


gradient = jg.grad(swept)
X = np.linspace(0.1, 1.0, N)


def by_hand(x):
    p = np.empty(x.size)
    last = 1.0
    for i, v in enumerate(x):
        p[i] = last = 0.5 * last + v * v
    bar, out = 0.0, np.empty(x.size)
    for i in range(x.size - 1, -1, -1):
        bar = 0.5 * bar + 2.0 * p[i]
        out[i] = 2.0 * x[i] * bar
    return out


def test_memory_of_a_call_waits_for_the_next():
    gradient(X)
    gc.collect()
    gc.disable()  # what other tests left behind must not come between
    try:
        arena.drain()
        assert arena.waiting() == 0
        gradient(X)
        held = arena.waiting()
        assert held >= 2 * X.nbytes  # the tape and the result
        for _ in range(5):
            gradient(X)
        assert arena.waiting() == held
    finally:
        gc.enable()


def test_memory_in_use_is_not_given_away():
    first, second = gradient(X), gradient(2.0 * X)
    part = gradient(3.0 * X)[10:20]  # keeps its array
    for _ in range(3):
        gradient(X[::-1].copy())
    np.testing.assert_allclose(first, by_hand(X), rtol=1e-13)
    np.testing.assert_allclose(second, by_hand(2.0 * X), rtol=1e-13)
    np.testing.assert_allclose(part, by_hand(3.0 * X)[10:20], rtol=1e-13)


def test_results_are_aligned_and_writable():
    result = gradient(X)
    assert result.ctypes.data % arena.ALIGN == 0 and result.flags.owndata is False
    result += 1.0


def test_a_primal_that_raises_does_no_harm():
    bad = X.copy()
    bad[-1] = np.nan
    with pytest.raises(ValueError, match="no sum"):
        gradient(bad)
    np.testing.assert_allclose(gradient(X), by_hand(X), rtol=1e-13)


def test_many_threads():
    wrong = []

    def work(k):
        x = X * (1.0 + k)
        want = by_hand(x)
        for _ in range(20):
            if not np.allclose(gradient(x), want, rtol=1e-12):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class Small:
    """An arena of 2 slots and 1000 bytes."""

    def __init__(self):
        self.engine = engine = arena.build(slots=2, limit=1000)
        address = engine.get_function_address
        take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)(address("jitgrad_arena_take"))
        give = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address("jitgrad_arena_give"))
        self.take = lambda size: take(size, None)
        self.give = lambda block: give(block, None)
        self._waiting = ctypes.c_int64.from_address(engine.get_global_value_address("jitgrad_arena_waiting"))

    @property
    def waiting(self):
        return self._waiting.value


def test_a_block_is_used_again_for_arrays_of_about_its_size():
    small = Small()
    block = small.take(400)
    small.give(block)
    assert small.waiting == 400
    larger, smaller = small.take(401), small.take(99)
    assert block not in (larger, smaller) and small.waiting == 400
    assert small.take(100) == block and small.waiting == 0
    for taken in (block, larger, smaller):
        small.give(taken)


def test_what_finds_no_place_is_freed_and_makes_place():
    small = Small()
    blocks = [small.take(size) for size in (100, 200, 300)]
    for block in blocks:
        small.give(block)
    assert small.waiting == 0  # the third one found none: what waits is of no use any more
    small.give(small.take(100))
    assert small.waiting == 100


def test_the_limit_holds():
    small = Small()
    small.give(small.take(600))
    assert small.waiting == 600
    small.give(small.take(3000))
    assert small.waiting == 0


def test_what_cannot_be_had_is_null():
    assert Small().take(2**62) is None
