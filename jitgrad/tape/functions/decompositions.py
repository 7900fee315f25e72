"""Matrix decompositions of `np.linalg`: cholesky, qr, eigh, eig, svd, each for stacks of matrices.

Formulas after M. Giles (2008); I. Murray, "Differentiation of the Cholesky decomposition" (2016); S. Walter and
L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010) for QR; J. Townsend, "Differentiating the
singular value decomposition" (2016). They are those of `jitgrad.rules.decompositions` and `jitgrad.rules.singular`,
with one exception: the cotangent of `np.linalg.cholesky` is symmetric, as TensorFlow's is.

Vectors that belong to equal eigenvalues or singular values are an arbitrary basis of their space and have no
derivative: it is not finite unless no cotangent reaches them. The phase of complex vectors in `eigh` and `svd` is held.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.errors import UnsupportedError
from jitgrad.tape.elementwise import namespace
from jitgrad.tape.functions.linalg import column, of_diagonal
from jitgrad.tape.functions.products import adjoint, as_array, conj
from jitgrad.tape.handlers import handles
from jitgrad.tape.primitive import Primitive, plain


def _row(x: Any) -> Any:
    return np.expand_dims(x, -2)


def _below(n: int) -> np.ndarray:
    """Where a matrix is strictly lower triangular."""
    return np.tri(n, k=-1, dtype=bool)


def _on_diagonal(x: Any, values: Any) -> Any:
    """`x` with another diagonal."""
    return np.where(np.eye(x.shape[-1], dtype=bool), column(values), x)


def _diagonal(x: Any) -> Any:
    return np.diagonal(x, 0, -2, -1)


def _hermitian_of_lower(x: Any) -> Any:
    """The Hermitian matrix with this lower triangle."""
    low = np.where(_below(x.shape[-1]), x, 0.0)
    return _on_diagonal(low + adjoint(low), np.real(_diagonal(x)))


def _folded(x: Any, lower: bool = True) -> Any:
    """Cotangent of one triangle, from a cotangent of the Hermitian matrix it stands for."""
    mask = _below(x.shape[-1])
    return _on_diagonal(np.where(mask if lower else mask.T, x + adjoint(x), 0.0), np.real(_diagonal(x)))


def _right_solved(b: Any, r: Any) -> Any:
    """``b @ inv(r)^H``."""
    return adjoint(np.linalg.solve(r, adjoint(b)))


def _over_gaps(p: Any, w: Any) -> Any:
    """``p[i, j] / (w[j] - w[i])``: for equal numbers zero if `p` is zero, else not finite; zero on the diagonal."""
    gap = np.where(np.eye(w.shape[-1], dtype=bool), np.inf, _row(w) - column(w))
    return _mul0(p, 1.0 / gap)


_mul0 = namespace()["mul0"]


def _filled(ct: tuple, out: tuple) -> list[Any]:
    """Cotangents of several results, zeros for those that are not used."""
    return [np.zeros(o.shape, o.dtype) if c is None else c for c, o in zip(ct, out, strict=True)]


# ----- cholesky ------------------------------------------------------------------------------------
def _cholesky_pull(ct, out, a):
    h = adjoint(out)
    p = h @ ct
    n = a.shape[-1]
    p = np.where(_below(n), p, 0.0) + of_diagonal(np.real(_diagonal(p))) * 0.5
    s = _right_solved(np.linalg.solve(h, p), h)
    return (s + adjoint(s)) * 0.5


_CHOLESKY = Primitive("Cholesky", np.linalg.cholesky, (_cholesky_pull,))


@handles(np.linalg.cholesky)
def cholesky(a, /, *, upper=False):
    return adjoint(_CHOLESKY(adjoint(a))) if upper else _CHOLESKY(a)


# ----- qr ------------------------------------------------------------------------------------------
def _qr_tall(cq, cr, q, r):
    m = r @ adjoint(cr) - adjoint(cq) @ q
    return _right_solved(cq + q @ _hermitian_of_lower(m), r)


def _qr_pull(ct, out, a):
    q, r = out
    cq, cr = _filled(ct, out)
    m, n = a.shape[-2:]
    # R is upper triangular, and its diagonal is real
    square = cr[..., :, :m] if m < n else cr
    square = np.where(_below(square.shape[-1]), 0.0, _on_diagonal(square, np.real(_diagonal(square))))
    if m >= n:
        return _qr_tall(cq, square, q, r)
    # wide: a = [x | y], x = q r1, r = [r1 | q^H y]
    rest = cr[..., :, m:]
    first = _qr_tall(cq + a[..., :, m:] @ adjoint(rest), square, q, r[..., :, :m])
    return np.concatenate([first, q @ rest], axis=-1)


_QR = Primitive("Qr", lambda a: tuple(np.linalg.qr(a)), (_qr_pull,))
_QR_RESULT = type(np.linalg.qr(np.eye(1)))


@handles(np.linalg.qr)
def qr(a, mode="reduced"):
    complete = mode == "complete" and a.shape[-2] <= a.shape[-1]
    if mode not in ("reduced", "r") and not complete:
        raise UnsupportedError(
            f"np.linalg.qr of tape values has no derivative with mode={mode!r}; use 'reduced' or 'r'"
        )
    q, r = _QR(a)
    return r if mode == "r" else _QR_RESULT(q, r)


# ----- eigh, eigvalsh ------------------------------------------------------------------------------
def _eigh_pull(ct, out, a, UPLO="L"):
    w, v = out
    cw, cv = _filled(ct, out)
    h = adjoint(v)
    inner = of_diagonal(cw) if ct[1] is None else _on_diagonal(_over_gaps(h @ cv, w), cw)
    return _folded(v @ inner @ h, UPLO.upper() == "L")


_EIGH = Primitive("SelfAdjointEigV2", lambda a, UPLO: tuple(np.linalg.eigh(a, UPLO)), (_eigh_pull,))
_EIGH_RESULT = type(np.linalg.eigh(np.eye(1)))


@handles(np.linalg.eigh)
def eigh(a, UPLO="L"):
    return _EIGH_RESULT(*_EIGH(a, UPLO=UPLO))


def _eigvalsh_pull(ct, out, a, UPLO="L"):
    v = np.linalg.eigh(a, UPLO)[1]
    return _folded((v * _row(ct)) @ adjoint(v), UPLO.upper() == "L")


_EIGVALSH = Primitive("SelfAdjointEigV2", np.linalg.eigvalsh, (_eigvalsh_pull,))


@handles(np.linalg.eigvalsh)
def eigvalsh(a, UPLO="L"):
    return _EIGVALSH(a, UPLO=UPLO)


# ----- eig, eigvals --------------------------------------------------------------------------------
def _eig_pull(ct, out, a):
    w, v = out
    cw, cv = _filled(ct, out)
    h = adjoint(v)
    inner = of_diagonal(cw)
    if ct[1] is not None:
        if v.dtype.kind == "c":
            # LAPACK turns a complex vector so that its largest component is real
            values = plain(v)
            largest = np.arange(values.shape[-1])[:, None] == np.argmax(np.abs(values), axis=-2)[..., None, :]
            turned = _row(np.sum(np.real(conj(cv) * 1j * v), axis=-2))
            cv = cv - np.where(largest, 1j * turned / np.where(largest, np.real(v), 1.0), 0.0)
        # vectors have unit norm
        cv = cv - _row(np.sum(np.real(conj(v) * cv), axis=-2)) * v
        inner = _on_diagonal(_over_gaps(h @ cv, conj(w)), cw)
    return np.linalg.solve(h, inner @ h)


_EIG = Primitive("Eig", lambda a: tuple(np.linalg.eig(a)), (_eig_pull,))
_EIG_RESULT = type(np.linalg.eig(np.eye(1)))


@handles(np.linalg.eig)
def eig(a):
    return _EIG_RESULT(*_EIG(a))


def _eigvals_pull(ct, out, a):
    h = adjoint(np.linalg.eig(a)[1])
    return np.linalg.solve(h, column(ct) * h)


_EIGVALS = Primitive("Eig", np.linalg.eigvals, (_eigvals_pull,))


@handles(np.linalg.eigvals)
def eigvals(a):
    return _EIGVALS(a)


# ----- svd -----------------------------------------------------------------------------------------
def _divided(x: Any, s: Any) -> Any:
    """Columns divided by singular values, zero for those that are zero."""
    zero = plain(s) == 0
    return np.where(_row(zero), 0.0, x / _row(np.where(zero, 1.0, s)))


def _svd_pull(ct, out, a, full_matrices=True):
    u, s, vh = out
    k = s.shape[-1]
    uk, vk = u[..., :, :k], adjoint(vh[..., :k, :])
    cs = np.zeros(s.shape, s.dtype) if ct[1] is None else ct[1]
    if ct[0] is None and ct[2] is None:
        return (uk * _row(cs)) @ adjoint(vk)
    full_u, _, full_v = _filled(ct, out)
    cu, cv = full_u[..., :, :k], adjoint(full_v[..., :k, :])
    if u.shape[-1] > k:  # from d u_rest = -uk (d uk)^H u_rest
        cu = cu - u[..., :, k:] @ (adjoint(full_u[..., :, k:]) @ uk)
    if vh.shape[-2] > k:
        cv = cv - adjoint(vh[..., k:, :]) @ (full_v[..., k:, :] @ vk)
    pu, pv = adjoint(uk) @ cu, adjoint(vk) @ cv
    # Term by term: they may cancel, where the quotient has a limit for equal values that is not zero.
    turns = [_over_gaps(p, s * s) - _over_gaps(adjoint(p), s * s) for p in (pu, pv)]
    core = turns[0] * _row(s) + column(s) * turns[1]
    if a.dtype.kind == "c":  # the phase, taken by u
        cs = cs + 1j * _divided(_row(np.imag(_diagonal(pu))), s)[..., 0, :]
    core = _on_diagonal(core, cs)
    left = uk @ core + _divided(cu - uk @ pu, s)
    return left @ adjoint(vk) + uk @ adjoint(_divided(cv - vk @ pv, s))


def _singular_values_pull(ct, out, a):
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return (u * _row(ct)) @ vh


_SVD = Primitive("Svd", lambda a, full_matrices: tuple(np.linalg.svd(a, full_matrices)), (_svd_pull,))
_SINGULAR_VALUES = Primitive("Svd", lambda a: np.linalg.svd(a, compute_uv=False), (_singular_values_pull,))
_SVD_RESULT = type(np.linalg.svd(np.eye(1)))


@handles(np.linalg.svd)
def svd(a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian:
        raise UnsupportedError("np.linalg.svd of tape values does not take hermitian=True; leave it out")
    if not compute_uv:
        return _SINGULAR_VALUES(a)
    return _SVD_RESULT(*_SVD(a, full_matrices=bool(full_matrices)))


@handles(np.linalg.svdvals)
def svdvals(x, /):
    return _SINGULAR_VALUES(as_array(x))
