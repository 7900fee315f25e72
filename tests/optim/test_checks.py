"""Checks of hyper-parameters."""

import numpy as np
import pytest

from jitgrad.errors import ArgumentError
from jitgrad.optim.checks import checked, checked_count, positive


def test_what_passes_is_converted():
    assert checked("rho", np.float32(0.5)) == 0.5 and type(checked("rho", 1)) is float
    assert checked("rho", 1.0, 0.0, 1.0, closed=True) == 1.0
    assert checked_count("steps", np.int64(3), 2) == 3
    assert positive("norm", 2) == 2.0


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: checked("rho", None), "rho must be a number, not None"),
        (lambda: checked("rho", np.nan), "rho must be at least 0 and below inf, not nan"),
        (lambda: checked("rho", 1.0, 0.0, 1.0), "rho must be at least 0 and below 1, not 1.0"),
        (lambda: checked("rho", 1.5, 0.0, 1.0, closed=True), "rho must be between 0 and 1, not 1.5"),
        (lambda: checked_count("steps", 1, 2), "steps must be an integer of at least 2, not 1"),
        (lambda: checked_count("steps", 2.0, 1), "steps must be an integer of at least 1, not 2.0"),
        (lambda: checked_count("steps", True, 1), "steps must be an integer of at least 1, not True"),
        (lambda: positive("norm", 0.0), "norm must be above 0, not 0.0"),
    ],
)
def test_what_does_not_pass(check, words):
    with pytest.raises(ArgumentError, match=words):
        check()
