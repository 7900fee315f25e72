"""Floating point errors are ignored within a context, and handled as before after it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from jitgrad.tape.float_errors import handling, ignored, may_raise, modes


def test_ignored_within():
    with np.errstate(all="raise"):
        before = handling(None)
        with ignored():
            assert np.float64(1.0) / np.float64(0.0) == np.inf
            assert set(np.geterr().values()) == {"ignore"}
        assert handling(None) is before
        with pytest.raises(FloatingPointError):
            np.float64(1.0) / np.float64(0.0)


def test_restored_after_an_error():
    before = np.geterr()
    with pytest.raises(KeyError), ignored():
        raise KeyError
    assert np.geterr() == before


def test_modes_are_those_of_now():
    with np.errstate(all="raise"):
        assert modes() == np.geterr()
        with np.errstate(under="ignore"):
            assert modes() == np.geterr()
        assert modes() == np.geterr()


@pytest.mark.parametrize(
    ("mode", "action", "may"),
    [("ignore", "error", False), ("warn", "default", False), ("warn", "error", True), ("raise", "ignore", True)],
)
def test_what_may_raise(mode, action, may):
    with warnings.catch_warnings(), np.errstate(all=mode):
        warnings.resetwarnings()
        warnings.simplefilter(action)
        assert may_raise() is may
        assert may_raise() is may  # what was found out is kept
