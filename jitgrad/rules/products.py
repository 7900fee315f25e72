"""Rules of products of vectors and matrices: dot, matmul, vdot, outer, kron, trace.

Complex arguments: the pullback multiplies by conjugates, so that ``real(conj(ct) * dot)`` is kept.
"""

from __future__ import annotations

import operator

import numpy as np

from jitgrad.rules.registry import ArrayRule, Choose, register
from jitgrad.rules.support import generated, is_array, is_complex, is_none
from jitgrad.runtime.arrays import flat
from jitgrad.runtime.kernels import compiled
from jitgrad.runtime.vectors import empty_like, numbers, vector, vectors, wide, zero_of

# ----- dot, by ranks -------------------------------------------------------------------------------
# Rank of a, rank of b, parameter -> body of the pullback. The names `a` and `b` are read only where the
# body has them. {x} is replaced by the operand, made contiguous where its layout is not known, and
# conj(...) is dropped for real operands.

_VV = "out = np.empty_like({x})\nfor i in range({x}.size):\n    out[i] = ct * conj({x}[i])\nreturn out"
_OUTER = """out = np.empty((c.size, x.size), x.dtype)
for i in range(c.size):
    for j in range(x.size):
        out[i, j] = {product}
return out"""
_PULL = {
    (1, 1, "a"): _VV.format(x="b"),
    (1, 1, "b"): _VV.format(x="a"),
    (2, 1, "a"): "c, x = ct, b\n" + _OUTER.format(product="c[i] * conj(x[j])"),
    (2, 1, "b"): "return conj(np.dot(DENSE(a).T, conj(C(ct))))",
    (1, 2, "a"): "return conj(np.dot(DENSE(b), conj(C(ct))))",
    (1, 2, "b"): "c, x = a, ct\n" + _OUTER.format(product="conj(c[i]) * x[j]"),
    (2, 2, "a"): "return conj(np.dot(conj(C(ct)), DENSE(b).T))",
    (2, 2, "b"): "return conj(np.dot(DENSE(a).T, conj(C(ct))))",
}
_b = {"a": "b", "b": "a"}


def _dot_pull(param):
    other = _b[param]

    def choose(types):
        body = _PULL[types["a"].ndim, types["b"].ndim, param]
        loose = types[other].layout not in "CF"
        body = body.replace("DENSE", "np.ascontiguousarray" if loose else "").replace(
            "C(ct)", "np.ascontiguousarray(ct)"
        )
        body = body.replace("conj(", "np.conj(" if is_complex(types[other]) else "(")
        lines = "".join(f"    {line}\n" for line in body.splitlines())
        return generated("dot_pull", f"def dot_pull(ct, {other}):\n{lines}")

    return Choose(choose)


@compiled
def _dot_push_a(dot, b):
    return np.dot(np.ascontiguousarray(dot), b)


@compiled
def _dot_push_a_any(dot, b):
    return np.dot(np.ascontiguousarray(dot), np.ascontiguousarray(b))


@compiled
def _dot_push_b(dot, a):
    return np.dot(a, np.ascontiguousarray(dot))


@compiled
def _dot_push_b_any(dot, a):
    return np.dot(np.ascontiguousarray(a), np.ascontiguousarray(dot))


def _loose(name, strict, loose):
    return Choose(lambda types: loose if types[name].layout not in "CF" else strict)


@compiled
def _dot_into(a, b, out_):
    out_[...] = np.dot(a, b)
    return out_


# ----- dot of tangents in several directions: arrays of vectors ------------------------------------------


@wide
def _dot_vectors_a(dot, b):
    """The sum over the last axis of the vectors in `dot` times numbers."""
    d, w = np.ascontiguousarray(dot), np.ascontiguousarray(b)
    if dot.ndim == 1 and b.ndim == 1:
        out = zero_of(d)
        for j in range(d.size):
            out = out + d[j] * w[j]
        return out
    if dot.ndim == 1:
        return vectors(np.dot(w.T, numbers(d)), zero_of(d))
    if b.ndim == 1:
        column = empty_like(np.empty(d.shape[0]), zero_of(d))
        for i in range(d.shape[0]):
            total = zero_of(d)
            for j in range(w.size):
                total = total + d[i, j] * w[j]
            column[i] = total
        return column
    rows = empty_like(np.empty((d.shape[0], w.shape[1])), zero_of(d))
    out_rows, d_rows = numbers(rows), numbers(d)
    for i in range(d.shape[0]):
        out_rows[i] = np.dot(w.T, d_rows[i])
    return rows


