"""Warnings are told at the line of the user, also through other libraries."""

import numpy as np
import pytest
import scipy.linalg

import jitgrad as jg
from jitgrad.tape.notices import UnconnectedGradientWarning, warn


def test_at_the_line_of_the_caller():
    with pytest.warns(UnconnectedGradientWarning, match="lost") as caught:
        warn("lost")
    assert caught[0].filename == __file__


def test_through_scipy():
    x = jg.Variable(2.0 * np.eye(2))
    with jg.GradientTape(), pytest.warns(UnconnectedGradientWarning, match="becomes a plain array") as caught:
        tape_value = x * x
        scipy.linalg.inv(tape_value)
    assert caught[0].filename == __file__


def test_this_package_may_read_values():
    x = jg.Variable(2.0)
    with jg.GradientTape(persistent=True) as tape:
        y = x * x
        jg.optim.SGD(0.1).apply_gradients([(tape.gradient(y, x), x)])  # reads a recorded gradient
    assert float(x) == pytest.approx(1.6)
