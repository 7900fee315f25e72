"""Several directions to a sweep, and sweeps in threads: the same numbers as one direction at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.typed import List

import jitgrad as jg
from jitgrad.backend import derivative
from jitgrad.backend.engine import Forward
from jitgrad.transforms.request import JvpRequest

X = np.linspace(0.5, 1.5, 5)


@njit
def rosen(x):
    s = 0.0
    for i in range(x.size - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


@njit
def products(x, k, s):
    """A matrix and a number, of an array and a number."""
    y = np.empty((2, x.size))
    for i in range(x.size):
        y[0, i] = s * x[i] * k
        y[1, i] = x[i] * x[i - 1]
    return y, s * s


def expected(x, k, s):
    n = x.size
    by_x = np.zeros((2, n, n))
    for i in range(n):
        by_x[0, i, i] = s * k
        by_x[1, i, i] += x[i - 1]
        by_x[1, i, i - 1] += x[i]
    by_s = np.zeros((2, n))
    by_s[0] = x * k
    return by_x, by_s


# ----- Jacobians ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "options",
    [
        {"chunk": 4},
        pytest.param({"chunk": 4, "parallel": True}, marks=pytest.mark.slow),
        pytest.param({"chunk": 1, "parallel": True}, marks=pytest.mark.slow),
        pytest.param({"mode": "reverse", "parallel": True}, marks=pytest.mark.slow),
    ],
)
def test_jacobian(options):
    """A last chunk that is not full, and one that spans two arguments."""
    found = jg.jacobian(products, (0, 2), **({"mode": "forward"} | options))(X, 3, 0.5)
    by_x, by_s = expected(X, 3, 0.5)
    (got_x, got_s), (square_x, square_s) = found
    np.testing.assert_array_equal(got_x, by_x)
    np.testing.assert_array_equal(got_s, by_s)
    np.testing.assert_array_equal(square_x, np.zeros(5))
    assert square_s == 1.0 and isinstance(square_s, float)


def test_width_suits_the_function():
    """As many directions as numbers; one where tangents cannot be vectors."""
    assert "jvp2(" in jg.source(jg.jacfwd(lambda a, b: a * b, (0, 1)), 1.0, 2.0)
    by_complex = jg.jacfwd(lambda z: z * z)
    assert "jvp(" in jg.source(by_complex, 1j)
    np.testing.assert_array_equal(by_complex(1.0 + 2.0j), [[2.0, -4.0], [4.0, 2.0]])


@pytest.mark.slow
def test_empty():
    assert jg.jacfwd(products, 0)(np.zeros(0), 1, 1.0)[0].shape == (2, 0, 0)


def test_hessian():
    x = np.linspace(-1.0, 1.0, 7)
    found = jg.hessian(rosen, chunk=4)(x)
    n = x.size
    by_hand = np.zeros((n, n))
    for i in range(n - 1):
        by_hand[i, i] += 2.0 + 1200.0 * x[i] ** 2 - 400.0 * x[i + 1]
        by_hand[i + 1, i + 1] += 200.0
        by_hand[i, i + 1] -= 400.0 * x[i]
        by_hand[i + 1, i] -= 400.0 * x[i]
    np.testing.assert_allclose(found, by_hand, rtol=1e-12)


@pytest.mark.slow
def test_hessian_in_threads():
    """Bit for bit what one thread computes."""
    x = np.random.default_rng(0).normal(size=20)
    np.testing.assert_array_equal(jg.hessian(rosen, chunk=4, parallel=True)(x), jg.hessian(rosen, chunk=4)(x))


def test_errors_come_out_of_threads():
    """With the message of the function, whichever sweep it was."""

    @njit
    def f(x):
        if x[0] < 0.0:
            raise ValueError("negative")
        return x * x

    jacobian = jg.jacfwd(f, chunk=2, parallel=True)
    np.testing.assert_array_equal(jacobian(X), np.diag(2.0 * X))
    with pytest.raises(ValueError, match="^negative$"):
        jacobian(-X)


def test_chosen_mode():
    auto = jg.jacobian(lambda x: np.array([x[0] * x[1], x[1]]))
    assert jg.chosen_mode(auto, np.ones(2)) == "forward"
    assert jg.chosen_mode(auto, np.ones(3)) == "reverse"
    assert jg.chosen_mode(jg.jacrev(rosen), X) == "reverse"
    with pytest.raises(jg.ArgumentError, match="chosen_mode needs what jacobian returns"):
        jg.chosen_mode(rosen, X)
    with pytest.raises(jg.ArgumentError, match="not <sparse Jacobian of products at .*the attribute mode"):
        jg.chosen_mode(jg.jacobian(products, sparsity="detect"), X)


# ----- products with matrices ----------------------------------------------------------------------------
def test_several_tangents():
    """More directions than a chunk holds, and none."""
    rng = np.random.default_rng(0)
    by_x, by_s = expected(X, 3, 0.5)
    for p in (6, 0):
        seeds, numbers = rng.normal(size=(5, p)), rng.normal(size=p)
        (_, square), (dot, square_dot) = jg.jvp(products, (X, 3, 0.5), (seeds, numbers), several=True, chunk=4)
        assert square == 0.25 and square_dot.shape == (p,)
        np.testing.assert_allclose(dot, by_x @ seeds + by_s[..., None] * numbers, rtol=1e-14)
        np.testing.assert_allclose(square_dot, numbers)
    hessian = jg.hessian(rosen)(X)
    np.testing.assert_allclose(jg.hvp(rosen, (X,), (np.eye(5)[:, 1:],), several=True), hessian[:, 1:], rtol=1e-13)


def test_several_tangents_in_nopython_code():
    @njit
    def norm(x, seeds):
        return (jg.jvp(rosen, (x,), (seeds,), several=True, chunk=2)[1] ** 2).sum()

    @njit
    def product(x, seeds):
        return jg.hvp(rosen, (x,), (seeds,), several=True, chunk=2)

    seeds = np.random.default_rng(0).normal(size=(5, 3))
    gradient, hessian = jg.grad(rosen)(X), jg.hessian(rosen)(X)
    np.testing.assert_allclose(norm(X, seeds), ((gradient @ seeds) ** 2).sum(), rtol=1e-13)
    np.testing.assert_allclose(product(X, seeds), hessian @ seeds, rtol=1e-13)
    # and differentiated again
    np.testing.assert_allclose(jg.grad(norm)(X, seeds), 2.0 * hessian @ seeds @ (gradient @ seeds), rtol=1e-12)
    with pytest.raises(TypingError, match="several must be True or False, as a constant"):
        njit(lambda x, s, flag: jg.jvp(rosen, (x,), (s,), several=flag))(X, seeds, True)


@pytest.mark.slow
def test_several_complex_tangents():
    z = np.array([1.0 + 2.0j, -1.0j])
    seeds = np.array([[1.0, 1j, 0.5], [1.0, 2.0, 1j]])
    _, dot = jg.jvp(lambda z: z * z, (z,), (seeds,), several=True)
    np.testing.assert_allclose(dot, 2.0 * z[:, None] * seeds, rtol=1e-15)


def test_arguments_that_are_written():
    """Every sweep starts from the arguments as they came; they end as the function leaves them."""

    @njit
    def double(x, out):
        for i in range(x.size):
            x[i] *= 2.0
            out[i] = x[i] * x[i]

    x, out = X.copy(), np.zeros(5)
    _, (dot,) = jg.jvp(double, (x, out), (np.eye(5), np.zeros((5, 5))), outs=1, several=True, chunk=2)
    np.testing.assert_allclose(dot, np.diag(8.0 * X), rtol=1e-15)
    np.testing.assert_array_equal(x, 2.0 * X)
    np.testing.assert_array_equal(out, 4.0 * X * X)


# ----- nesting -------------------------------------------------------------------------------------------
def test_a_chunked_derivative_is_differentiated_again():
    """The front end reads the form with one direction to a sweep."""
    third = jg.jacfwd(jg.hessian(rosen, chunk=2), chunk=2)(X)
    i = np.arange(4)
    by_hand = np.zeros((5, 5, 5))
    by_hand[i, i, i] += 2400.0 * X[i]
    for a, b, c in ((i, i, i + 1), (i, i + 1, i), (i + 1, i, i)):
        by_hand[a, b, c] -= 400.0
    np.testing.assert_allclose(third, by_hand, rtol=1e-12)


# ----- one direction at a time -----------------------------------------------------------------------------
def test_programs_without_vectors():
    """Recursion, typed lists and complex numbers inside: a loop around the derivative of one direction."""

    @njit
    def power(x, n):
        return x * power(x, n - 1) if n > 0 else 1.0

    @njit
    def listed(x):
        items = List()
        for v in x:
            items.append(v * v)
        return items[0] + items[1] * abs(1j * x[2])

    for function, args, slope in (
        (lambda x: power(x, 3), (2.0,), 12.0),
        (listed, (np.array([1.0, 2.0, 3.0]),), np.array([2.0, 12.0, 4.0])),
    ):
        direction = np.ones(np.shape(args[0]) + (2,)) * [1.0, -2.0]
        wide = derivative(jg.backend.dispatcher.dispatcher_of(function), Forward(JvpRequest((0,), width=2)))
        _, dot = wide((direction,), *args)
        np.testing.assert_allclose(dot, np.sum(slope) * np.array([1.0, -2.0]), rtol=1e-14)


# ----- messages --------------------------------------------------------------------------------------------
def test_messages():
    for call, message in (
        (lambda: jg.jacfwd(rosen, chunk=0), "chunk must be between 1 and 64, not 0"),
        (lambda: jg.hessian(rosen, chunk=1.5), r"chunk must be an int or None, not 1.5 \(float\)"),
        (lambda: jg.jvp(rosen, (X,), (X,), chunk=4), "chunk is for several directions at once: pass several=True"),
        (lambda: jg.jvp(rosen, (X,), (X,), several=True), r"has shape \(5,\).*pass \(5, number of directions\)"),
        (lambda: jg.hvp(rosen, (X,), (np.eye(5)[:, :2],)), r"has shape \(5,\); columns of directions .* several=True"),
        (lambda: jg.jvp(math.sin, (1.0,), (1.0,), several=True), r"pass \(number of directions,\)"),
        (lambda: jg.jvp(rosen, (List(X),), (X,), several=True), "tangents have no axis of directions"),
        (
            lambda: jg.jvp(lambda x, k: k * x, (X, 2.0), (np.ones((5, 3)), np.ones(2)), several=True),
            r"the tangent of argument 0 \(x\) has 3 directions, a tangent of argument 1 \(k\) 2",
        ),
    ):
        with pytest.raises((jg.ArgumentError, jg.ShapeError), match=message):
            call()
