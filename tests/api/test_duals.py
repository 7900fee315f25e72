"""`Dual` in Python and in nopython code, against the derivatives of its formulas."""

import math

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from jitgrad import ArgumentError, Dual


def same(dual, value, *tangents):
    assert isinstance(dual, Dual)
    np.testing.assert_allclose(dual.value, value, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(dual.tangents, tangents, rtol=1e-14, atol=1e-300)


def formulas(a, b):
    return (
        a * b + 2.0 * a - b / a,
        1.0 / b - a**3 + (-a) ** 2,
        np.sin(a) * np.exp(b),
        abs(-a) + np.sqrt(b),
        np.arctan2(a, b),
        np.maximum(a, b) + np.minimum(2.0, b),
        2.0**a,
        a < b,
    )


def check_formulas(found, a, b):
    n = math.hypot(a, b) ** 2
    same(found[0], a * b + 2 * a - b / a, b + 2 + b / a**2, a - 1 / a)
    same(found[1], 1 / b - a**3 + a * a, -3 * a * a + 2 * a, -1 / b**2)
    same(found[2], math.sin(a) * math.exp(b), math.cos(a) * math.exp(b), math.sin(a) * math.exp(b))
    same(found[3], a + math.sqrt(b), 1.0, 0.5 / math.sqrt(b))
    same(found[4], math.atan2(a, b), b / n, -a / n)
    same(found[5], a + b, 1.0, 1.0)
    same(found[6], 2.0**a, math.log(2.0) * 2.0**a, 0.0)
    assert found[7] == (a < b)


def test_python():
    check_formulas(formulas(Dual(1.5, [1, 0]), Dual(0.7, [0, 1])), 1.5, 0.7)


def test_nopython():
    compiled = njit(formulas)

    @njit
    def made(x, y):
        return compiled(Dual(x, (1.0, 0.0)), Dual(y, (0.0, 1.0)))

    check_formulas(made(1.5, 0.7), 1.5, 0.7)


@njit
def power_sum(x, n):
    s = 0.0
    powers = [x]
    for _ in range(n):
        powers.append(powers[-1] * x)
    for p in powers:
        s += p
    if s > 1e9:
        s = s * 0.0
    return s, s.tangents[-1], len(x.tangents)


def test_loops_and_lists():
    """A number that becomes a dual in a loop; passed from Python and back."""
    s, last, count = power_sum(Dual(0.5, [1.0, 0.0, 2.0]), 3)
    slope = 1 + 2 * 0.5 + 3 * 0.25 + 4 * 0.125
    same(s, 0.5 + 0.25 + 0.125 + 0.0625, slope, 0.0, 2 * slope)
    assert (last, count) == (2 * slope, 3)


def test_kinks_and_singular_points():
    same(abs(Dual(0.0, [1.0])), 0.0, 0.0)
    same(np.maximum(Dual(1.0, [1.0, 0.0]), Dual(1.0, [0.0, 1.0])), 1.0, 0.5, 0.5)
    assert np.sqrt(Dual(0.0, [1.0, 0.0])).tangents.tolist() == [math.inf, 0.0]

    @njit(error_model="numpy")
    def root(x):
        return math.sqrt(x)

    assert root(Dual(0.0, [1.0, 0.0])).tangents.tolist() == [math.inf, 0.0]


def test_messages():
    with pytest.raises(ArgumentError, match="the tangents of a Dual are a sequence of numbers, one for each direction"):
        Dual(1.0, 2.0)
    with pytest.raises(ArgumentError, match="the tangents of a Dual are a sequence of numbers, .*, not 'abc'"):
        Dual(1.0, "abc")
    with pytest.raises(ArgumentError, match="the value of a Dual is a real number, not 1j"):
        Dual(1j, [1.0])
    with pytest.raises(TypingError, match="the tangents of a Dual are a tuple of numbers"):
        njit(lambda x: Dual(x, x))(1.0)
    with pytest.raises(TypingError, match="two duals in one expression need the same number of directions"):
        njit(lambda a, b: a * b)(Dual(1.0, [1.0]), Dual(1.0, [1.0, 2.0]))
    with pytest.raises(IndexError, match="the index of a tangent is out of range"):
        njit(lambda a: a.tangents[1])(Dual(1.0, [1.0]))
