"""Rules of matrix decompositions: cholesky, qr, eigh, eig, svd, lstsq.

Cholesky and the Hermitian eigenproblem read only the lower triangle, so that is where their cotangent goes.

Formulas after M. Giles (2008); I. Murray, "Differentiation of the Cholesky decomposition" (2016);
S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010) for QR;
D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation algorithms" (2020) for wide QR;
J. Townsend, "Differentiating the singular value decomposition" (2016); G. Golub and V. Pereyra (1973).

Vectors that belong to equal eigenvalues or singular values are an arbitrary basis of their space and have no
derivative. Their mutual rotation is taken as zero, which is exact for functions that do not depend on the
choice of the basis. The same holds for the phase of complex vectors in `eigh` and `svd`.
"""

from __future__ import annotations

import numpy as np

from jitgrad.rules.linalg import _square, adjoint, negated_product
from jitgrad.rules.registry import ArrayRule, Choose, register
from jitgrad.rules.support import is_complex
from jitgrad.runtime.kernels import compiled, ratio0


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


# ----- cholesky --------------------------------------------------------------------------------------------


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
        functions=(np.linalg.cholesky,), params="a", push={"a": _cholesky_push}, pull={"a": _cholesky_pull},
        cases=(lambda rng: (_positive(3)(rng),), lambda rng: (_positive(2, complex)(rng),), lambda rng: (np.array([[2.5]]),)),
        note="the cotangent is lower triangular, as the lower triangle is what is read",
    )
)  # fmt: skip

# ----- qr -----------------------------------------------------------------------------------------------------


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
    result[:, :m] = _qr_tall_pull(cq + dense_product(y, adjoint(c2)), np.ascontiguousarray(cr[:, :m]), q, np.ascontiguousarray(r[:, :m]))
    result[:, m:] = dense_product(q, c2)
    return result


register(
    ArrayRule(
        functions=(np.linalg.qr,), params="a", push={"a": _qr_push}, pull={"a": _qr_pull},
        cases=(
            lambda rng: (_square(3)(rng),), lambda rng: (rng.normal(size=(4, 2)),), lambda rng: (rng.normal(size=(2, 4)),),
            lambda rng: (rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2)),),
        ),
        note="of full column rank (of the leading square block for a wide matrix)",
    )
)  # fmt: skip

# ----- eigh, eigvalsh --------------------------------------------------------------------------------------------


@compiled
def _over_gap(x, y):
    """``1 / (y - x)``, zero for equal numbers."""
    if x == y:
        return (y - x) * 0
    return 1 / (y - x)


@compiled
def _eigh_push(dot, out):
    w, v = out
    n = w.size
    p = dense_product(dense_product(adjoint(v), hermitian_of_lower(dot)), v)
    dw = np.empty(n, w.dtype)
    for i in range(n):
        dw[i] = np.real(p[i, i])
        for j in range(n):
            p[i, j] = p[i, j] * _over_gap(w[i], w[j])
    return dw, dense_product(v, p)


@compiled
def _eigh_pull(ct, out):
    w, v = out
    n = w.size
    h = adjoint(v)
    p = dense_product(h, ct[1])
    for i in range(n):
        for j in range(n):
            p[i, j] = p[i, j] * _over_gap(w[i], w[j])
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
        functions=(np.linalg.eigh,), params="a", push={"a": _eigh_push}, pull={"a": _eigh_pull},
        cases=(lambda rng: (_positive(3)(rng),), lambda rng: (np.array([[2.5]]),)), note="see the module on equal eigenvalues",
    )
)  # fmt: skip
register(
    ArrayRule(
        functions=(np.linalg.eigvalsh,), params="a", push={"a": _eigvalsh_push}, pull={"a": _eigvalsh_pull},
        cases=(lambda rng: (_positive(3)(rng),), lambda rng: (_positive(2, complex)(rng),)),
    )
)  # fmt: skip

# ----- eig, eigvals ----------------------------------------------------------------------------------------------------
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
            p[i, j] = p[i, j] * _over_gap(w[i], w[j])
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
            p[i, j] = p[i, j] * np.conj(_over_gap(w[i], w[j]))
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
        functions=(np.linalg.eig,), params="a", push={"a": Choose(lambda t: _eig_push_complex if is_complex(t["a"]) else _eig_push)},
        pull={"a": Choose(lambda t: _eig_pull_complex if is_complex(t["a"]) else _eig_pull)}, cases=_EIG_CASES,
    )
)  # fmt: skip
register(ArrayRule(functions=(np.linalg.eigvals,), params="a", push={"a": _eigvals_push}, pull={"a": _eigvals_pull}, cases=_EIG_CASES))

# ----- svd ----------------------------------------------------------------------------------------------------------------


