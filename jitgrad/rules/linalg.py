"""Rules of `np.linalg`: inverses, determinants, systems, norms. Decompositions are in `decompositions`.

Formulas after M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), and for least squares and pseudo-inverses G. Golub and V. Pereyra (1973).
"""

from __future__ import annotations

import numpy as np

from jitgrad.rules.registry import ArrayRule, Choose, RewriteRule, ZeroRule, register
from jitgrad.rules.support import is_complex, is_none
from jitgrad.runtime.arrays import flat
from jitgrad.runtime.kernels import compiled, ratio0


@compiled
def adjoint(a):
    """The conjugate transpose, as a new C-contiguous array."""
    m, n = a.shape
    out = np.empty((n, m), a.dtype)
    for i in range(m):
        for j in range(n):
            out[j, i] = np.conj(a[i, j])
    return out


@compiled
def scaled(a, factor):
    """``a * factor`` in the dtype of `a`: a Python float would widen float32 arrays."""
    out = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] * factor
    return out


@compiled
def negated_product(a, b):
    """``-(a @ b)``."""
    return -np.dot(np.ascontiguousarray(a), np.ascontiguousarray(b))


def square(n, shift=3.0, dtype=float):
    """A well-conditioned matrix; for complex dtype with an imaginary part."""

    def make(rng):
        a = rng.normal(size=(n, n)) + shift * np.eye(n)
        return a + 1j * rng.normal(size=(n, n)) if dtype is complex else a

    return make


# ----- inv -----------------------------------------------------------------------------------------


@compiled
def _inv_push(dot, out):
    return negated_product(np.dot(np.ascontiguousarray(out), np.ascontiguousarray(dot)), out)


@compiled
def _inv_pull(ct, out):
    h = adjoint(out)
    return negated_product(np.dot(h, np.ascontiguousarray(ct)), h)


register(
    ArrayRule(
        functions=(np.linalg.inv,),
        params="a",
        push={"a": _inv_push},
        pull={"a": _inv_pull},
        cases=(
            lambda rng: (square(3)(rng),),
            lambda rng: (square(2, dtype=complex)(rng),),
            lambda rng: (np.array([[2.5]]),),
        ),
    )
)

# ----- det, slogdet --------------------------------------------------------------------------------


@compiled
def cofactors(a, det):
    """Derivatives of the determinant in each element, exact for singular matrices too.

    For a singular matrix from the singular values: cofactors are multiplicative, and those of a unitary
    matrix are its determinant times its conjugate.
    """
    n = a.shape[0]
    if n == 0:
        return np.empty((0, 0), a.dtype)  # not `a` itself: what a caller writes into may not be a part of an argument
    if det != 0:
        return scaled(np.ascontiguousarray(np.linalg.inv(a).T), det)
    u, s, vh = np.linalg.svd(a)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    w = np.empty((n, n), a.dtype)
    for j in range(n):
        others = phase
        for k in range(n):
            if k != j:
                others = others * s[k]
        for i in range(n):
            w[i, j] = np.conj(u[i, j]) * others
    return np.dot(w, np.conj(np.ascontiguousarray(vh)))


@compiled
def _det_push(dot, a, out):
    c = cofactors(a, out)
    t = np.sum(dot[:0])
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            t += c[i, j] * dot[i, j]
    return t


@compiled
def _det_pull(ct, a, out):
    c = cofactors(a, out)
    g = np.empty(c.shape, c.dtype)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            g[i, j] = np.conj(c[i, j]) * ct
    return g


register(
    ArrayRule(
        functions=(np.linalg.det,),
        params="a",
        push={"a": _det_push},
        pull={"a": _det_pull},
        cases=(
            lambda rng: (square(3)(rng),),
            lambda rng: (square(2, dtype=complex)(rng),),
            lambda rng: (np.array([[2.5]]),),
            lambda rng: (np.array([[1.0, 2.0], [2.0, 4.0]]),),
            lambda rng: (np.zeros((2, 2)),),
            lambda rng: (np.array([[0.0, 2.0], [0.0, 3.0]]),),
        ),
    )
)


