"""Loops over a few components, written out."""

import numpy as np
import pytest

from jitgrad.optimize import unroll_small_loops
from jitgrad.optimize.unroll import MOST_OPERATIONS, MOST_TRIPS
from tests.optimize.passes import after, check_bits, lines

A = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def over(n, body="s += a[i] * i"):
    namespace: dict = {"np": np}
    exec(f"def f(a):\n    s = 0.5\n    for i in range({n}):\n        {body}\n    return s", namespace)
    return namespace["f"]


@pytest.mark.parametrize("n", range(MOST_TRIPS + 1))
def test_few_trips_are_written_out(n):
    text = after(unroll_small_loops, over(n), A)
    assert "for " not in text and len(lines(text, r"a\[")) == n
    assert all(f"a[{k}]" in text for k in range(n))
    check_bits(over(n), A)


@pytest.mark.parametrize("n", [MOST_TRIPS + 1, 100])
def test_many_trips_are_not(n):
    assert "for " in after(unroll_small_loops, over(n), A)


def test_a_negative_count_runs_nothing():
    check_bits(over(-3), A)


def test_large_bodies_are_not():
    body = "; ".join(["s = s * a[i] + s"] * (MOST_OPERATIONS // 3 // 3 + 1))
    assert "for " in after(unroll_small_loops, over(3, body), A)


def test_an_unknown_count_or_an_exit_is_not():
    def unknown(a, n):
        s = 0.0
        for i in range(n):
            s += a[i]
        return s

    def leaves(a):
        s = 0.0
        for i in range(3):
            s += a[i]
            if s > 2.0:
                break
        return s

    assert "for " in after(unroll_small_loops, unknown, A, 3)
    assert "for " in after(unroll_small_loops, leaves, A)


def test_counter_after_the_loop_and_nesting():
    def f(a):
        s = t = 0.5
        for i in range(3):
            for j in range(i, 3):
                s, t = t, s * a[j] + i
            if i == 1:
                t = t - s
            for j in range(2):
                t += j * a[i]
        return s * 100.0 + t * i + j

    check_bits(f, A)
    assert "for i" in after(unroll_small_loops, f, A)  # a loop inside has no constant count


def test_stores_keep_their_order():
    def f(a):
        for i in range(4):
            a[i + 1] = a[i] * 1.5 + i
            a[0] = a[i + 1]
        return a[0]

    check_bits(f, A)


def test_negative_steps():
    def f(a):
        s = 0.0
        for i in range(4, 0, -2):
            s = s * 0.5 + a[i]
        return s

    check_bits(f, A)
    assert "for " not in after(unroll_small_loops, f, A)
