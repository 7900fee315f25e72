"""What enters a digest, and what must not."""

from __future__ import annotations

import collections
import enum

import numpy as np
import pytest
from numba import njit, vectorize

from jitgrad.backend import digest as digest_module
from jitgrad.backend.digest import Undigestible, digest


def function(source, **names):
    """A function with globals of its own."""
    exec(compile(source, "<test>", "exec"), names)
    return names["f"]


def test_code_and_constants():
    one, same, other = (function(f"def f(x):\n    return x + {k}") for k in (1, 1, 2))
    assert digest(one) == digest(same)
    assert digest(one) != digest(other)


def test_constants_that_compare_equal():
    """1 == 1.0 == True, and 0.0 == -0.0."""
    texts = ["1", "1.0", "True", "0.0", "-0.0"]
    assert len({digest(function(f"def f():\n    return {t}")) for t in texts}) == len(texts)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1.0, 2.0),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0], np.float32)),
        (np.float32(1.0), np.float64(1.0)),
        ((1, 2), (1, 3)),
        (None, False),
        (enum.Enum("E", {"a": 1}).a, enum.Enum("E", {"a": 2}).a),
        (collections.namedtuple("P", "x y"), collections.namedtuple("P", "x z")),
    ],
)
def test_values_captured_by_global_and_by_closure(first, second):
    def closure(k):
        return lambda x: (x, k)

    assert digest(closure(first)) == digest(closure(first))
    assert digest(closure(first)) != digest(closure(second))
    f, g = (function("def f(x):\n    return x, k", k=k) for k in (first, second))
    assert digest(f) != digest(g)


def test_callees_count():
    def make(k, wrap):
        inner = wrap(function(f"def f(x):\n    return x + {k}"))
        return function("def f(x):\n    return g(x)", g=inner)

    for wrap in (lambda f: f, njit, vectorize):
        assert digest(make(1, wrap)) == digest(make(1, wrap))
        assert digest(make(1, wrap)) != digest(make(2, wrap))


def test_options_count():
    f = function("def f(x):\n    return x")
    assert digest(njit(f)) != digest(njit(fastmath=True)(f))


def test_callees_through_modules():
    import types

    def make(k):
        helper = types.ModuleType("helper")
        helper.g = njit(function(f"def f(x):\n    return x + {k}"))
        helper.unused = object()  # nothing of the module but what is named
        return function("def f(x):\n    return helper.g(x)", helper=helper)

    assert digest(make(1)) == digest(make(1))
    assert digest(make(1)) != digest(make(2))


def test_recursion_ends():
    f = njit(function("def f(x):\n    return f(x - 1)"))
    f.py_func.__globals__["f"] = f
    assert digest(f) == digest(f)


def test_defaults_count():
    assert digest(lambda x, k=1: x) != digest(lambda x, k=2: x)


def test_what_has_no_content():
    for value in (object(), np.zeros(10**6), np.array([object()])):
        with pytest.raises(Undigestible):
            digest(function("def f():\n    return k", k=value))


def test_engine_stamp_follows_the_sources(monkeypatch):
    assert digest_module.engine_unchanged()
    monkeypatch.setattr(digest_module, "_engine_now", lambda: "edited")
    assert not digest_module.engine_unchanged()