@compiled
def _trace_of_solve(a, dot):
    """``trace(inv(a) @ dot)``."""
    x = np.linalg.solve(a, np.ascontiguousarray(dot))
    t = np.sum(x[:0])
    for i in range(x.shape[0]):
        t += x[i, i]
    return t


@compiled
def _slogdet_push(dot, a):
    return (0.0, _trace_of_solve(a, dot))


@compiled
def _slogdet_push_complex(dot, a, out):
    t = _trace_of_solve(a, dot)
    return (out[0] * 1j * t.imag, t.real)


@compiled
def _slogdet_pull(ct, a, out):
    if ct[1] == 0:
        return np.zeros(a.shape, a.dtype)
    if out[0] == 0:
        # singular: no derivative
        return np.full(a.shape, np.nan, a.dtype)
    return scaled(np.ascontiguousarray(np.linalg.inv(a).T), ct[1])


@compiled
def _slogdet_pull_complex(ct, a, out):
    phase = np.real(np.conj(ct[0]) * 1j * out[0])
    return scaled(adjoint(np.linalg.inv(a)), ct[1] + 1j * phase)


register(
    ArrayRule(
        functions=(np.linalg.slogdet,),
        params="a",
        push={"a": Choose(lambda t: _slogdet_push_complex if is_complex(t["a"]) else _slogdet_push)},
        pull={"a": Choose(lambda t: _slogdet_pull_complex if is_complex(t["a"]) else _slogdet_pull)},
        cases=(
            lambda rng: (square(3)(rng),),
            lambda rng: (-square(3)(rng),),
            lambda rng: (square(2, dtype=complex)(rng),),
        ),
        note="nan for a singular matrix",
    )
)

# ----- solve ---------------------------------------------------------------------------------------


@compiled
def _solve_push_a(dot, a, out):
    return -np.linalg.solve(a, np.dot(np.ascontiguousarray(dot), np.ascontiguousarray(out)))


@compiled
def _solve_push_b(dot, a):
    return np.linalg.solve(a, dot)


@compiled
def _solve_pull_b(ct, a):
    return np.ascontiguousarray(np.linalg.solve(adjoint(a), ct))


@compiled
def _minus_outer(w, x):
    """``-w x^H`` for vectors."""
    out = np.empty((w.size, x.size), w.dtype)
    for i in range(w.size):
        for j in range(x.size):
            out[i, j] = -w[i] * np.conj(x[j])
    return out


@compiled
def _solve_pull_vector(ct, a, out):
    w = np.linalg.solve(adjoint(a), ct)
    return _minus_outer(w, out), np.ascontiguousarray(w)


@compiled
def _solve_pull_matrix(ct, a, out):
    w = np.ascontiguousarray(np.linalg.solve(adjoint(a), ct))
    return negated_product(w, adjoint(out)), w


@compiled
def _solve_pull_a_vector(ct, a, out):
    return _solve_pull_vector(ct, a, out)[0]


@compiled
def _solve_pull_a_matrix(ct, a, out):
    return _solve_pull_matrix(ct, a, out)[0]


def _by_rank(name, vector, matrix):
    return Choose(lambda t: vector if t[name].ndim == 1 else matrix)


register(
    ArrayRule(
        functions=(np.linalg.solve,),
        params="a, b",
        push={"a": _solve_push_a, "b": _solve_push_b},
        pull={
            "a, b": _by_rank("b", _solve_pull_vector, _solve_pull_matrix),
            "a": _by_rank("b", _solve_pull_a_vector, _solve_pull_a_matrix),
            "b": _solve_pull_b,
        },
        cases=(
            lambda rng: (square(3)(rng), rng.normal(size=3)),
            lambda rng: (square(3)(rng), rng.normal(size=(3, 2))),
            lambda rng: (square(2, dtype=complex)(rng), rng.normal(size=2) + 1j * rng.normal(size=2)),
            lambda rng: (square(2, dtype=complex)(rng), rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2))),
            lambda rng: (square(3)(rng).T, rng.normal(size=6)[::2]),
        ),
    )
)

