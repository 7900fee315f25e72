"""Decompositions: derivatives by tapes against central differences, conventions for triangles and equal values."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient
from tests.tape.functions.test_products import of_complex

L = np.linalg
(A, B) = inputs((3, 3), (3, 3), low=-1.0, high=1.0)
SPREAD = A + np.diag([0.0, 2.0, 5.0])
TALL, WIDE = A[:, :2] + 0.1, A[:2] + 0.1
TURNING = np.array([[0.0, 2.0, 0.3], [-1.0, 0.1, 0.2], [0.5, 0.1, 3.0]])


def positive(a):
    return a @ np.swapaxes(a, -1, -2) + 2.0 * np.eye(a.shape[-1])


def of_hermitian(function):
    def split(re, im):
        z = re + 1j * im
        out = function(z @ np.conj(np.transpose(z)) + 2.0 * np.eye(3))
        return np.real(out), np.imag(out)

    return split


@cases(
    {
        "one": (L.cholesky, np.array([[2.5]])),
        "matrix": (lambda a: L.cholesky(positive(a)), A),
        "stack": (lambda a: L.cholesky(positive(a)), np.stack([A, B])),
        "upper": (lambda a: L.cholesky(positive(a), upper=True), A),
        "complex": (of_hermitian(L.cholesky), A, B),
        "log_determinant": (lambda a: np.sum(np.log(np.diagonal(L.cholesky(positive(a))))), A),
    }
)
def test_cholesky(f, xs):
    check(f, xs)


def test_the_cotangent_of_cholesky_is_symmetric():
    """As TensorFlow's, whichever triangle is read; its sum with the transpose is that of the lower triangle alone."""
    spd = positive(A)
    (found,) = taped_gradient(lambda a: np.sum(np.sin(L.cholesky(a))), [jg.constant(spd)])
    np.testing.assert_allclose(found, found.numpy().T, atol=1e-15)

    def of_lower(low):
        return L.cholesky(np.tril(low) + np.transpose(np.tril(low, -1)))

    (lower,) = taped_gradient(lambda a: np.sum(np.sin(of_lower(a))), [jg.constant(spd)])
    np.testing.assert_allclose(np.tril(lower), lower.numpy(), atol=1e-15)
    np.testing.assert_allclose(found.numpy() * (2 - np.eye(3)) * np.tri(3), lower, rtol=1e-12, atol=1e-14)


@cases(
    {
        "square": (L.qr, A),
        "tall": (L.qr, TALL),
        "wide": (L.qr, WIDE),
        "stack": (L.qr, np.stack([TALL, TALL[::-1] + 0.3])),
        "q": (lambda a: L.qr(a)[0], TALL),
        "r": (lambda a: L.qr(a, mode="r"), TALL),
        "complete_wide": (lambda a: L.qr(a, mode="complete"), WIDE),
        "complex": (of_complex(lambda z: L.qr(z)[0], (3, 2))[0], TALL, B[:, :2]),
        "complex_r": (of_complex(lambda z: L.qr(z)[1], (3, 2))[0], TALL, B[:, :2]),
    }
)
def test_qr(f, xs):
    check(f, xs)


@cases(
    {
        "symmetric": (lambda a: L.eigh(a + a.T), SPREAD),
        "lower": (L.eigh, SPREAD),
        "upper": (lambda a: L.eigh(a, UPLO="U"), SPREAD),
        "stack": (L.eigh, np.stack([SPREAD, SPREAD.T])),
        "vectors": (lambda a: L.eigh(a)[1], SPREAD),
        "values": (lambda a: L.eigh(a).eigenvalues, SPREAD),
        "eigvalsh": (L.eigvalsh, SPREAD),
        "eigvalsh_upper": (lambda a: L.eigvalsh(a, "U"), SPREAD),
        "complex_values": (lambda re, im: L.eigvalsh(re + 1j * im), SPREAD, B),
        "complex": (lambda re, im: np.abs(L.eigh(re + 1j * im)[1]), SPREAD, B),
    }
)
def test_eigh(f, xs):
    check(f, xs)


@cases(
    {
        "real": (L.eig, SPREAD),
        "values": (L.eigvals, SPREAD),
        "turning": (lambda a: (np.real(L.eig(a)[1]), np.imag(L.eig(a)[1])), TURNING),
        "turning_values": (lambda a: (np.real(L.eigvals(a)), np.imag(L.eigvals(a))), TURNING),
        "complex": (of_complex(lambda z: L.eig(z)[1], (3, 3))[0], SPREAD, B),
        "complex_values": (of_complex(L.eigvals, (3, 3))[0], SPREAD, B),
    }
)
def test_eig(f, xs):
    check(f, xs)


