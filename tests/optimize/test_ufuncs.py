"""Ufuncs that write into an array, and vectorized functions with branches."""

import numpy as np
from numba import vectorize

from jitgrad.optimize import expand_ufuncs, optimize
from tests.optimize.passes import after, check_bits, lines

A = np.array([1.5, 2.0, -3.0, 4.0])
M = np.arange(8.0).reshape(2, 4)


def test_an_output_becomes_an_expression_and_a_store():
    def f(a, b, out):
        np.multiply(a, b, out)
        return out[0]

    text = after(expand_ufuncs, f, A, A, A)
    assert "= map " in text and lines(text, r"^\s*out\[:\] = ")


def test_the_result_is_the_output_itself():
    def f(a, out):
        r = np.exp(a, out)
        r[0] = 7.0
        return out[0] + r[1]

    check_bits(f, A, np.zeros(4))


def test_same_bits():
    def f(a, m, out):
        np.add(a, m, out)
        np.sin(out, out)
        np.multiply(out, 2.0, out)
        np.subtract(out, a, out)
        np.divide(a, a[0], a)
        return out[1, 2]

    check_bits(f, A, M, np.zeros((2, 4)), passes=(expand_ufuncs,), compiled=True)


def test_output_that_overlaps_an_operand():
    """Numba goes element by element: what was just written is read."""

    def f(a):
        np.add(a[:-1], 1.0, a[1:])
        return a[3]

    check_bits(f, A, passes=(expand_ufuncs,), compiled=True)


@vectorize
def clipped(x, low):
    if x < low:
        return low
    return x * 2.0


def test_a_vectorized_function_with_branches_becomes_loops():
    def f(a, m, c):
        r = clipped(a, c) + clipped(m, a)
        return r

    text = after(expand_ufuncs, f, A, M, 0.5)
    assert "clipped" not in text and len(lines(text, "for ")) >= 3
    check_bits(f, A, M, 0.5, passes=(expand_ufuncs,), compiled=True)


def test_broadcast_operands_of_vectorized_functions():
    def f(m, row, column, one):
        return clipped(m, row) * clipped(column, row) + clipped(one, m)

    check_bits(f, M, A, M[:, :1].copy(), A[:1].copy(), passes=(optimize,), compiled=True)


def test_numbers_are_left_alone():
    def f(x):
        return clipped(x, 0.5) + np.add(x, 1.0)

    check_bits(f, 0.3)


def test_an_output_of_clip():
    def f(a, out):
        np.clip(a, 0.0, 2.0, out)
        np.clip(out, out[0], 1.8, out=out)
        return out[1]

    text = after(expand_ufuncs, f, A, np.zeros(4))
    assert len(lines(text, r"^\s*out\[:\] = ")) == 2
    check_bits(f, A, np.zeros(4), passes=(expand_ufuncs,), compiled=True)
