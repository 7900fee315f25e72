"""jg.source: what is shown, for nested derivatives too."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float64, njit

import jitgrad as jg


@njit
def norm2(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s


X = np.arange(3.0)


def test_one_section():
    text = jg.source(jg.grad(norm2), X)
    assert text.startswith("# grad of norm2\n")
    assert "def " in text and "test_source.py:" in text
    compile(text, "<source>", "exec")


def test_types_instead_of_values():
    assert jg.source(jg.grad(lambda x, k=2.0: k * x), float64) == jg.source(jg.grad(lambda x, k=2.0: k * x), float64)


def test_nested_sections():
    text = jg.source(jg.hessian(norm2), X)
    titles = [line for line in text.splitlines() if line.startswith("# ") and " of " in line]
    assert titles[0] == "# jacobian of grad_norm2"
    assert any(t.startswith("# jvp of grad_norm2") for t in titles)
    compile(text, "<source>", "exec")


def test_of_something_else():
    with pytest.raises(jg.ArgumentError, match="source needs what grad"):
        jg.source(norm2, X)


def test_errors_are_those_of_the_call():
    with pytest.raises(jg.ArgumentError, match="is an integer"):
        jg.source(jg.grad(lambda n: n * 1.0), 3)
