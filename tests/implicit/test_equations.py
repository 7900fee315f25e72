"""Roots, fixed points, minimisers and linear solutions: derivatives against closed forms and differentiated solvers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numba import njit, objmode

import jitgrad as jg
from jitgrad import implicit


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


# ----- a number -------------------------------------------------------------------------------------
def newton(x, a, power):
    """The root of x ** power = a, by code that cannot be differentiated."""
    for _ in range(60):
        with objmode(x="float64"):
            x = x - (x**power - a) / (power * x ** (power - 1))
    return x


@njit
def power_residual(x, a, power):
    return x**power - a


rooted = implicit.root(power_residual, newton)


def test_root_that_is_a_number():
    a, n = 5.0, 3
    first, second = a ** (1 / n - 1) / n, (1 / n - 1) * a ** (1 / n - 2) / n
    close(rooted(1.0, a, n), a ** (1 / n))
    assert jg.grad(rooted)(1.0, a, n) == 0.0
    close(jg.grad(rooted, 1)(1.0, a, n), first)
    close(jg.jvp(rooted, (1.0, a, n), (7.0, 2.0)), (a ** (1 / n), 2.0 * first))
    close(jg.hessian(rooted, 1)(1.0, a, n), second)
    close(jg.grad(jg.grad(rooted, 1), 1)(1.0, a, n), second)


def test_singular_root_of_a_number_has_an_infinite_derivative():
    double = implicit.root(lambda x, a: x * x - a, lambda x, a: 0.0 * x)
    assert np.isinf(jg.grad(double, 1)(1.0, 0.0))


# ----- arrays ---------------------------------------------------------------------------------------
@njit
def equilibrium(x, k, load):
    """Springs in a row, stiffer as they stretch; zero in equilibrium."""
    r = np.empty_like(x)
    for i in range(x.size):
        before = x[i - 1] if i > 0 else x[i]
        r[i] = k[0] * x[i] + k[1] * x[i] ** 3 - load[i] + 0.5 * (x[i] - before)
    return r


@njit
def relax(x, k, load):
    """In place, from the start it is given."""
    for _ in range(300):
        x -= 0.4 * equilibrium(x, k, load)
    return x


at_rest = implicit.root(equilibrium, relax, tolerance=1e-9)


START, K, LOAD = np.zeros(3), np.array([1.0, 0.3]), np.array([1.0, -0.5, 2.0])


def slope_at(x):
    return np.diag(K[0] + 3.0 * K[1] * x**2 + [0.0, 0.5, 0.5]) - 0.5 * np.eye(3, k=-1)


@njit
def work(k, load):
    x = at_rest(START, k, load)
    return x @ load + k[0] * x[0] ** 2


work_gradient = jg.grad(work, (0, 1))


def test_root_that_is_an_array_in_nopython_code():
    """Against the theorem, written out for a matrix made by hand."""
    x = relax(START.copy(), K, LOAD)
    a = slope_at(x)
    direct = LOAD + [2.0 * K[0] * x[0], 0.0, 0.0]
    weights = -np.linalg.solve(a.T, direct)
    by_k, by_load = work_gradient(K, LOAD)
    close(by_k, [weights @ x + x[0] ** 2, weights @ x**3])
    close(by_load, x - weights)
    assert not START.any()  # the solver writes into a copy


@pytest.mark.slow
def test_second_order_of_arrays():
    along = np.array([0.3, -0.2]), np.array([1.0, 2.0, 0.5])
    found = jg.hvp(work, (K, LOAD), along, argnums=(0, 1))
    plus, minus = (work_gradient(K + s * along[0], LOAD + s * along[1]) for s in (1e-5, -1e-5))
    for f, p, m in zip(found, plus, minus, strict=True):
        np.testing.assert_allclose(f, (p - m) / 2e-5, rtol=1e-6, atol=1e-8)


@pytest.mark.slow
def test_forward_mode_of_arrays():
    jacobian = jg.jacfwd(at_rest, 2)(START, K, LOAD)
    close(jacobian, np.linalg.inv(slope_at(at_rest(START, K, LOAD))))


def test_a_solver_that_stops_early_is_noticed():
    lazy = implicit.root(power_residual, lambda x, a, power: x, tolerance=1e-6)
    with pytest.raises(ValueError, match="the residual is larger than the tolerance"):
        jg.grad(lazy, 1)(1.0, 5.0, 3)
    with pytest.raises(ValueError, match="the residual is larger than the tolerance"):
        jg.jvp(lazy, (np.nan, 5.0, 3), (0.0, 1.0))


@pytest.mark.slow
def test_matrix_unknown_and_singular_jacobian():
    """The square root of a matrix of positive numbers, element by element."""
    elements = implicit.root(lambda x, a: x * x - a, lambda x, a: np.sqrt(a))
    a = np.array([[1.0, 4.0], [9.0, 16.0]])
    close(jg.grad(lambda a: elements(a, a)[1, 0])(a), [[0.0, 0.0], [1.0 / 6.0, 0.0]])
    a[0, 0] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        jg.grad(lambda a: elements(a, a)[1, 0])(a)


# ----- minimisers -----------------------------------------------------------------------------------
def test_argmin():
    """Ridge regression, whose minimiser has a closed form."""
    x = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.3]])
    y = np.array([1.0, 0.0, 2.0])

    @njit
    def ridge(w, x, y, penalty):
        s = 0.0
        for i in range(y.size):
            s += (x[i, 0] * w[0] + x[i, 1] * w[1] - y[i]) ** 2
        return s + penalty * (w[0] ** 2 + w[1] ** 2)

    @njit
    def closed_form(w, x, y, penalty):
        return np.linalg.solve(x.T @ x + penalty * np.eye(w.size), x.T @ y)

    fit = implicit.argmin(ridge, closed_form)
    w = fit(np.zeros(2), x, y, 0.7)
    found = jg.grad(lambda p: fit(np.zeros(2), x, y, p)[0])(0.7)
    close(found, -np.linalg.solve(x.T @ x + 0.7 * np.eye(2), w)[0])


# ----- fixed points ---------------------------------------------------------------------------------
@njit
def kepler(e, m, eccentricity):
    return m + eccentricity * np.sin(e)


def iterated(e, m, eccentricity):
    for _ in range(200):
        e = kepler(e, m, eccentricity)
    return e


@pytest.mark.parametrize("adjoint", ["solve", "iterate"])
def test_fixed_point_that_is_a_number(adjoint):
    """Kepler's equation: dE/dm = 1 / (1 - e cos E)."""
    anomaly = implicit.fixed_point(kepler, iterated, adjoint=adjoint)
    m, e = 1.0, 0.4
    found = anomaly(0.0, m, e)
    slope = 1.0 / (1.0 - e * np.cos(found))
    close(jg.grad(anomaly, (1, 2))(0.0, m, e), (slope, slope * np.sin(found)))
    close(jg.jvp(anomaly, (0.0, m, e), (0.0, 1.0, 0.5))[1], slope * (1.0 + 0.5 * np.sin(found)))
    second = -(slope**3) * e * np.sin(found)
    close(jg.hessian(anomaly, 1)(0.0, m, e), second)
    if adjoint == "iterate":
        close(jg.grad(jg.grad(anomaly, 1), 1)(0.0, m, e), second)


