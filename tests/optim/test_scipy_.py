"""SciPy's methods on variables."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError
from jitgrad.optim import ScipyOptimizer


def rosenbrock(x, y):
    return lambda: np.sum((1.0 - x) ** 2) + 100.0 * np.sum((y - x * x) ** 2)


@pytest.mark.parametrize(
    "method", ["L-BFGS-B", "BFGS", "CG", "SLSQP", "Newton-CG", "trust-ncg", "trust-krylov", "trust-constr"]
)
def test_methods_with_gradients(method):
    x, y = jg.Variable(-0.5), jg.Variable([[1.5, 0.5]])
    result = ScipyOptimizer(method, tol=1e-8).minimize(rosenbrock(x, y), [x, y])
    np.testing.assert_allclose(x.numpy(), 1.0, atol=1e-3)
    np.testing.assert_allclose(y.numpy(), [[1.0, 1.0]], atol=1e-3)
    assert result.success and result.fun < 1e-6
    np.testing.assert_array_equal(result.x, [x.numpy(), *y.numpy().ravel()])


@pytest.mark.parametrize("method", ["Nelder-Mead", "Powell"])
def test_methods_without_gradients(method):
    x = jg.Variable([2.0, -1.0])
    assert ScipyOptimizer(method).minimize(lambda: np.sum((x - 1.0) ** 2), x).success
    np.testing.assert_allclose(x.numpy(), 1.0, atol=1e-3)


def test_fewer_evaluations_than_with_differences():
    x, calls = jg.Variable(np.full(10, 2.0)), []

    def loss():
        calls.append(None)
        return np.sum((x - 1.0) ** 4)

    result = ScipyOptimizer().minimize(loss, [x])
    assert result.success and len(calls) == result.nfev < 100


def test_float32_variables_stay_float32():
    x = jg.Variable(np.array([3.0, 4.0], np.float32))
    ScipyOptimizer().minimize(lambda: np.sum((x - 1.0) ** 2), [x])
    assert x.dtype == np.float32
    np.testing.assert_allclose(x.numpy(), 1.0, atol=1e-4)


def test_bounds():
    x, y = jg.Variable([0.0, 0.0]), jg.Variable(0.0)
    bounds = [(None, [0.5, 5.0]), None]
    ScipyOptimizer().minimize(lambda: np.sum((x - 1.0) ** 2) + (y + 1.0) ** 2, [x, y], bounds=bounds)
    np.testing.assert_allclose(x.numpy(), [0.5, 1.0], atol=1e-6)
    np.testing.assert_allclose(y.numpy(), -1.0, atol=1e-6)


def test_options_and_callback_reach_scipy():
    x, y, seen = jg.Variable(-1.2), jg.Variable(1.0), []
    optimizer = ScipyOptimizer("BFGS", options={"maxiter": 3}, callback=lambda vector: seen.append(vector.copy()))
    result = optimizer.minimize(rosenbrock(x, y), [x, y])
    assert result.nit == len(seen) == 3 and not result.success


def test_a_variable_that_the_loss_does_not_use_stays():
    x, unused = jg.Variable([2.0]), jg.Variable([5.0])
    ScipyOptimizer().minimize(lambda: np.sum((x - 1.0) ** 2), [x, unused])
    assert unused.numpy() == 5.0


def test_after_an_error_the_variables_are_as_before():
    x, calls = jg.Variable([2.0, 3.0]), []

    def loss():
        calls.append(None)
        if len(calls) == 3:
            raise RuntimeError("no more")
        return np.sum((x - 1.0) ** 4)

    with pytest.raises(RuntimeError, match="no more"):
        ScipyOptimizer().minimize(loss, [x])
    np.testing.assert_array_equal(x.numpy(), [2.0, 3.0])


X = jg.Variable([1.0, 2.0])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ScipyOptimizer(3), "method must be the name of a method of scipy.optimize.minimize, not 3"),
        (lambda: ScipyOptimizer().minimize(np.sum(X), [X]), "loss must be callable"),
        (lambda: ScipyOptimizer().minimize(lambda: np.sum(X), []), "var_list is empty; pass the variables to change"),
        (lambda: ScipyOptimizer().minimize(lambda: np.sum(X), [np.ones(2)]), "variable 0 must be a Variable, not an"),
        (lambda: ScipyOptimizer().minimize(lambda: X * X, [X]), "loss must return a scalar, not an array of shape"),
        (
            lambda: ScipyOptimizer().minimize(lambda: np.sum(X), [X], bounds=[]),
            "bounds has 0 entries for 1 variables; use None for none",
        ),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()