@wide
def _dot_vectors_b(dot, a):
    """One product of matrices: the directions are further columns."""
    d, w = np.ascontiguousarray(dot), np.ascontiguousarray(a)
    n = numbers(d)
    if dot.ndim == 1 and a.ndim == 1:
        return vector(np.dot(w, n), zero_of(d))
    if dot.ndim == 1:
        return vectors(np.dot(w, n), zero_of(d))
    product = np.dot(w, n.reshape((n.shape[0], n.shape[1] * n.shape[2])))
    return vectors(product.reshape(w.shape[:-1] + (n.shape[1], n.shape[2])), zero_of(d))


def _real(function):
    return Choose(lambda types: function if types["a"].dtype == types["b"].dtype else None)


def _pair(*shapes):
    return tuple(lambda rng, s=s: tuple(rng.normal(size=shape) for shape in s) for s in shapes)


def _complex_pair(*shapes):
    return tuple(
        lambda rng, s=s: tuple(rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in s) for s in shapes
    )


_SHAPES = (((4,), (4,)), ((3, 4), (4,)), ((3,), (3, 4)), ((2, 3), (3, 4)))
register(
    ArrayRule(
        functions=(np.dot, operator.matmul),
        methods=("dot",),
        params="a, b, out_=None",
        when=lambda types: is_none(types.get("out_")),
        otherwise=_dot_into,
        push={"a": _loose("b", _dot_push_a, _dot_push_a_any), "b": _loose("a", _dot_push_b, _dot_push_b_any)},
        pull={"a": _dot_pull("a"), "b": _dot_pull("b")},
        push_vectors={"a": _real(_dot_vectors_a), "b": _real(_dot_vectors_b)},
        cases=(
            *_pair(*_SHAPES, ((0,), (0,)), ((1, 1), (1, 1)), ((2, 0), (0, 3))),
            *_complex_pair(*_SHAPES),
            lambda rng: (rng.normal(size=(3, 8))[:, ::2], rng.normal(size=(4, 6))[:, ::2]),
            lambda rng: (rng.normal(size=(4, 3)).T, np.asfortranarray(rng.normal(size=(4, 2)))),
            lambda rng: (rng.normal(size=(3, 8))[:, ::2], rng.normal(size=8)[::2]),
        ),
    )
)

# ----- vdot ----------------------------------------------------------------------------------------


@compiled
def _vdot_push_left(dot, right):
    return np.vdot(dot, right)


@compiled
def _vdot_push_right(dot, left):
    return np.vdot(left, dot)


@compiled
def _vdot_pull_left(ct, right):
    out = np.empty(right.shape, right.dtype)
    c = np.conj(ct)
    for i in range(right.size):
        out[i] = right[i] * c
    return out


@compiled
def _vdot_pull_right(ct, left):
    out = np.empty(left.shape, left.dtype)
    for i in range(left.size):
        out[i] = left[i] * ct
    return out


register(
    ArrayRule(
        functions=(np.vdot,),
        params="left, right",
        push={"left": _vdot_push_left, "right": _vdot_push_right},
        pull={"left": _vdot_pull_left, "right": _vdot_pull_right},
        cases=(*_pair(_SHAPES[0]), *_complex_pair(_SHAPES[0])),
    )
)

# ----- outer, kron ---------------------------------------------------------------------------------


@compiled
def _outer_push_a(dot, b):
    return np.outer(dot, b)


@compiled
def _outer_push_b(dot, a):
    return np.outer(a, dot)


@compiled
def _outer_pull_a(ct, b, a_shape, a_dtype):
    out = np.zeros(a_shape, a_dtype)
    g, y = out.reshape(out.size), flat(b)
    for i in range(g.size):
        for j in range(y.size):
            g[i] += ct[i, j] * np.conj(y[j])
    return out


