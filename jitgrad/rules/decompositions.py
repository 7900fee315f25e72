"""Rules of matrix decompositions: cholesky, qr, eigh, eig. The others are in `singular`.

Cholesky and the Hermitian eigenproblem read only the lower triangle, so that is where their cotangent goes.

Formulas after M. Giles (2008); I. Murray, "Differentiation of the Cholesky decomposition" (2016);
S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010) for QR;
D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms" (2020) for wide QR.

Vectors that belong to equal eigenvalues or singular values are an arbitrary basis of their space and have no
derivative: it is not finite unless their mutual rotation does not matter because no cotangent reaches them, or is zero
(in forward mode). The phase of complex vectors in `eigh` and `svd` is held.
"""

from __future__ import annotations

import numpy as np

from jitgrad.rules.linalg import adjoint, square
from jitgrad.rules.registry import ArrayRule, Choose, register
from jitgrad.rules.support import is_complex
from jitgrad.runtime.kernels import compiled, mul0


@compiled
def dense_product(a, b):
    """``a @ b`` of matrices of any layout."""
    return np.dot(np.ascontiguousarray(a), np.ascontiguousarray(b))


@compiled
def hermitian_of_lower(a):
    """The Hermitian matrix with this lower triangle."""
    n = a.shape[0]
    out = np.empty((n, n), a.dtype)
    for i in range(n):
        for j in range(i):
            out[i, j] = a[i, j]
            out[j, i] = np.conj(a[i, j])
        out[i, i] = np.real(a[i, i])
    return out


@compiled
def fold_to_lower(x):
    """Cotangent of a lower triangle, from a cotangent of the Hermitian matrix it stands for."""
    n = x.shape[0]
    out = np.zeros((n, n), x.dtype)
    for i in range(n):
        for j in range(i):
            out[i, j] = x[i, j] + np.conj(x[j, i])
        out[i, i] = np.real(x[i, i])
    return out


@compiled
def _lower_half(a):
    """The lower triangle with its diagonal halved, in place."""
    for i in range(a.shape[0]):
        a[i, i] = a[i, i] / 2
        for j in range(i + 1, a.shape[1]):
            a[i, j] = 0
    return a


# ----- cholesky ------------------------------------------------------------------------------------


@compiled
def _cholesky_push(dot, out):
    left = np.linalg.solve(out, hermitian_of_lower(dot))
    s = adjoint(np.linalg.solve(out, adjoint(left)))
    return dense_product(out, _lower_half(s))


@compiled
def _cholesky_pull(ct, out):
    h = adjoint(out)
    p = _lower_half(dense_product(h, np.tril(ct)))
    left = np.ascontiguousarray(np.linalg.solve(h, p))
    # (left @ inv(out)): solve from the right
    return fold_to_lower(adjoint(np.linalg.solve(h, adjoint(left))))


def _positive(n, dtype=float):
    def make(rng):
        b = rng.normal(size=(n, n))
        b = b + 1j * rng.normal(size=(n, n)) if dtype is complex else b
        return b @ np.conj(b.T) + n * np.eye(n)

    return make


register(
    ArrayRule(
        functions=(np.linalg.cholesky,),
        params="a",
        push={"a": _cholesky_push},
        pull={"a": _cholesky_pull},
        cases=(
            lambda rng: (_positive(3)(rng),),
            lambda rng: (_positive(2, complex)(rng),),
            lambda rng: (np.array([[2.5]]),),
        ),
        note="the cotangent is lower triangular, as the lower triangle is what is read",
    )
)

# ----- qr ------------------------------------------------------------------------------------------


@compiled
def _right_solve(b, r):
    """``b @ inv(r)``."""
    return adjoint(np.linalg.solve(adjoint(r), adjoint(b)))


@compiled
def _rotation_of(c):
    """The skew part that QR takes from ``Q^H dA R^-1``: minus its lower triangle, reflected."""
    n = c.shape[0]
    out = np.empty((n, n), c.dtype)
    for i in range(n):
        for j in range(i):
            out[i, j] = c[i, j]
            out[j, i] = -np.conj(c[i, j])
        out[i, i] = c[i, i] - np.real(c[i, i])
    return out


@compiled
def _qr_tall_push(d, q, r):
    x = _right_solve(d, r)
    c = dense_product(adjoint(q), x)
    w = _rotation_of(c)
    rest = c - w
    return x - dense_product(q, rest), dense_product(rest, r)


