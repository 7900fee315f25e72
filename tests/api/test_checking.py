"""check_grads passes what is right and names what is wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import jitgrad as jg


@njit
def smooth(x, y):
    s = 0.0
    for i in range(x.size):
        s += math.sin(x[i]) * y**2
    return s


X = np.array([0.3, 1.2, -0.7])


def test_right():
    jg.check_grads(smooth, (X, 1.5))
    jg.check_grads(smooth, (X, 1.5), order=1, modes="reverse", argnums=1)
    jg.check_grads(lambda x, n: (x * x, n), (2.0, 3))
    jg.check_grads(lambda x: x * x, (np.float32(1.5),))
    jg.check_grads(lambda z: z * z, (1.0 + 2.0j,))


def test_leaves_the_arguments_alone():
    @njit
    def f(x):
        x[0] = x[0] ** 2
        return x[0] * x[1]

    x = X.copy()
    jg.check_grads(f, (x,))
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_wrong_first_order(mode):
    f = jg.custom_jvp(njit(lambda x: math.sin(x)))
    f.defjvp(lambda primals, tangents: (math.sin(primals[0]), math.sin(primals[0]) * tangents[0]))
    with pytest.raises(AssertionError, match=f"{mode} mode, first derivative of .*: element 0 is"):
        jg.check_grads(lambda x: f(x), (0.3,), modes=mode)


def test_wrong_second_order():
    f = jg.custom_jvp(njit(lambda x: math.sin(x)))

    @f.defjvp
    def f_jvp(primals, tangents):
        return math.sin(primals[0]), jg.stop_gradient(math.cos(primals[0])) * tangents[0]

    jg.check_grads(lambda x: f(x), (0.3,), order=1)
    with pytest.raises(AssertionError, match="second derivative"):
        jg.check_grads(lambda x: f(x), (0.3,))


def test_kinks_and_bad_options():
    with pytest.raises(jg.ArgumentError, match="modes must be taken from"):
        jg.check_grads(smooth, (X, 1.5), modes=("backward",))
