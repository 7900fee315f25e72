"""`jvp` and `hvp` called inside nopython code."""

from __future__ import annotations

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
