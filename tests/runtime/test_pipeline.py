"""Which calls are written in place, and which are left alone."""

import numpy as np
import pytest
from numba import njit
from numba.core import types

import jitgrad as jg
from jitgrad.runtime import kernels, tape
from jitgrad.runtime.pipeline import DirectFunction, _directs, helper


@pytest.fixture
def compiled():
    """The names of functions that were compiled on their own since the test began."""
    watched = {f: len(f.overloads) for f in _directs() if hasattr(f, "overloads")}
    return lambda: {f.__name__ for f, before in watched.items() if len(f.overloads) > before}


def test_a_gradient_compiles_no_helper(compiled):
    @njit
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    gradient = jg.grad(root)
    assert gradient(np.float64(9.0)) == pytest.approx(1 / 6)
    assert compiled() == set()
    source = jg.source(gradient, 9.0)
    assert "grow(" in source and "div0(" in source  # what is compiled differs, not what is read


def test_second_derivatives_read_the_functions():
    @njit
    def f(x):
        s = 0.0
        for v in x:
            s += 1.0 / v
        return s

    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(jg.hessian(f)(x), np.diag(2 / x**3))


def test_types_without_instructions_are_called(compiled):
    grow = tape.grow
    strip = np.zeros((2, 3))[:, 0]  # not contiguous

    assert helper(lambda s: grow(s, 2).size)(strip) == 2
    assert compiled() <= {"grow"}


def test_a_function_that_is_not_called_is_not_replaced():
    from numba import njit

    @njit
    def apply(function, n):
        return function(n)

    assert helper(lambda n: apply(np.zeros, n).size)(3) == 3


def test_other_code_is_compiled_as_ever():
    @njit
    def plain(n):
        return np.zeros(n)

    plain(3)
    (compiled,) = plain.overloads.values()
    assert "Direct" not in str(compiled.type_annotation)


def test_the_type_of_what_is_written_in_place():
    direct = _directs()[kernels.mul0]._numba_type_
    assert isinstance(direct, DirectFunction) and isinstance(direct, types.Callable)
    assert direct.get_call_signatures() == direct._ordinary.get_call_signatures()
