"""Cumulative functions: derivatives by tapes against central differences, exact also with zeros."""

import numpy as np
import pytest

import jitgrad as jg
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

(M,) = inputs((3, 4), low=-1.5)
(X,) = inputs((2, 3, 2))
ZEROS = np.array([[0.0, 2.0, 3.0], [0.5, 0.0, 0.0], [0.7, -1.0, 2.0]])


@cases(
    {
        "cumsum": (lambda a: (np.cumsum(a), np.cumsum(a, 0), np.cumsum(a, axis=-1), a.cumsum(1)), M),
        "cumprod": (lambda a: (np.cumprod(a, 0), np.cumprod(a, axis=-2), a.cumprod(axis=2)), X),
        "cumprod_flat": (np.cumprod, M[:2, :3]),
        "cumprod_zeros": (lambda a: (np.cumprod(a, axis=0), np.cumprod(a, axis=1)), ZEROS),
        "cumprod_two_zeros": (np.cumprod, np.array([2.0, 0.0, 3.0, 0.0, 4.0])),
        "scalar": (lambda a: (np.cumsum(a), np.cumprod(a)), np.array(0.7)),
        "scalar_axis": (lambda a: (np.cumsum(a, axis=0), np.cumprod(a, axis=-1), np.cumulative_prod(a)), np.array(0.7)),
        "one": (lambda a: (np.cumsum(a), np.cumprod(a), np.maximum.accumulate(a)), np.array([0.7])),
        "empty": (lambda a: (np.cumsum(a), np.cumprod(a), np.maximum.accumulate(a)), np.zeros(0)),
        "accumulate": (lambda a: (np.add.accumulate(a), np.add.accumulate(a, axis=1), np.multiply.accumulate(a)), M),
        "running_extremes": (lambda a: (np.maximum.accumulate(a), np.minimum.accumulate(a, axis=1)), M),
        "cumulative_sum": (lambda a: np.cumulative_sum(a, axis=1, include_initial=True), M),
        "cumulative_prod": (
            lambda a: (np.cumulative_prod(a[0]), np.cumulative_prod(a, axis=0, include_initial=True)),
            M,
        ),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


@pytest.mark.parametrize("function", [np.nancumsum, np.nancumprod])
def test_nan_is_skipped(function):
    x = jg.constant([0.5, np.nan, 3.0])
    (gradient,) = taped_gradient(lambda a: np.sum(function(a)), [x])
    np.testing.assert_array_equal(gradient, [3, 0, 1] if function is np.nancumsum else [5, 0, 0.5])


def test_ties_of_running_maximum_are_shared():
    (gradient,) = taped_gradient(lambda a: np.maximum.accumulate(a)[-1], [jg.constant([2.0, 2.0, 1.0])])
    np.testing.assert_array_equal(gradient, [0.5, 0.5, 0.0])


def test_complex_products():
    z = jg.constant([1.0 + 2.0j, 0.0, 3.0 - 1.0j])
    for function in (np.prod, lambda v: np.cumprod(v)[-1]):
        (gradient,) = taped_gradient(lambda v: np.real(function(v)), [z])
        np.testing.assert_allclose(gradient, [0, np.conj((1 + 2j) * (3 - 1j)), 0])


@pytest.mark.parametrize("function", [np.cumsum, np.cumprod, np.maximum.accumulate])
def test_single_precision_stays(function):
    x = jg.constant([1.0, 2.0], dtype=np.float32)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    assert y.dtype == tape.gradient(y, x).dtype == np.float32


def test_dtype_converts_first():
    assert np.cumsum(jg.constant([0.5, 1.5]), dtype=int).dtype == int


def test_axis_is_asked_for():
    with pytest.raises(ValueError, match="axis"):
        np.cumulative_sum(jg.constant(M))