@compiled
def _svd_push(dot, out):
    u, s, vh = out
    k = s.size
    uk, vk = np.ascontiguousarray(u[:, :k]), adjoint(vh[:k, :])
    d = np.ascontiguousarray(dot)
    left = dense_product(d, vk)
    right = dense_product(adjoint(d), uk)
    p = dense_product(adjoint(uk), left)
    ds = np.empty(k, s.dtype)
    a, b = np.empty((k, k), u.dtype), np.empty((k, k), u.dtype)
    for i in range(k):
        ds[i] = np.real(p[i, i])
        for j in range(k):
            gap = _over_gap(s[i] * s[i], s[j] * s[j])
            a[i, j] = gap * (p[i, j] * s[j] + s[i] * np.conj(p[j, i]))
            b[i, j] = gap * (s[i] * p[i, j] + np.conj(p[j, i]) * s[j])
        # the phase, taken by u; zero for real matrices
        a[i, i] = ratio0(p[i, i] - np.real(p[i, i]), s[i])
    du, dv = np.empty(u.shape, u.dtype), np.empty((vh.shape[1], vh.shape[0]), u.dtype)
    left -= dense_product(uk, p)
    right -= dense_product(vk, adjoint(p))
    for j in range(k):
        for i in range(left.shape[0]):
            left[i, j] = ratio0(left[i, j], s[j])
        for i in range(right.shape[0]):
            right[i, j] = ratio0(right[i, j], s[j])
    du[:, :k] = dense_product(uk, a) + left
    dv[:, :k] = dense_product(vk, b) + right
    # full_matrices: the complements follow, staying orthogonal
    if u.shape[1] > k:
        rest = np.ascontiguousarray(u[:, k:])
        du[:, k:] = negated_product(uk, dense_product(adjoint(du[:, :k]), rest))
    if vh.shape[0] > k:
        rest = adjoint(vh[k:, :])
        dv[:, k:] = negated_product(vk, dense_product(adjoint(dv[:, :k]), rest))
    return du, ds, adjoint(dv)


@compiled
def _svd_pull(ct, out):
    u, s, vh = out
    k = s.size
    uk, vk = np.ascontiguousarray(u[:, :k]), adjoint(vh[:k, :])
    cu = np.ascontiguousarray(ct[0][:, :k])
    cv = adjoint(ct[2][:k, :])
    if u.shape[1] > k:
        # from d u_rest = -uk (d uk)^H u_rest
        rest = np.ascontiguousarray(u[:, k:])
        cu = cu - dense_product(rest, dense_product(adjoint(ct[0][:, k:]), uk))
    if vh.shape[0] > k:
        rest = adjoint(vh[k:, :])
        cv = cv - dense_product(rest, dense_product(np.ascontiguousarray(ct[2][k:, :]), vk))
    pu, pv = dense_product(adjoint(uk), cu), dense_product(adjoint(vk), cv)
    core = np.empty((k, k), u.dtype)
    for i in range(k):
        for j in range(k):
            gap = _over_gap(s[i] * s[i], s[j] * s[j])
            core[i, j] = gap * ((pu[i, j] - np.conj(pu[j, i])) * s[j] + s[i] * (pv[i, j] - np.conj(pv[j, i])))
        core[i, i] = ct[1][i] + ratio0(pu[i, i] - np.real(pu[i, i]), s[i])
    left = cu - dense_product(uk, pu)
    right = cv - dense_product(vk, pv)
    for j in range(k):
        for i in range(left.shape[0]):
            left[i, j] = ratio0(left[i, j], s[j])
        for i in range(right.shape[0]):
            right[i, j] = ratio0(right[i, j], s[j])
    vkh = adjoint(vk)
    return dense_product(dense_product(uk, core) + left, vkh) + dense_product(uk, adjoint(right))


register(
    ArrayRule(
        functions=(np.linalg.svd,), params="a, full_matrices=1", push={"a": _svd_push}, pull={"a": _svd_pull},
        cases=(
            lambda rng: (rng.normal(size=(3, 3)),), lambda rng: (rng.normal(size=(4, 2)), 0), lambda rng: (rng.normal(size=(2, 4)), 0),
        ),
        note="see the module on equal singular values",
    )
)  # fmt: skip

# ----- lstsq ----------------------------------------------------------------------------------------------------------------


@compiled
def _lstsq_parts(a, rank):
    """Pseudo-inverse of this rank, and the thin singular vectors."""
    u, s, vh = np.linalg.svd(np.ascontiguousarray(a), False)
    v = adjoint(vh)
    w = np.zeros(v.shape, a.dtype)
    for j in range(rank):
        for i in range(v.shape[0]):
            w[i, j] = v[i, j] / s[j]
    return dense_product(w, adjoint(u)), np.ascontiguousarray(u), vh