@pytest.mark.slow
def test_iterated_adjoint_of_an_array():
    """The stationary distribution of a damped chain, against a dense inverse."""

    @njit
    def spread(p, q, weights):  # named as the generated code might name its own
        return 0.5 * (q @ p) + weights

    @njit
    def settle(p, q, weights):
        for _ in range(300):
            p = spread(p, q, weights)
        return p

    q = np.array([[0.5, 0.2], [0.3, -0.4]])
    stationary = implicit.fixed_point(spread, settle, adjoint="iterate", tolerance=1e-9)
    b = np.array([1.0, 2.0])
    by_q, by_b = jg.grad(lambda q, b: stationary(b, q, b)[0], (0, 1))(q, b)
    a = np.eye(2) - 0.5 * q
    weights = np.linalg.inv(a)[0]
    close(by_q, 0.5 * np.outer(weights, np.linalg.solve(a, b)))
    close(by_b, weights)


def test_iteration_that_does_not_converge():
    away = implicit.fixed_point(lambda x, a: 2.0 * x - a, lambda x, a: a, adjoint="iterate", max_iterations=50)
    with pytest.raises(ArithmeticError, match="iterating the adjoint of <lambda> did not converge in 50 iterations"):
        jg.grad(away, 1)(0.0, 1.0)