@compiled
def _qr_push(dot, a, out):
    q, r = out
    m, n = a.shape
    if m >= n:
        return _qr_tall_push(dot, q, r)
    # wide: a = [x | y], x = q r1, r = [r1 | q^H y]
    dq, dr1 = _qr_tall_push(dot[:, :m], q, np.ascontiguousarray(r[:, :m]))
    dr = np.empty((m, n), a.dtype)
    dr[:, :m] = dr1
    dr[:, m:] = dense_product(adjoint(dq), a[:, m:]) + dense_product(adjoint(q), dot[:, m:])
    return dq, dr


@compiled
def _qr_tall_pull(cq, cr, q, r):
    m = dense_product(r, adjoint(cr)) - dense_product(adjoint(cq), q)
    n = m.shape[0]
    s = np.empty((n, n), m.dtype)
    for i in range(n):
        for j in range(i):
            s[i, j] = m[i, j]
            s[j, i] = np.conj(m[i, j])
        s[i, i] = np.real(m[i, i])
    b = cq + dense_product(q, s)
    # b @ inv(r)^H
    return adjoint(np.linalg.solve(np.ascontiguousarray(r), adjoint(b)))


@compiled
def _upper(c):
    """The upper triangle of a cotangent of R, whose lower one is constant; real on the diagonal."""
    out = np.zeros(c.shape, c.dtype)
    for i in range(c.shape[0]):
        for j in range(i, c.shape[1]):
            out[i, j] = c[i, j]
        if i < c.shape[1]:
            out[i, i] = np.real(c[i, i])
    return out


@compiled
def _qr_pull(ct, a, out):
    q, r = out
    m, n = a.shape
    cq, cr = np.ascontiguousarray(ct[0]), _upper(ct[1])
    if m >= n:
        return _qr_tall_pull(cq, cr, q, r)
    c2 = np.ascontiguousarray(ct[1][:, m:])
    y = np.ascontiguousarray(a[:, m:])
    result = np.empty((m, n), a.dtype)
    result[:, :m] = _qr_tall_pull(
        cq + dense_product(y, adjoint(c2)), np.ascontiguousarray(cr[:, :m]), q, np.ascontiguousarray(r[:, :m])
    )
    result[:, m:] = dense_product(q, c2)
    return result


register(
    ArrayRule(
        functions=(np.linalg.qr,),
        params="a",
        push={"a": _qr_push},
        pull={"a": _qr_pull},
        cases=(
            lambda rng: (square(3)(rng),),
            lambda rng: (rng.normal(size=(4, 2)),),
            lambda rng: (rng.normal(size=(2, 4)),),
            lambda rng: (rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2)),),
        ),
        note="of full column rank (of the leading square block for a wide matrix)",
    )
)

# ----- eigh, eigvalsh ------------------------------------------------------------------------------


@compiled
def over_gap(p, x, y):
    """``p / (y - x)``: for equal numbers zero if `p` is zero, else not finite."""
    gap = y - x
    return mul0(p, np.inf) if gap == 0 else p / gap


@compiled
def _eigh_push(dot, out):
    w, v = out
    n = w.size
    p = dense_product(dense_product(adjoint(v), hermitian_of_lower(dot)), v)
    dw = np.empty(n, w.dtype)
    for i in range(n):
        dw[i] = np.real(p[i, i])
        for j in range(n):
            p[i, j] = over_gap(p[i, j], w[i], w[j])
        p[i, i] = 0
    return dw, dense_product(v, p)


@compiled
def _eigh_pull(ct, out):
    w, v = out
    n = w.size
    h = adjoint(v)
    p = dense_product(h, ct[1])
    for i in range(n):
        for j in range(n):
            p[i, j] = over_gap(p[i, j], w[i], w[j])
        p[i, i] = ct[0][i]
    return fold_to_lower(dense_product(dense_product(v, p), h))


@compiled
def _eigvalsh_push(dot, a):
    return _eigh_push(dot, np.linalg.eigh(a))[0]


@compiled
def _eigvalsh_pull(ct, a):
    v = np.linalg.eigh(a)[1]
    scaled_v = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            scaled_v[i, j] = v[i, j] * ct[j]
    return fold_to_lower(dense_product(scaled_v, adjoint(v)))


