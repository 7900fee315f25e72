"""Decompositions where differences of the function do not help: vectors are unique only up to a phase or a basis.

The tangents are checked against the equations that define the decomposition, the pullback against the tangent.
"""

import numpy as np
import pytest

import jitgrad
import jitgrad.rules as rules
from tests.rules.harness import Case, inner, noise


def H(a):
    return np.conj(a.T)


def random_matrix(rng, m, n, dtype):
    a = rng.normal(size=(m, n))
    return a + 1j * rng.normal(size=(m, n)) if dtype is complex else a


def check_adjoint(case, rng, d, pushed):
    ct = noise(rng, case.out)
    pulled = case.pulls(ct)["a"]
    assert inner(ct, pushed) == pytest.approx(inner(pulled, d), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(
    "full, m, n, dtype", [(1, 4, 2, float), (1, 2, 4, float), (1, 3, 3, complex), (0, 4, 2, complex)]
)
def test_svd(full, m, n, dtype):
    rng = np.random.default_rng(m + n)
    case = Case(rules.lookup(np.linalg.svd), (random_matrix(rng, m, n, dtype), full))
    u, s, vh = case.out
    d = random_matrix(rng, m, n, dtype)
    du, ds, dvh = pushed = case.push("a", d)
    k = s.size
    product = du[:, :k] * s @ vh[:k] + u[:, :k] * ds @ vh[:k] + u[:, :k] * s @ dvh[:k]
    np.testing.assert_allclose(product, d, atol=1e-12)
    np.testing.assert_allclose(H(u) @ du + H(H(u) @ du), 0, atol=1e-12)
    np.testing.assert_allclose(dvh @ H(vh) + H(dvh @ H(vh)), 0, atol=1e-12)
    check_adjoint(case, rng, d, pushed)


def test_eigh_of_a_complex_matrix():
    rng = np.random.default_rng(0)
    b = random_matrix(rng, 3, 3, complex)
    a = b + H(b)
    case = Case(rules.lookup(np.linalg.eigh), (a,))
    w, v = case.out
    e = random_matrix(rng, 3, 3, complex)
    d = e + H(e)
    dw, dv = pushed = case.push("a", d)
    np.testing.assert_allclose(dv * w @ H(v) + v * dw @ H(v) + v * w @ H(dv), d, atol=1e-12)
    np.testing.assert_allclose(H(v) @ dv + H(H(v) @ dv), 0, atol=1e-12)
    ct = noise(rng, case.out)
    # the pullback gives the cotangent of the lower triangle
    lower = np.tril(d)
    lower[np.diag_indices(3)] = lower.diagonal().real
    assert inner(ct, pushed) == pytest.approx(inner(case.pulls(ct)["a"], lower), rel=1e-10)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([1.0, 1.0, 2.0])])
def test_vectors_of_equal_values_have_no_finite_derivative(a):
    """Functions of the matrix have one there that cannot be told from cotangents: the product of what is 0 and inf."""
    rng = np.random.default_rng(1)
    c, d = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    c, d = c + c.T, d + d.T
    for function, extra in ((np.linalg.eigh, ()), (np.linalg.svd, (1,))):
        case = Case(rules.lookup(function), (a, *extra))
        if function is np.linalg.eigh:  # f(A) = sum(c * V diag(w**2) V^T)
            w, v = case.out
            ct = 2 * w * np.diag(v.T @ c @ v), 2 * c @ v * w**2
        else:  # f(A) = sum(c * U V^H)
            u, s, vh = case.out
            ct = c @ vh.T, np.zeros(3), u.T @ c
        assert not np.all(np.isfinite(case.pulls(ct)["a"]))
        assert not np.all(np.isfinite(case.push("a", d)[0 if function is np.linalg.svd else 1]))


def test_values_that_are_equal_have_one():
    a = np.diag([1.0, 1.0, 2.0])
    case = Case(rules.lookup(np.linalg.eigh), (a,))
    w, v = case.out
    np.testing.assert_allclose(case.pulls((np.exp(w), np.zeros((3, 3))))["a"], np.diag(np.exp(w)), atol=1e-14)
    # the third vector alone, which rotates with the others
    ct = np.zeros((3, 3))
    ct[0, 2] = 1.0
    got = case.pulls((np.zeros(3), ct))["a"]
    np.testing.assert_allclose(got, [[0, 0, 0], [0, 0, 0], [v[2, 2], 0, 0]], atol=1e-14)
    u, s, vh = (case := Case(rules.lookup(np.linalg.svd), (a, 1))).out
    np.testing.assert_allclose(case.pulls((0 * u, s, 0 * vh))["a"], a, atol=1e-14)
    np.testing.assert_allclose(case.push("a", np.eye(3))[1], np.ones(3), atol=1e-14)


def test_det_and_its_gradient_of_singular_matrices():
    for a in (np.array([[1.0, 2.0], [2.0, 4.0]]), np.zeros((2, 2)), np.array([[0.0]]), np.diag([1.0, 0.0, 0.0])):
        case = Case(rules.lookup(np.linalg.det), (a,))
        got = case.pulls(1.0)["a"]
        n = len(a)
        want = np.array(
            [[(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)] for i in range(n)]
        )
        np.testing.assert_allclose(got, want, atol=1e-12)


def test_svd_of_a_singular_square_matrix():
    """The little that rounding leaves outside the span of all singular vectors is not divided by a singular value."""
    a, d = np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[0.3, -0.2], [0.5, 0.7]])
    case = Case(rules.lookup(np.linalg.svd), (a, 1))
    u, s, vh = case.out
    du, ds, dvh = case.push("a", d)
    for q, dq in ((u, du), (vh, dvh)):
        np.testing.assert_allclose(dq @ q.T + q @ dq.T, 0.0, atol=1e-13)
    np.testing.assert_allclose((du * s) @ vh + (u * ds) @ vh + (u * s) @ dvh, d, atol=1e-13)
    check_adjoint(case, np.random.default_rng(1), d, (du, ds, dvh))


@pytest.mark.slow
def test_second_derivatives_of_det():
    """Of singular matrices too."""
    expected = np.zeros((2, 2, 2, 2))
    expected[0, 0, 1, 1] = expected[1, 1, 0, 0] = 1.0
    expected[0, 1, 1, 0] = expected[1, 0, 0, 1] = -1.0
    gradient = jitgrad.grad(lambda a: np.linalg.det(a))
    forward, reverse = jitgrad.jacfwd(gradient, chunk=1), jitgrad.jacrev(gradient)
    for a in (np.array([[1.0, 2.0], [2.0, 4.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])):
        np.testing.assert_allclose(forward(a), expected, atol=1e-13)
        np.testing.assert_allclose(reverse(a), expected, atol=1e-13)


def test_norm_at_zero_and_ties():
    norm = rules.lookup(np.linalg.norm)
    np.testing.assert_array_equal(Case(norm, (np.zeros(3),)).pulls(1.0)["x"], 0.0)
    np.testing.assert_array_equal(Case(norm, (np.array([2.0, -2.0, 1.0]), np.inf)).pulls(1.0)["x"], [0.5, -0.5, 0.0])


def test_slogdet_of_a_singular_matrix_is_loud_only_where_used():
    case = Case(rules.lookup(np.linalg.slogdet), (np.zeros((2, 2)),))
    np.testing.assert_array_equal(case.pulls((1.0, 0.0))["a"], 0.0)
    assert np.isnan(case.pulls((0.0, 1.0))["a"]).all()
