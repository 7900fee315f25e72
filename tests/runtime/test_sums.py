"""Additions that may be taken in any order."""

import numpy as np
import pytest
from numba import njit, typeof

import jitgrad
from jitgrad import rules
from jitgrad.runtime.sums import accumulate


@njit
def total(x):
    s = x[0] - x[0]
    for v in x:
        s = accumulate(s, v)
    return s


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_is_an_addition(dtype):
    x = np.arange(1, 101).astype(dtype)
    assert total(x) == 5050
    assert total.nopython_signatures[-1].return_type == typeof(dtype(1.0))


def test_other_flags_stay_off():
    """Only reassociation: infinities, nans and signed zeros mean what they mean."""
    assert accumulated(1.0, np.inf) == np.inf
    assert np.isnan(accumulated(np.inf, -np.inf))
    assert np.signbit(accumulated(-0.0, -0.0)) and not np.signbit(accumulated(0.0, -0.0))
    assert accumulated(1e308, 1e308) == np.inf


@njit
def accumulated(a, b):
    return accumulate(a, b)


def test_loops_vectorise():
    total(np.ones(3))
    assembly = total.inspect_llvm(total.signatures[0])
    assert "fadd reassoc" in assembly


def test_has_a_rule_so_that_derivatives_nest():
    assert isinstance(rules.lookup(accumulate), rules.ScalarRule)
    np.testing.assert_array_equal(jitgrad.grad(total)(np.ones(3)), [1.0, 1.0, 1.0])