# ----- linear equations -----------------------------------------------------------------------------
@njit
def bidiagonal(x, lower, diagonal):
    y = diagonal * x
    y[1:] += lower * x[:-1]
    return y


@njit
def forth(b, lower, diagonal):
    x = np.empty_like(b)
    x[0] = b[0] / diagonal[0]
    for k in range(1, b.size):
        x[k] = (b[k] - lower[k - 1] * x[k - 1]) / diagonal[k]
    return x


@njit
def back(b, lower, diagonal):
    x = np.empty_like(b)
    x[-1] = b[-1] / diagonal[-1]
    for k in range(b.size - 2, -1, -1):
        x[k] = (b[k] - lower[k] * x[k + 1]) / diagonal[k]
    return x


B, LOWER, DIAGONAL = np.array([1.0, -2.0, 0.5]), np.array([0.3, -0.4]), np.array([2.0, 1.5, 3.0])


@pytest.mark.parametrize("transpose", [back, None])
def test_linear_solve(transpose):
    solve = implicit.linear_solve(bidiagonal, forth, transpose_solver=transpose)
    by_b, by_lower, by_diagonal = jg.grad(lambda b, low, d: np.sum(solve(b, low, d) ** 2), (0, 1, 2))(
        B, LOWER, DIAGONAL
    )
    a = np.diag(DIAGONAL) + np.diag(LOWER, -1)
    x = np.linalg.solve(a, B)
    weights = np.linalg.solve(a.T, 2.0 * x)
    close(by_b, weights)
    close(by_lower, -weights[1:] * x[:-1])
    close(by_diagonal, -weights * x)


@pytest.mark.slow
def test_linear_solve_at_second_order():
    solve = implicit.linear_solve(bidiagonal, forth, transpose_solver=back)
    gradient = jg.grad(lambda b, low, d: np.sum(solve(b, low, d) ** 2), (0, 1, 2))
    at, along = (B, LOWER, DIAGONAL), (DIAGONAL, LOWER + 1.0, B)
    found = jg.jvp(gradient, at, along)[1]
    plus, minus = (gradient(*(x + s * v for x, v in zip(at, along, strict=True))) for s in (1e-5, -1e-5))
    for f, p, m in zip(found, plus, minus, strict=True):
        np.testing.assert_allclose(f, (p - m) / 2e-5, rtol=1e-6, atol=1e-8)


def test_symmetric_linear_solve():
    solve = implicit.linear_solve(lambda x, d: d * x, lambda b, d: b / d, symmetric=True)
    assert jg.grad(jg.grad(lambda d: solve(1.0, d)))(2.0) == pytest.approx(0.25)  # of 1 / d


# ----- objects and refusals -------------------------------------------------------------------------
def test_pickle():
    found = pickle.loads(pickle.dumps(at_rest))
    close(found(START, K, LOAD), at_rest(START, K, LOAD))


def test_wrong_arguments():
    with pytest.raises(jg.ArgumentError, match=r"root: <lambda> takes \(x, a\), but <lambda> takes \(x\); both take"):
        implicit.root(lambda x, a: x - a, lambda x: x)
    with pytest.raises(jg.ArgumentError, match="adjoint must be 'solve' or 'iterate', not 'power'"):
        implicit.fixed_point(kepler, iterated, adjoint="power")
    with pytest.raises(jg.ArgumentError, match="with symmetric=True, the solver is the transpose_solver"):
        implicit.linear_solve(bidiagonal, forth, transpose_solver=back, symmetric=True)