@compiled
def _outer_pull_b(ct, a, b_shape, b_dtype):
    out = np.zeros(b_shape, b_dtype)
    g, x = out.reshape(out.size), flat(a)
    for i in range(x.size):
        for j in range(g.size):
            g[j] += ct[i, j] * np.conj(x[i])
    return out


@compiled
def _outer_into(a, b, out_):
    out_[...] = np.outer(a, b)
    return out_


register(
    ArrayRule(
        functions=(np.outer,),
        params="a, b, out_=None",
        when=lambda types: is_array(types["a"]) and is_array(types["b"]) and is_none(types.get("out_")),
        otherwise=Choose(lambda types: None if is_none(types.get("out_")) else _outer_into),
        push={"a": _outer_push_a, "b": _outer_push_b},
        pull={"a": _outer_pull_a, "b": _outer_pull_b},
        cases=(*_pair(((3,), (4,)), ((2, 3), (2,)), ((0,), (3,)), ((1,), (1,))), *_complex_pair(((3,), (4,)))),
    )
)


@compiled
def _rows_cols(shape):
    """Rows and columns of a matrix, or of a vector taken as one row."""
    rows = 1
    for k in range(len(shape) - 1):
        rows *= shape[k]
    return rows, shape[len(shape) - 1]


@compiled
def _kron_push_a(dot, b):
    return np.kron(np.ascontiguousarray(dot), b)


@compiled
def _kron_push_b(dot, a):
    return np.kron(a, np.ascontiguousarray(dot))


@compiled
def _kron_pull_a(ct, b, a_shape, a_dtype):
    am, an = _rows_cols(a_shape)
    bm, bn = _rows_cols(b.shape)
    out = np.zeros(a_shape, a_dtype)
    g, y = out.reshape((am, an)), flat(b).reshape((bm, bn))
    c = np.ascontiguousarray(ct).reshape((am * bm, an * bn))
    for i in range(am):
        for k in range(bm):
            for j in range(an):
                for m in range(bn):
                    g[i, j] += c[i * bm + k, j * bn + m] * np.conj(y[k, m])
    return out


@compiled
def _kron_pull_b(ct, a, b_shape, b_dtype):
    am, an = _rows_cols(a.shape)
    bm, bn = _rows_cols(b_shape)
    out = np.zeros(b_shape, b_dtype)
    g, x = out.reshape((bm, bn)), flat(a).reshape((am, an))
    c = np.ascontiguousarray(ct).reshape((am * bm, an * bn))
    for i in range(am):
        for k in range(bm):
            for j in range(an):
                for m in range(bn):
                    g[k, m] += c[i * bm + k, j * bn + m] * np.conj(x[i, j])
    return out


register(
    ArrayRule(
        functions=(np.kron,),
        params="a, b",
        when=lambda types: is_array(types["a"]) and is_array(types["b"]),
        push={"a": _kron_push_a, "b": _kron_push_b},
        pull={"a": _kron_pull_a, "b": _kron_pull_b},
        cases=_pair(((2, 3), (3, 2)), ((3,), (2,)), ((2, 2), (3,)), ((3,), (2, 2))),
    )
)

# ----- trace ---------------------------------------------------------------------------------------


@compiled
def _trace_push(dot, offset):
    return np.trace(dot, offset)


@compiled
def _trace_pull(ct, offset, a_shape, a_dtype):
    out = np.zeros(a_shape, a_dtype)
    rows, cols = a_shape
    for i in range(rows):
        if 0 <= i + offset < cols:
            out[i, i + offset] = ct
    return out


register(
    ArrayRule(
        functions=(np.trace,),
        params="a, offset=0",
        push={"a": _trace_push},
        pull={"a": _trace_pull},
        cases=(
            lambda rng: (rng.normal(size=(3, 4)),),
            lambda rng: (rng.normal(size=(3, 4)), 2),
            lambda rng: (rng.normal(size=(4, 3)), -1),
        ),
    )
)
