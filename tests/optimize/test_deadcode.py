"""What goes because nothing depends on it, and what stays although nothing does."""

import math
import random

import numpy as np
import pytest
from numba import njit

from jitgrad.optimize import optimize, remove_dead_code
from jitgrad.program import ir
from tests.optimize.passes import after, check_bits, lines, read

A = np.array([1.0, 2.0, 3.0])


def test_unused_arithmetic_goes():
    def f(x, a):
        y = math.sin(x)
        z = y * a[0]
        w = a * 2.0
        _ = np.sum(w) + z
        return x

    assert after(remove_dead_code, f, 1.0, A) == "def f(x: float64, a: float64[::1]):\n    return x\n"


def test_what_only_feeds_itself_around_a_loop_goes():
    def f(x, n):
        s = t = x
        for _ in range(n):
            s = s * x
            t = math.sin(t) + s
        return s

    text = after(remove_dead_code, f, 1.0, 3)
    assert "sin" not in text and "carry s: float64 = x:" in text


def test_unused_results_of_branches_go():
    def f(x):
        if x > 0:
            _y = math.sin(x)
            z = x * 2.0
        else:
            _y = math.cos(x)
            z = x * 3.0
        return z

    text = after(remove_dead_code, f, 1.0)
    assert "sin" not in text and "cos" not in text and "-> z" in text


def test_counted_loops_without_effect_go_endless_ones_stay():
    def counted(x):
        s = 0.0
        for i in range(2**40):
            s += i
        return x

    def endless(x, n):
        while n != 0:
            n = n + 1
        return x

    assert "for" not in after(remove_dead_code, counted, 1.0)
    text = after(remove_dead_code, endless, 1.0, 3)
    assert "while" in text and "+ 1" in text


def kept(function, *args) -> str:
    return after(remove_dead_code, function, *args)


def test_stores_stay():
    def f(a, k):
        b = a[1:]
        b[k] = 2.0
        a += 1.0
        a.fill(3.0)
        return 1.0

    text = kept(f, A, 1)
    assert "b[k] = 2.0" in text and "a += 1.0" in text and "fill" in text


def test_a_store_keeps_what_it_needs():
    def f(a, n, x):
        k = n * 2
        if x > 0:
            for i in range(k):
                a[i + k] = x * x
        return 1.0

    text = kept(f, A, 1, 2.0)
    for part in ("n * 2", "x > 0", "for ", "x * x"):
        assert part in text


def test_raises_and_prints_stay():
    def f(x, n):
        m = n * 2
        if m > 7:
            raise ValueError("too many")
        for i in range(m):
            print(i)
        return x

    text = kept(f, 1.0, 2)
    assert "raise" in text and "print" in text and "m > 7" in text


def test_draws_stay():
    def numpys(x):
        np.random.seed(1)
        np.random.random()
        np.random.normal()
        np.random.normal(0.0, 1.0, 3)
        np.random.randint(0, 5)
        np.random.rand()
        return x

    def pythons(x):
        random.seed(1)
        random.random()
        random.gauss(0.0, 1.0)
        random.randint(0, 3)
        return x

    def generators(x, rng):
        rng.random()
        rng.normal(0.0, 1.0)
        rng.integers(0, 5)
        return x

    assert len(lines(kept(numpys, 1.0), r"\(")) == 7
    assert len(lines(kept(pythons, 1.0), r"\(")) == 5
    assert len(lines(kept(generators, 1.0, np.random.default_rng(1)), r"\(")) == 4


def test_a_stream_of_draws_is_the_primal_s():
    def f(x):
        np.random.seed(3)
        np.random.random()
        np.random.normal()
        return x * np.random.random()

    check_bits(f, 2.0)


def test_callees_with_effects_stay():
    @njit
    def recursive(a, n):
        if n > 0:
            a[0] += 1.0
            recursive(a, n - 1)

    def f(a):
        recursive(a, 2)
        items = [1, 2]
        items.append(3)
        items.pop()
        return 1.0

    text = kept(f, A)
    assert "recursive" in text and "append" in text and "pop" in text


def test_checks_that_raise_stay():
    """``np.linalg.cholesky`` as a check for positive definite matrices."""

    def f(a):
        np.linalg.cholesky(a)
        return 1.0

    assert "cholesky" in kept(f, np.eye(2))


def test_trips_go_with_their_use():
    def f(x, n):
        for i in range(n):
            x = x * 2.0
        return x

    program = optimize(read(f, 1.0, 3))
    assert all(op.trips is None for op in ir.walk(program.body) if isinstance(op, ir.Loop))


@pytest.mark.parametrize("n", [0, 1, 5])
def test_same_bits(n):
    def f(a, x, n):
        s = t = u = x
        k = 0
        while k < n:
            k += 1
            t = s * t
            if t > 3.0:
                u = t
                a[0] = s
            else:
                a[1] += u
            s = math.sin(t)
            if k == 4:
                break
        else:
            u = 0.0
        return s * a[0]

    check_bits(f, A, 1.3, n)
