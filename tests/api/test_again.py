"""Derivatives that run a function several times find its arguments as they were, or refuse the call."""

import numpy as np
import pytest
from numba import float64, njit, types
from numba.experimental import jitclass
from numba.typed import Dict

import jitgrad as jg
from jitgrad.errors import UnsupportedError

X = np.array([1.0, 2.0, 3.0])


@jitclass([("scale", float64)])
class Scaling:
    def __init__(self, scale):
        self.scale = scale


@njit
def in_instance(x, s):
    s.scale *= 2.0
    return x * x * s.scale


@njit
def in_dictionary(x, d):
    d[1] = d[1] * 2.0
    return x * x * d[1]


@njit
def in_list(x, items):
    items[0] *= 2.0
    return x * x * items[0]


@njit
def in_array(x, a):
    a *= 2.0
    return np.sum(x * x * a)


def dictionary():
    d = Dict.empty(types.int64, float64)
    d[1] = 3.0
    return d


@pytest.mark.parametrize("fun, make", [(in_instance, lambda: Scaling(3.0)), (in_dictionary, dictionary)])
def test_what_cannot_be_copied_must_not_be_written(fun, make):
    ways = (
        lambda data: jg.vjp(fun, X, data, argnums=0),
        lambda data: jg.linearize(fun, X, data, argnums=0),
        lambda data: jg.check_grads(fun, (X, data), argnums=0),
        lambda data: jg.jacobian(fun)(X, data),
    )
    for way in ways:
        with pytest.raises(UnsupportedError, match="which cannot be copied, and this derivative runs it several times"):
            way(make())
    out, dot = jg.jvp(fun, (X, make()), (np.ones(3),), argnums=0)  # runs it once
    np.testing.assert_array_equal(out, 6.0 * X * X)
    np.testing.assert_array_equal(dot, 12.0 * X)


def test_what_is_only_read_needs_no_copy():
    out, pull = jg.vjp(lambda x, s: x * s.scale, X, Scaling(3.0), argnums=0)
    np.testing.assert_array_equal(pull(np.ones(3)), 3.0)


@pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning")
def test_reflected_lists_are_copied():
    expected = np.diag(4.0 * X)
    for transform in (jg.jacfwd(in_list, chunk=1), jg.jacrev(in_list)):
        np.testing.assert_array_equal(transform(X, [1.0]), expected)


def test_keyword_arguments_are_copied():
    _, pull = jg.vjp(in_array, X, argnums=0, kwargs={"a": np.ones(3)})
    np.testing.assert_array_equal(pull(1.0), 4.0 * X)
    np.testing.assert_array_equal(pull(1.0), 4.0 * X)
    _, push = jg.linearize(in_array, X, argnums=0, kwargs={"a": np.ones(3)})
    assert push(np.ones(3)) == push(np.ones(3)) == 4.0 * X.sum()
