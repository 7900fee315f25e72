"""Functions that make derivatives, called in nopython code."""

from __future__ import annotations

import pytest
from numba import njit
from numba.core.errors import TypingError

import jitgrad as jg
from jitgrad import implicit


@njit
def square(x):
    return x * x


@pytest.mark.parametrize(
    "make",
    [
        jg.grad, jg.value_and_grad, jg.vjp, jg.linearize, jg.jacobian, jg.jacfwd, jg.jacrev, jg.hessian, jg.chosen_mode,
        jg.pushforward, jg.batched, jg.checkpoint, jg.repeat, jg.cfunc,
        implicit.root, implicit.argmin, implicit.fixed_point, implicit.linear_solve,
    ],
)  # fmt: skip
def test_the_message_says_what_to_write(make):
    @njit
    def caller(x):
        return make(square)(x)

    with pytest.raises(TypingError, match=rf"{make.__name__} is called in Python.* new = {make.__name__}\(...\)"):
        caller(2.0)