def test_unknowns_of_other_kinds():
    pair = implicit.root(lambda x, a: (x[0] - a, x[1]), lambda x, a: (a, 0.0))
    with pytest.raises(jg.ArgumentError, match="the unknown of <lambda> is a tuple .*; it must be a float or an array"):
        jg.grad(lambda a: pair((1.0, 1.0), a)[0])(2.0)


def test_bounds_are_numbers():
    for bad in ("x", -1.0, True, float("nan")):
        with pytest.raises(jg.ArgumentError, match="root: tolerance must be a number that is at least 0, not"):
            implicit.root(power_residual, newton, tolerance=bad)
    with pytest.raises(jg.ArgumentError, match="fixed_point: max_iterations must be a positive int, not 2.5"):
        implicit.fixed_point(kepler, iterated, adjoint="iterate", max_iterations=2.5)


def test_an_equation_for_each_unknown():
    def solved(x, a):
        return x + a

    total = implicit.root(lambda x, a: np.sum(x - a), solved)
    with pytest.raises(jg.ArgumentError, match="root: the result of <lambda> is float64 where the unknown is an array"):
        jg.grad(lambda a: total(a, a).sum())(np.ones(3))
    first = implicit.root(lambda x, a: (x - a)[:1], solved)
    with pytest.raises(ValueError, match="root: the result of <lambda> must have the shape of the unknown"):
        jg.grad(lambda a: first(a, a).sum())(np.ones(3))


@pytest.mark.slow
def test_an_equation_for_each_unknown_of_other_solvers():
    at = np.ones(3), np.ones(3)
    iterated = implicit.fixed_point(lambda x, a: 0.5 * x[:1] + a[:1], lambda x, a: 2.0 * a, adjoint="iterate")
    with pytest.raises(ValueError, match="fixed_point: the result of <lambda> must have the shape of the unknown"):
        jg.jvp(iterated, at, at)
    short = implicit.linear_solve(lambda x, a: (a * x)[:1], lambda b, a: b / a)
    with pytest.raises(ValueError, match="linear_solve: the result of <lambda> must have the shape of the unknown"):
        jg.grad(lambda b, a: short(b, a).sum(), 1)(*at)


def test_an_iteration_that_diverges():
    repelling = implicit.fixed_point(lambda x, a: 3.0 * x + a, lambda x, a: -0.5 * a, adjoint="iterate")
    with pytest.raises(ArithmeticError, match="iterating the adjoint of <lambda> did not converge"):
        jg.grad(repelling, 1)(0.0, 1.0)


def test_an_iteration_in_single_precision():
    @njit
    def step(x, a):
        return np.cos(x) * a + np.float32(0.3) * x[::-1]

    @njit
    def found(x, a):
        for _ in range(200):
            x = step(x, a)
        return x

    a = np.linspace(0.1, 0.7, 5)
    single = jg.jacrev(implicit.fixed_point(step, found, adjoint="iterate"), 1)(
        np.ones(5, np.float32), a.astype(np.float32)
    )
    x = found(np.ones(5), a)
    matrix = np.eye(5) + np.diag(np.sin(x) * a) - 0.3 * np.eye(5)[::-1]
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, np.linalg.solve(matrix, np.diag(np.cos(x))), rtol=1e-5)


def test_an_equation_that_writes_into_its_arguments():
    def scaled(x, a):
        x *= 2.0
        return x - a

    careless = implicit.root(scaled, lambda x, a: 0.5 * a)
    with pytest.raises(jg.UnsupportedError, match="scaled writes into its argument x, which the derivative needs"):
        jg.grad(lambda a: careless(a, a).sum())(np.ones(2))