@compiled
def _lstsq_push_matrix(da, db, a, b, x, rank, residuals):
    p, u, vh = _lstsq_parts(a, rank)
    ph, dh = adjoint(p), adjoint(da)
    r = b - dense_product(a, x)
    q = dense_product(ph, x)
    change = db - dense_product(da, x)
    dx = dense_product(p, change) + dense_product(dense_product(p, ph), dense_product(dh, r))
    t = dense_product(dh, q)
    dx += t - dense_product(p, dense_product(a, t))
    dres = np.zeros(residuals.size, residuals.dtype)
    for j in range(residuals.size):
        for i in range(r.shape[0]):
            dres[j] += 2 * np.real(np.conj(r[i, j]) * change[i, j])
    inner = dense_product(adjoint(u), dense_product(da, adjoint(vh)))
    ds = np.empty(inner.shape[0], residuals.dtype)
    for i in range(ds.size):
        ds[i] = np.real(inner[i, i])
    return dx, dres, ds


@compiled
def _lstsq_pull_matrix(cx, cres, cs, a, b, x, rank):
    p, u, vh = _lstsq_parts(a, rank)
    ph = adjoint(p)
    r = b - dense_product(a, x)
    y = dense_product(ph, cx)
    q = dense_product(ph, x)
    px = dense_product(p, y)
    rest = cx - dense_product(p, dense_product(a, cx))
    cb = np.ascontiguousarray(y)
    ca = negated_product(y, adjoint(x)) + dense_product(r, adjoint(px)) + dense_product(q, adjoint(rest))
    if cres.size > 0:
        w = np.empty(r.shape, r.dtype)
        for i in range(r.shape[0]):
            for j in range(r.shape[1]):
                w[i, j] = 2 * r[i, j] * cres[j]
        cb = cb + w
        ca -= dense_product(w, adjoint(x))
    for j in range(cs.size):
        for i in range(u.shape[0]):
            u[i, j] = u[i, j] * cs[j]
    return ca + dense_product(u, vh), cb


@compiled
def _as_column(b):
    return np.ascontiguousarray(b).reshape((b.size, 1))


@compiled
def _lstsq_push_a(dot, a, b, out):
    dx, dres, ds = _lstsq_push_matrix(dot, np.zeros(b.shape, b.dtype), a, b, out[0], out[2], out[1])
    return dx, dres, 0, ds


@compiled
def _lstsq_push_b(dot, a, b, out):
    dx, dres, ds = _lstsq_push_matrix(np.zeros(a.shape, a.dtype), dot, a, b, out[0], out[2], out[1])
    return dx, dres, 0, ds


@compiled
def _lstsq_push_a_vector(dot, a, b, out):
    b2 = _as_column(b)
    dx, dres, ds = _lstsq_push_matrix(dot, np.zeros(b2.shape, b.dtype), a, b2, _as_column(out[0]), out[2], out[1])
    return dx.reshape(dx.size), dres, 0, ds


@compiled
def _lstsq_push_b_vector(dot, a, b, out):
    dx, dres, ds = _lstsq_push_matrix(np.zeros(a.shape, a.dtype), _as_column(dot), a, _as_column(b), _as_column(out[0]), out[2], out[1])
    return dx.reshape(dx.size), dres, 0, ds


@compiled
def _lstsq_pull(ct, a, b, out):
    # as many residuals as the run returned: none for underdetermined or rank-deficient systems
    return _lstsq_pull_matrix(ct[0], ct[1][: out[1].size], ct[3], a, b, out[0], out[2])


@compiled
def _lstsq_pull_vector(ct, a, b, out):
    ca, cb = _lstsq_pull_matrix(_as_column(ct[0]), ct[1][: out[1].size], ct[3], a, _as_column(b), _as_column(out[0]), out[2])
    return ca, cb.reshape(b.size)


@compiled
def _lstsq_pull_a(ct, a, b, out):
    return _lstsq_pull(ct, a, b, out)[0]


@compiled
def _lstsq_pull_b(ct, a, b, out):
    return _lstsq_pull(ct, a, b, out)[1]


@compiled
def _lstsq_pull_a_vector(ct, a, b, out):
    return _lstsq_pull_vector(ct, a, b, out)[0]


@compiled
def _lstsq_pull_b_vector(ct, a, b, out):
    return _lstsq_pull_vector(ct, a, b, out)[1]


def _by_rank(vector, matrix):
    return Choose(lambda t: vector if t["b"].ndim == 1 else matrix)


register(
    ArrayRule(
        functions=(np.linalg.lstsq,), params="a, b, rcond=-1.0",
        push={"a": _by_rank(_lstsq_push_a_vector, _lstsq_push_a), "b": _by_rank(_lstsq_push_b_vector, _lstsq_push_b)},
        pull={"a, b": _by_rank(_lstsq_pull_vector, _lstsq_pull), "a": _by_rank(_lstsq_pull_a_vector, _lstsq_pull_a),
              "b": _by_rank(_lstsq_pull_b_vector, _lstsq_pull_b)},
        cases=(
            lambda rng: (rng.normal(size=(5, 2)), rng.normal(size=5)), lambda rng: (rng.normal(size=(4, 2)), rng.normal(size=(4, 3))),
            lambda rng: (rng.normal(size=(2, 4)), rng.normal(size=2)),
        ),
        note="of constant rank",
    )
)  # fmt: skip