# ----- pseudo-inverse ------------------------------------------------------------------------------


@compiled
def _complement(a, b):
    """``I - a @ b``."""
    out = negated_product(a, b)
    for i in range(out.shape[0]):
        out[i, i] += 1
    return out


@compiled
def _pinv_push(dot, a, out):
    p, h, d = np.ascontiguousarray(out), adjoint(out), np.ascontiguousarray(dot)
    dh = adjoint(d)
    first = negated_product(np.dot(p, d), p)
    second = np.dot(np.dot(np.dot(p, h), dh), _complement(a, p))
    third = np.dot(np.dot(np.dot(_complement(p, a), dh), h), p)
    return first + second + third


@compiled
def _pinv_pull(ct, a, out):
    p, h, c = np.ascontiguousarray(out), adjoint(out), adjoint(ct)
    first = negated_product(np.dot(h, np.ascontiguousarray(ct)), h)
    second = np.dot(_complement(a, p), np.dot(c, np.dot(p, h)))
    third = np.dot(np.dot(np.dot(h, p), c), _complement(p, a))
    return first + second + third


register(
    ArrayRule(
        functions=(np.linalg.pinv,),
        params="a, rcond=1e-15",
        push={"a": _pinv_push},
        pull={"a": _pinv_pull},
        cases=(
            lambda rng: (rng.normal(size=(4, 2)),),
            lambda rng: (rng.normal(size=(2, 4)),),
            lambda rng: (square(3)(rng),),
            lambda rng: (rng.normal(size=(3, 2)) + 1j * rng.normal(size=(3, 2)),),
        ),
        note="of constant rank",
    )
)

# ----- norm ----------------------------------------------------------------------------------------


@compiled
def _unit(x):
    """``x / |x|``, zero at zero."""
    return ratio0(x, abs(x))


@compiled
def _norm2_slopes(x, out):
    g = np.empty(x.shape, x.dtype)
    y, v = g.reshape(g.size), flat(x)
    for k in range(v.size):
        y[k] = ratio0(v[k], out)
    return g


@compiled
def _vector_slopes(x, ord, out):
    """Gradient of the vector norm of this order; extrema share equally."""
    if ord == 2:
        return _norm2_slopes(x, out)
    g = np.zeros(x.shape, x.dtype)
    if ord == np.inf or ord == -np.inf:
        ties = 0
        for k in range(x.size):
            ties += 1 if abs(x[k]) == out else 0
        for k in range(x.size):
            if abs(x[k]) == out:
                g[k] = _unit(x[k]) / ties
    elif ord != 0:
        for k in range(x.size):
            m = abs(x[k])
            if m != 0 and out != 0:
                g[k] = _unit(x[k]) * (m / out) ** (ord - 1)
    return g


@compiled
def _matrix_slopes(x, ord, out):
    """Gradient of the matrix norm of this order; rows or columns that tie share equally."""
    m, n = x.shape
    g = np.zeros((m, n), x.dtype)
    if x.size == 0:
        return g
    if ord == 2 or ord == -2:
        u, s, vh = np.linalg.svd(np.ascontiguousarray(x), False)
        k = 0 if ord == 2 else s.size - 1
        for i in range(m):
            for j in range(n):
                g[i, j] = u[i, k] * vh[k, j]
        return g
    rows = ord == np.inf or ord == -np.inf
    count = m if rows else n
    sums = np.zeros(count, x.real.dtype)
    for i in range(m):
        for j in range(n):
            sums[i if rows else j] += abs(x[i, j])
    best = sums.max() if ord > 0 else sums.min()
    ties = 0
    for k in range(count):
        ties += 1 if sums[k] == best else 0
    for i in range(m):
        for j in range(n):
            if sums[i if rows else j] == best:
                g[i, j] = _unit(x[i, j]) / ties
    return g


@compiled
def _slopes_push(dot, slopes):
    t = np.sum(np.real(slopes[:0]))
    d, s = flat(dot), flat(slopes)
    for k in range(d.size):
        t += np.real(np.conj(s[k]) * d[k])
    return t