register(
    ArrayRule(
        functions=(np.linalg.eigh,),
        params="a",
        push={"a": _eigh_push},
        pull={"a": _eigh_pull},
        cases=(lambda rng: (_positive(3)(rng),), lambda rng: (np.array([[2.5]]),)),
        note="see the module on equal eigenvalues",
    )
)
register(
    ArrayRule(
        functions=(np.linalg.eigvalsh,),
        params="a",
        push={"a": _eigvalsh_push},
        pull={"a": _eigvalsh_pull},
        cases=(lambda rng: (_positive(3)(rng),), lambda rng: (_positive(2, complex)(rng),)),
    )
)

# ----- eig, eigvals --------------------------------------------------------------------------------
# Vectors have unit norm; LAPACK turns a complex one so that its largest component is real.


@compiled
def _largest(v, j):
    k = 0
    for i in range(1, v.shape[0]):
        if abs(v[i, j]) > abs(v[k, j]):
            k = i
    return k


@compiled
def _eig_push(dot, out):
    w, v = out
    n = w.size
    p = np.linalg.solve(v, dense_product(dot, v))
    dw = np.empty(n, w.dtype)
    for i in range(n):
        dw[i] = p[i, i]
        for j in range(n):
            p[i, j] = over_gap(p[i, j], w[i], w[j])
        p[i, i] = 0
    dv = dense_product(v, p)
    for j in range(n):
        t = np.sum(np.real(dw[:0]))
        for i in range(n):
            t += np.real(np.conj(v[i, j]) * dv[i, j])
        for i in range(n):
            dv[i, j] -= t * v[i, j]
    return dw, dv


@compiled
def _eig_push_complex(dot, out):
    dw, dv = _eig_push(dot, out)
    v = out[1]
    for j in range(v.shape[1]):
        k = _largest(v, j)
        angle = dv[k, j].imag / v[k, j].real
        for i in range(v.shape[0]):
            dv[i, j] -= 1j * angle * v[i, j]
    return dw, dv


@compiled
def _eig_pull_vectors(cw, cv, w, v):
    n = w.size
    for j in range(n):
        t = np.sum(np.real(cw[:0]))
        for i in range(n):
            t += np.real(np.conj(v[i, j]) * cv[i, j])
        for i in range(n):
            cv[i, j] -= t * v[i, j]
    h = adjoint(v)
    p = dense_product(h, cv)
    for i in range(n):
        for j in range(n):
            p[i, j] = over_gap(p[i, j], np.conj(w[i]), np.conj(w[j]))
        p[i, i] = cw[i]
    return np.ascontiguousarray(np.linalg.solve(h, dense_product(p, h)))


@compiled
def _eig_pull(ct, out):
    return _eig_pull_vectors(ct[0], ct[1].copy(), out[0], out[1])


@compiled
def _eig_pull_complex(ct, out):
    w, v = out
    cv = ct[1].copy()
    for j in range(w.size):
        k = _largest(v, j)
        t = 0.0
        for i in range(w.size):
            t += (np.conj(cv[i, j]) * 1j * v[i, j]).real
        cv[k, j] -= 1j * (t / v[k, j].real)
    return _eig_pull_vectors(ct[0], cv, w, v)


@compiled
def _eigvals_push(dot, a):
    return _eig_push(dot, np.linalg.eig(a))[0]


@compiled
def _eigvals_pull(ct, a):
    w, v = np.linalg.eig(a)
    return _eig_pull_vectors(ct, np.zeros(a.shape, a.dtype), w, v)


_EIG_CASES = (
    lambda rng: (np.diag([1.0, 3.0, 6.0]) + 0.3 * rng.normal(size=(3, 3)),),
    lambda rng: (rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3)),),
)
register(
    ArrayRule(
        functions=(np.linalg.eig,),
        params="a",
        push={"a": Choose(lambda t: _eig_push_complex if is_complex(t["a"]) else _eig_push)},
        pull={"a": Choose(lambda t: _eig_pull_complex if is_complex(t["a"]) else _eig_pull)},
        cases=_EIG_CASES,
    )
)
register(
    ArrayRule(
        functions=(np.linalg.eigvals,),
        params="a",
        push={"a": _eigvals_push},
        pull={"a": _eigvals_pull},
        cases=_EIG_CASES,
    )
)
