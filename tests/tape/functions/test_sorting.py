"""Sorting and quantiles: derivatives by tapes against central differences."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

(M,) = inputs((3, 5), low=-1.5)
(X,) = inputs((2, 3, 4), low=-1.5)
HOLES = np.where(np.arange(15).reshape(3, 5) % 4 == 1, np.nan, M)
METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "hazen", "weibull", "median_unbiased", "normal_unbiased",
           "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf")  # fmt: skip


@cases(
    {
        "sort": (lambda a: (np.sort(a), np.sort(a, axis=0), np.sort(a, axis=None)), M),
        "partition": (lambda a: (np.partition(a, 2), np.partition(a, (0, 1), axis=0)), M[:, :3]),
        "unique": (np.unique, M),
        "sets": (lambda a: (np.unique_values(a), np.union1d(a, [0.3]), np.setdiff1d(a, a[0])), M),
        "median": (
            lambda a: (np.median(a), np.median(a, 1), np.median(a, axis=(0, -1)), np.median(a, 2, keepdims=True)),
            X,
        ),
        "quantile": (lambda a: (np.quantile(a, 0.3), np.quantile(a, [0.0, 0.25, 1.0], axis=1)), X),
        "quantile_grid": (lambda a: np.quantile(a, [[0.1, 0.2], [0.5, 0.9]], axis=(0, 2), keepdims=True), X),
        "percentile": (lambda a: (np.percentile(a, 30.0, axis=0), np.percentile(a, [5, 50], axis=-1)), X),
        "scalar": (lambda a: (np.median(a), np.quantile(a, 0.4)), np.array(0.7)),
        "one": (lambda a: (np.median(a), np.percentile(a, 40), np.sort(a)), np.array([0.7])),
        **{m: (lambda a, m=m: np.quantile(a, [0.15, 0.5, 0.77], axis=1, method=m), M) for m in METHODS},
    }
)
def test_derivatives(f, xs):
    check(f, xs)


@pytest.mark.parametrize(
    "function",
    [
        np.nanmedian,
        lambda a, axis: np.nanquantile(a, [0.3, 0.9], axis=axis),
        lambda a, axis: np.nanpercentile(a, 40, axis),
    ],
)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_nan_is_skipped_and_gets_no_cotangent(function, axis):
    def total(a):
        return np.sum(np.sin(function(a, axis=axis)))

    gradient = taped_gradient(total, [jg.constant(HOLES)])[0].numpy()
    for at in np.ndindex(HOLES.shape):
        step = np.zeros(HOLES.shape)
        step[at] = 1e-6
        slope = 0.0 if np.isnan(HOLES[at]) else (total(HOLES + step) - total(HOLES - step)) / 2e-6
        assert gradient[at] == pytest.approx(slope, abs=1e-8)


def test_values_with_infinities_are_numpys():
    x = jg.constant([3.0, np.inf, 1.0, 2.0])
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.quantile(x, 1 / 3)
    assert float(y) == 2.0
    np.testing.assert_array_equal(tape.gradient(y, x), [0, 0, 0, 1])


def test_unique_gives_what_is_asked_for():
    x = jg.constant([3.0, 1.0, 3.0])
    values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(values, [1, 3])
    np.testing.assert_array_equal(inverse, [1, 0, 1])
    np.testing.assert_array_equal(counts, [1, 2])


@pytest.mark.parametrize("function", [np.sort, np.median, lambda a: np.quantile(a, [0.2, 0.3])])
def test_single_precision_stays(function):
    x = jg.constant(M, dtype=np.float32)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    assert y.dtype == function(M.astype(np.float32)).dtype
    assert tape.gradient(y, x).dtype == np.float32


def test_derivative_in_the_fraction_is_refused():
    x, q = jg.constant([1.0, 2.0]), jg.constant(0.5)
    with jg.GradientTape() as tape:
        tape.watch([x, q])
        y = np.quantile(x, q)
    with pytest.raises(UnsupportedError, match="stop_gradient"):
        tape.gradient(y, q)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda x: np.quantile(x, 0.5, weights=[1, 2], method="inverted_cdf"), "weights"),
        (lambda x: np.sort(x, order="a"), "order"),
        (lambda x: np.unique(x, axis=0), "axis"),
    ],
)
def test_refused(call, word):
    with pytest.raises(UnsupportedError, match=word):
        call(jg.constant([1.0, 2.0]))