@compiled
def _slopes_pull(ct, slopes):
    s = slopes.reshape(slopes.size)
    for k in range(s.size):
        s[k] = s[k] * ct
    return slopes


@compiled
def _norm2_push(dot, x, out):
    return _slopes_push(dot, _norm2_slopes(x, out))


@compiled
def _norm2_pull(ct, x, out):
    return _slopes_pull(ct, _norm2_slopes(x, out))


@compiled
def _vector_push(dot, x, ord, out):
    return _slopes_push(dot, _vector_slopes(x, ord, out))


@compiled
def _vector_pull(ct, x, ord, out):
    return _slopes_pull(ct, _vector_slopes(x, ord, out))


@compiled
def _matrix_push(dot, x, ord, out):
    return _slopes_push(dot, _matrix_slopes(x, ord, out))


@compiled
def _matrix_pull(ct, x, ord, out):
    return _slopes_pull(ct, _matrix_slopes(x, ord, out))


def _norm(two, vector, matrix):
    return Choose(lambda t: two if is_none(t.get("ord")) else vector if t["x"].ndim == 1 else matrix)


_ORDERS = tuple((lambda rng, p=p: (rng.normal(size=4), p)) for p in (1, 2, 3, 1.5, np.inf, -np.inf)) + tuple(
    (lambda rng, p=p: (rng.normal(size=(3, 2)), p)) for p in (1, -1, 2, -2, np.inf, -np.inf)
)
register(
    ArrayRule(
        functions=(np.linalg.norm,),
        params="x, ord=None",
        push={"x": _norm(_norm2_push, _vector_push, _matrix_push)},
        pull={"x": _norm(_norm2_pull, _vector_pull, _matrix_pull)},
        cases=(
            lambda rng: (rng.normal(size=4),),
            lambda rng: (rng.normal(size=(3, 4)),),
            lambda rng: (rng.normal(size=3) + 1j * rng.normal(size=3),),
            lambda rng: (np.asfortranarray(rng.normal(size=(2, 3))),),
            lambda rng: (rng.normal(size=8)[::2],),
            *_ORDERS,
        ),
        note="slope 0 at the zero vector",
    )
)


@compiled
def _cond2(x):
    s = np.linalg.svd(x)[1]
    return s[0] / s[-1]


@compiled
def _cond(x, p):
    if p == 2 or p == -2:
        s = np.linalg.svd(x)[1]
        return s[0] / s[-1] if p == 2 else s[-1] / s[0]
    return np.linalg.norm(x, p) * np.linalg.norm(np.linalg.inv(x), p)


@compiled
def _cond2_with_none(x, p):
    return _cond2(x)


register(
    RewriteRule(
        functions=(np.linalg.cond,),
        params="x, p=None",
        implementation=Choose(lambda t: _cond2_with_none if is_none(t.get("p")) else _cond),
        cases=(lambda rng: (square(3)(rng),), lambda rng: (square(3)(rng), 1)),
    )
)
register(ZeroRule(functions=(np.linalg.matrix_rank,), note="piecewise constant"))


@compiled
def _matrix_power(a, n):
    # the products of Numba's own implementation, whose result has a type that may be None
    if a.shape[0] != a.shape[1]:
        raise ValueError("input must be a square array")
    if n == 0 or a.shape[0] == 0:
        return np.eye(a.shape[0], a.shape[0], 0, a.dtype)
    square = np.linalg.inv(a).copy() if n < 0 else a.copy()
    n = abs(n)
    if n == 3:
        return np.dot(np.dot(square, square), square)
    result = square
    empty = True
    while n > 0:
        if n & 1:
            result = square if empty else np.dot(result, square)
            empty = False
        n >>= 1
        if n > 0:
            square = np.dot(square, square)
    return result


register(
    RewriteRule(
        functions=(np.linalg.matrix_power,),
        params="a, n",
        implementation=_matrix_power,
        cases=tuple(lambda rng, n=n: (rng.normal(size=(3, 3)) + 2.0 * np.eye(3), n) for n in (0, 3, 6, -2)),
    )
)
