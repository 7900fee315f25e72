"""`jvp`, `hvp` and `into` called inside nopython code."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import jitgrad as jg


@njit
def f(x, n, y):
    return x**2 * y * n


def test_jvp():
    @njit
    def caller(x):
        every = jg.jvp(f, (x, 3, 2.0), (1.0, 0.5))
        with_none = jg.jvp(f, (x, 3, 2.0), (1.0, None, 0.5))
        chosen = jg.jvp(f, (x, 3, 2.0), (1.0,), argnums=(0,))
        one = jg.jvp(f, (x, 3, 2.0), (1.0,), argnums=0)
        return every, with_none, chosen, one

    assert caller(2.0) == ((24.0, 30.0), (24.0, 30.0), (24.0, 24.0), (24.0, 24.0))


def test_hvp():
    @njit
    def caller(x):
        return jg.hvp(f, (x, 3, 2.0), (1.0,)), jg.hvp(f, (x, 3, 2.0), (1.0, 0.0), argnums=(0, 2))

    assert caller(2.0) == (12.0, (12.0, 12.0))


def test_argnums_must_be_constant():
    @njit
    def caller(x, k):
        return jg.jvp(f, (x, 3, 2.0), (1.0,), argnums=k)

    with pytest.raises(TypingError, match="argnums must be a constant"):
        caller(2.0, 0)


def test_into():
    gradient = jg.grad(lambda x, k: (k * x**3).sum())

    @njit
    def step(x, k):
        out = np.empty_like(x)
        gradient.into(out, x, k)
        return x - out

    @njit
    def passed(derivative, x, k):
        out = np.empty_like(x)
        derivative.into(out, x, k)
        return out

    x = np.array([1.0, -2.0])
    np.testing.assert_allclose(step(x, 2.0), x - 6.0 * x**2, rtol=1e-15)
    np.testing.assert_allclose(passed(gradient, x, 2.0), 6.0 * x**2, rtol=1e-15)
    np.testing.assert_allclose(jg.jacrev(step)(x, 2.0), np.diag(1.0 - 12.0 * x), rtol=1e-15)
    np.testing.assert_allclose(jg.jacfwd(step)(x, 2.0), np.diag(1.0 - 12.0 * x), rtol=1e-15)


def test_functions_have_no_into():
    @njit
    def caller(x):
        return f.into(x, x)

    with pytest.raises(TypingError, match="Unknown attribute 'into'"):
        caller(2.0)
