"""Floating point errors are ignored within a context, and handled as before after it."""

from __future__ import annotations

import numpy as np
import pytest

from jitgrad.tape.float_errors import handling, ignored


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
