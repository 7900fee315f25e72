"""Reductions: derivatives by tapes against central differences, conventions, dtypes and what is refused."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

(X,) = inputs((2, 3, 2))
(V,) = inputs(5, low=-1.5)
(M,) = inputs((3, 4), low=-1.5)
HOLES = np.array([[0.3, np.nan, 1.2], [-0.7, 0.4, 1.9]])
ZEROS = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 1.5], [0.7, -1.0, 2.0]])
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
AXES = {"": {}, "_1": {"axis": 1}, "_02": {"axis": (0, -1)}, "_kept": {"axis": -1, "keepdims": True}}


def of(function, **kwargs):
    return lambda a: function(a, **kwargs)


REDUCTIONS = {
    name + axes: (of(function, **kwargs), X)
    for name, function in (
        ("sum", np.sum), ("mean", np.mean), ("prod", np.prod), ("max", np.max), ("min", np.min), ("var", np.var),
        ("std", np.std), ("ptp", np.ptp), ("average", np.average), ("nansum", np.nansum), ("nanmean", np.nanmean),
        ("nanmax", np.nanmax), ("nanmin", np.nanmin), ("nanprod", np.nanprod), ("nanvar", np.nanvar),
        ("nanstd", np.nanstd),
    )
    for axes, kwargs in AXES.items()
}  # fmt: skip


@cases(
    REDUCTIONS
    | {
        "no_axes": (lambda a: np.sum(a, axis=()) * np.max(a, axis=()), M),
        "scalar_input": (
            lambda a: (np.sum(a), np.prod(a), np.max(a), np.mean(a), np.sum(a, axis=0), np.min(a, axis=-1)),
            np.array(0.7),
        ),
        "one_element": (lambda a: (np.prod(a), np.max(a, axis=0), np.mean(a)), np.array([0.7])),
        "prod_zeros": (np.prod, np.array([2.0, 0.0, 3.0])),
        "prod_two_zeros": (np.prod, np.array([0.0, 4.0, 0.0])),
        "prod_three_zeros": (np.prod, np.zeros(3)),
        "prod_zeros_axis": (lambda a: (np.prod(a, axis=0), np.prod(a, axis=1, keepdims=True)), ZEROS),
        "prod_axes_of_four": (lambda a: np.prod(a, axis=(3, 1)), *inputs((2, 2, 1, 3))),
        "prod_initial": (lambda a: np.prod(a, axis=0, initial=2.0), M),
        "prod_where": (lambda a: np.prod(a, axis=1, where=MASK), M),
        "sum_initial": (lambda a: np.sum(a, axis=0, initial=2.0), M),
        "sum_where": (lambda a: np.sum(a, axis=1, where=MASK), M),
        "mean_where": (lambda a: np.mean(a, axis=1, where=MASK), M),
        "max_where": (lambda a: np.max(a, axis=1, initial=-9.0, where=MASK), M),
        "max_initial": (lambda a: np.max(a, axis=0, initial=0.6), M),
        "min_initial": (lambda a: np.min(a, axis=0, initial=0.1), M),
        "var_ddof": (lambda a: np.var(a, axis=0, ddof=1), M),
        "std_correction": (lambda a: np.std(a, correction=1), M),
        "average_weights": (lambda a, w: np.average(a, weights=w), *inputs(4, 4)),
        "average_rows": (lambda a, w: np.average(a, axis=1, weights=w, keepdims=True), *inputs((2, 3), 3)),
        "average_axes": (lambda a, w: np.average(a, axis=(2, 0), weights=w), *inputs((2, 3, 2), (2, 2))),
        "average_returned": (lambda a, w: np.average(a, 0, w, returned=True), *inputs((2, 3), (2, 3))),
        "cov": (
            lambda a, b: (np.cov(a), np.cov(a, rowvar=False), np.cov(a[0], b, ddof=0), np.cov(b, bias=True)),
            M,
            V[:4],
        ),
        "corrcoef": (lambda a: (np.corrcoef(a), np.corrcoef(a[0], a[1] ** 2)), M),
        "keyword": (lambda v: np.sum(a=v, axis=0), M),
        "methods": (lambda a: (a.sum(0), a.mean(), a.prod(1), a.max(axis=0), a.min(), a.var(0), a.std(ddof=1)), M),
        "add_reduce": (lambda a: np.add.reduce(a), M),
        "multiply_reduce": (lambda a: np.multiply.reduce(a, axis=None), V),
        "maximum_reduce": (lambda a: np.maximum.reduce(a, axis=1, keepdims=True), M),
        "minimum_reduce": (lambda a: np.minimum.reduce(a), M),
        "logaddexp_reduce": (lambda a: np.logaddexp.reduce(a, axis=1), M),
        "outer": (lambda a, b: (np.multiply.outer(a, b), np.subtract.outer(b, a)), *inputs((2, 2), 3)),
        "strided": (lambda a: (np.sum(a[:, ::2], axis=0), np.prod(a[::-1].T, axis=0)), M),
        "order_f": (lambda a: np.std(a, axis=1), np.asfortranarray(M)),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


@pytest.mark.parametrize("function", [np.nansum, np.nanmean, np.nanprod, np.nanvar, np.nanstd, np.nanmax, np.nanmin])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_nan_is_skipped_and_gets_no_cotangent(function, axis):
    gradient = taped_gradient(lambda a: np.sum(function(a, axis=axis) ** 2), [jg.constant(HOLES)])[0].numpy()
    assert gradient[0, 1] == 0

    def of_numbers(numbers):
        filled = HOLES.copy()
        filled[~np.isnan(HOLES)] = numbers
        return float(np.sum(function(filled, axis=axis) ** 2))

    numbers = HOLES[~np.isnan(HOLES)]
    slopes = [(of_numbers(numbers + h) - of_numbers(numbers - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(gradient[~np.isnan(HOLES)], slopes, atol=1e-7)


@pytest.mark.parametrize(
    ("f", "a", "expected"),
    [
        (np.max, [1.0, 3.0, 3.0, 3.0], [0, 1 / 3, 1 / 3, 1 / 3]),
        (lambda a: np.sum(np.min(a, axis=0)), [[1.0, 2.0], [1.0, 5.0]], [[0.5, 1], [0.5, 0]]),
        (np.ptp, [2.0, 2.0], [0, 0]),
        (lambda a: np.max(a, initial=3.0), [1.0, 3.0], [0, 0.5]),
        (np.std, [2.0, 2.0, 2.0], [0, 0, 0]),
        (np.nanstd, [2.0, np.nan, 2.0], [0, 0, 0]),
        (np.max, [1.0, np.nan], [0, 1]),
        (np.nanmax, [1.0, np.nan], [1, 0]),
        (np.sum, [], []),
        (np.prod, [], []),
        (lambda a: np.sum(np.sum(a, axis=0)), [[]], [[]]),
        (np.logaddexp.reduce, [-np.inf, 0.0], [0, 1]),
        (np.logaddexp.reduce, [-np.inf, -np.inf], [0, 0]),
    ],
)
def test_conventions(f, a, expected):
    (gradient,) = taped_gradient(f, [jg.constant(np.array(a, float))])
    np.testing.assert_array_equal(gradient, np.array(expected, float))


def test_second_derivative_of_std_at_equal_values_is_no_nan():
    x = jg.constant([2.0, 2.0])
    (second,) = taped_gradient(lambda v: np.sum(taped_gradient(np.std, [v])[0] ** 2), [x])
    np.testing.assert_array_equal(second, [0.0, 0.0])


@pytest.mark.parametrize(
    "function",
    [
        np.sum,
        np.mean,
        np.prod,
        np.max,
        np.var,
        np.std,
        np.ptp,
        np.average,
        np.nanmean,
        np.nanvar,
        np.nanstd,
        np.nanprod,
    ],
)
@pytest.mark.parametrize("axis", [None, 0])
def test_single_precision_stays(function, axis):
    x = jg.constant(M, dtype=np.float32)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = function(x, axis=axis)
    assert y.dtype == np.float32
    assert tape.gradient(y, x).dtype == np.float32


def test_dtype_converts_first():
    x = jg.constant([0.5, 1.5], dtype=np.float32)
    with jg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        wide, whole = np.sum(x, dtype=np.float64), np.sum(x, dtype=int)
    assert wide.dtype == np.float64
    assert tape.gradient(wide, x).dtype == np.float32
    assert whole.dtype == int and whole.node is None and int(whole) == 1


def test_complex_sum_of_squares():
    z = jg.constant([1.0 + 2.0j, 3.0 - 1.0j])
    with jg.GradientTape() as tape:
        tape.watch(z)
        y = np.var(z)
    # twice the distance from the mean, over the number: the direction of steepest ascent
    np.testing.assert_allclose(tape.gradient(y, z), np.asarray(z) - np.mean(np.asarray(z)))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda x: np.sum(x, 0, None, np.zeros(3)), "out"),
        (lambda x: np.var(x, where=[True, False]), "where"),
        (lambda x: np.std(x, mean=1.0), "mean"),
        (lambda x: np.nanmean(x, where=[True, False]), "where"),
    ],
)
def test_refused(call, word):
    with pytest.raises(UnsupportedError, match=word):
        call(jg.constant([1.0, 2.0]))