def projectors(a):
    """Of the full singular vectors, what does not depend on the choice of a basis."""
    u, _, vh = L.svd(a)
    k = min(a.shape)
    left, right = u[:, k:], vh[k:, :]
    return left @ left.T, right.T @ right, u[:, :k], vh[:k, :]


@cases(
    {
        "square": (L.svd, SPREAD),
        "tall": (lambda a: L.svd(a, full_matrices=False), TALL),
        "wide": (lambda a: L.svd(a, full_matrices=False), WIDE),
        "stack": (lambda a: L.svd(a, full_matrices=False), np.stack([TALL, TALL[::-1] + 0.3])),
        "full_tall": (projectors, TALL),
        "full_wide": (projectors, WIDE),
        "values": (lambda a: L.svd(a, compute_uv=False), TALL),
        "values_of_full": (lambda a: L.svd(a)[1], TALL),
        "svdvals": (L.svdvals, WIDE),
        "one_vector": (lambda a: L.svd(a, full_matrices=False).U[:, 0], TALL),
        "complex": (
            of_complex(lambda z: (lambda u, s, vh: u * s**2 @ vh)(*L.svd(z, full_matrices=False)), (3, 2))[0],
            TALL,
            B[:, :2],
        ),
    }
)
def test_svd(f, xs):
    check(f, xs)


def test_equal_eigenvalues():
    """Of values alone the gradient is exact; that of functions of the vectors is not finite, as they have none."""
    x = jg.constant(np.diag([1.0, 1.0, 2.0]))
    (found,) = taped_gradient(lambda a: np.sum(np.exp(L.eigh(a)[0])), [x])
    np.testing.assert_allclose(found, np.diag(np.exp([1.0, 1.0, 2.0])), atol=1e-14)
    (found,) = taped_gradient(lambda a: np.prod(L.svd(a)[1]), [jg.constant(np.eye(3))])
    np.testing.assert_allclose(found, np.eye(3), atol=1e-14)
    (found,) = taped_gradient(lambda a: L.eigh(a)[1][0, 2] + np.sum(L.svd(a)[1]), [x])
    np.testing.assert_allclose(found, [[1, 0, 0], [0, 1, 0], [1, 0, 1]], atol=1e-14)
    for f in (
        lambda a: np.sum((lambda w, v: (v * np.exp(w)) @ v.T)(*L.eigh(a)) * WEIGHTS),
        lambda a: np.sum((lambda u, s, vh: u @ vh)(*L.svd(a)) * WEIGHTS),
        lambda a: np.sum(L.eig(a)[1] * WEIGHTS),
    ):
        (found,) = taped_gradient(f, [x])
        assert not np.all(np.isfinite(found))


WEIGHTS = np.arange(9.0).reshape(3, 3) + 1.0


@pytest.mark.parametrize("f", [L.qr, L.eigh, L.eig, L.svd])
def test_named_tuples(f):
    found = f(jg.constant(SPREAD))
    assert type(found) is type(f(SPREAD))
    for field, part in zip(found._fields, found, strict=True):
        assert getattr(found, field) is part
        assert isinstance(part, jg.Tensor)


@pytest.mark.parametrize(
    "f", [lambda a: L.qr(a)[0], lambda a: L.eigh(a)[1], lambda a: L.svd(a)[0], L.eigvalsh, L.svdvals]
)
def test_single_precision_stays(f):
    x = jg.constant(SPREAD, dtype="float32")
    with jg.GradientTape() as outer:
        outer.watch(x)
        (slope,) = taped_gradient(lambda a: np.sum(f(a) ** 3), [x])
    assert f(x).dtype == slope.dtype == outer.gradient(slope, x).dtype == np.float32


def test_refusals():
    x = jg.constant(TALL)
    with pytest.raises(UnsupportedError, match="mode='complete'"):
        L.qr(x, mode="complete")
    with pytest.raises(UnsupportedError, match="mode='raw'"):
        L.qr(x, mode="raw")
    with pytest.raises(UnsupportedError, match="hermitian"):
        L.svd(x, hermitian=True)
    with pytest.raises(L.LinAlgError):
        L.cholesky(jg.constant(-np.eye(2)))
