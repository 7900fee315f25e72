"""Rules of the singular value decomposition and of least squares.

After J. Townsend, "Differentiating the singular value decomposition" (2016), and G. Golub and V. Pereyra
(1973). Equal singular values and the phase of complex vectors are treated as in `decompositions`.
"""

from __future__ import annotations

import numpy as np

from jitgrad.rules.decompositions import dense_product, over_gap
from jitgrad.rules.linalg import adjoint, negated_product
from jitgrad.rules.registry import ArrayRule, Choose, register
from jitgrad.runtime.kernels import compiled, ratio0

# ----- svd -----------------------------------------------------------------------------------------


@compiled
def _outside(x, q, inside, s):
    """``(x - q inside) / s`` by columns: the part of `x` outside the span of the columns of `q`.

    Zero where these span the whole space. Rounding would leave something there, and a small singular value enlarge it.
    """
    if q.shape[0] == q.shape[1]:
        return np.zeros(x.shape, x.dtype)
    out = x - dense_product(q, inside)
    for j in range(s.size):
        for i in range(out.shape[0]):
            out[i, j] = ratio0(out[i, j], s[j])
    return out


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
    a, b = np.zeros((k, k), u.dtype), np.zeros((k, k), u.dtype)
    for i in range(k):
        ds[i] = np.real(p[i, i])
        for j in range(k):
            if i != j:
                x, y = s[i] * s[i], s[j] * s[j]
                first, second = over_gap(p[i, j], x, y), over_gap(np.conj(p[j, i]), x, y)
                a[i, j] = first * s[j] + s[i] * second
                b[i, j] = s[i] * first + second * s[j]
        # the phase, taken by u; zero for real matrices
        a[i, i] = ratio0(p[i, i] - np.real(p[i, i]), s[i])
    du, dv = np.empty(u.shape, u.dtype), np.empty((vh.shape[1], vh.shape[0]), u.dtype)
    du[:, :k] = dense_product(uk, a) + _outside(left, uk, p, s)
    dv[:, :k] = dense_product(vk, b) + _outside(right, vk, adjoint(p), s)
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
            if i != j:
                # Term by term: they may cancel, where the quotient has a limit for equal values that is not zero.
                x, y = s[i] * s[i], s[j] * s[j]
                core[i, j] = (over_gap(pu[i, j], x, y) - over_gap(np.conj(pu[j, i]), x, y)) * s[j]
                core[i, j] += (over_gap(pv[i, j], x, y) - over_gap(np.conj(pv[j, i]), x, y)) * s[i]
        core[i, i] = ct[1][i] + ratio0(pu[i, i] - np.real(pu[i, i]), s[i])
    left, right = _outside(cu, uk, pu, s), _outside(cv, vk, pv, s)
    vkh = adjoint(vk)
    return dense_product(dense_product(uk, core) + left, vkh) + dense_product(uk, adjoint(right))


register(
    ArrayRule(
        functions=(np.linalg.svd,),
        params="a, full_matrices=1",
        push={"a": _svd_push},
        pull={"a": _svd_pull},
        cases=(
            lambda rng: (rng.normal(size=(3, 3)),),
            lambda rng: (rng.normal(size=(4, 2)), 0),
            lambda rng: (rng.normal(size=(2, 4)), 0),
        ),
        note="see `decompositions` on equal singular values",
    )
)

# ----- lstsq ---------------------------------------------------------------------------------------


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
    dx, dres, ds = _lstsq_push_matrix(
        np.zeros(a.shape, a.dtype), _as_column(dot), a, _as_column(b), _as_column(out[0]), out[2], out[1]
    )
    return dx.reshape(dx.size), dres, 0, ds


@compiled
def _lstsq_pull(ct, a, b, out):
    # as many residuals as the run returned: none for underdetermined or rank-deficient systems
    return _lstsq_pull_matrix(ct[0], ct[1][: out[1].size], ct[3], a, b, out[0], out[2])


@compiled
def _lstsq_pull_vector(ct, a, b, out):
    ca, cb = _lstsq_pull_matrix(
        _as_column(ct[0]), ct[1][: out[1].size], ct[3], a, _as_column(b), _as_column(out[0]), out[2]
    )
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
        functions=(np.linalg.lstsq,),
        params="a, b, rcond=-1.0",
        push={"a": _by_rank(_lstsq_push_a_vector, _lstsq_push_a), "b": _by_rank(_lstsq_push_b_vector, _lstsq_push_b)},
        pull={
            "a, b": _by_rank(_lstsq_pull_vector, _lstsq_pull),
            "a": _by_rank(_lstsq_pull_a_vector, _lstsq_pull_a),
            "b": _by_rank(_lstsq_pull_b_vector, _lstsq_pull_b),
        },
        cases=(
            lambda rng: (rng.normal(size=(5, 2)), rng.normal(size=5)),
            lambda rng: (rng.normal(size=(4, 2)), rng.normal(size=(4, 3))),
            lambda rng: (rng.normal(size=(2, 4)), rng.normal(size=2)),
        ),
        note="of constant rank",
    )
)
