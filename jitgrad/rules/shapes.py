"""Rules of shapes: views, copies, casts, reorderings, broadcasting, diagonals and triangles.

A view rule has no tangent and pullback of its own: the transforms apply the same function to the tangent
or the shadow, which then shares memory with the argument's as the primal does.
"""

from __future__ import annotations

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.registry import ArrayRule, Choose, RefusedRule, register
from jitgrad.rules.support import (
    cast_pull,
    is_array,
    is_complex,
    is_none,
    real_cast_pull,
    reshape_pull,
    split_shape,
    takes_array,
)
from jitgrad.runtime.arrays import copy, copy_pull, flat
from jitgrad.runtime.kernels import compiled
from jitgrad.runtime.vectors import wide


def _axes(*shapes):
    return tuple(lambda rng, s=s: (rng.normal(size=s[0]), *s[1:]) for s in shapes)


# ----- always views --------------------------------------------------------------------------------

for _fns, _methods, _attributes, _params in (
    ((np.reshape,), (), (), "a, shape"),
    ((), ("reshape",), (), "a, *shape"),
    ((np.transpose,), (), (), "a, axes=None"),
    ((), ("transpose",), (), "a, *axes"),
    ((), (), ("T", "real", "imag", "flat"), "a"),
    ((np.expand_dims,), (), (), "a, axis"),
    ((np.swapaxes,), (), (), "a, axis1, axis2"),
    ((np.moveaxis,), (), (), "a, source, destination"),
    ((np.flip, np.flipud, np.fliplr), (), (), "m"),
    ((np.rot90,), (), (), "m, k=1"),
    ((np.array_split, np.split), (), (), "ary, indices_or_sections, axis=0"),
    ((np.vsplit, np.hsplit, np.dsplit), (), (), "ary, indices_or_sections"),
):
    register(ArrayRule(functions=_fns, methods=_methods, attributes=_attributes, params=_params, view=True))
# Several arguments give a tuple of views, each of its own argument
register(ArrayRule(functions=(np.atleast_1d, np.atleast_2d, np.atleast_3d), params="*arys", view=True))
register(
    RefusedRule(
        methods=("view", "itemset", "number.view"),
        functions=(np.lib.stride_tricks.as_strided, np.frombuffer),
        reason="it reinterprets memory, which a derivative array does not mirror",
        way_out="index or reshape the array instead",
    )
)

# ----- views where the layout is right, else copies ------------------------------------------------


@compiled
def _ravel_push(dot):
    return dot.copy().reshape(dot.size)  # a copy even where the tangent is contiguous and the argument is not


register(
    ArrayRule(
        functions=(np.ravel,),
        methods=("ravel",),
        params="a, order='C'",
        when=takes_array,
        view=lambda t: t["a"].layout == "C",
        push={"a": _ravel_push},
        pull={"a": reshape_pull},
        cases=(lambda rng: (rng.normal(size=(3, 4)).T,), lambda rng: (rng.normal(size=(3, 8))[:, ::2],)),
    )
)


def _has_layout(layout):
    """Whether an array is returned itself. One of unknown layout is copied or not: it counts as copied."""
    return lambda types: types["a"].layout == layout or (types["a"].ndim <= 1 and types["a"].layout in "CF")


for _fn, _layout in ((np.ascontiguousarray, "C"), (np.asfortranarray, "F")):
    register(
        ArrayRule(
            functions=(_fn,),
            params="a",
            when=takes_array,
            push={"a": copy},
            pull={"a": copy_pull},
            view=_has_layout(_layout),
            cases=(
                lambda rng, _l=_layout: (
                    (rng.normal(size=(3, 4)) if _l == "F" else np.asfortranarray(rng.normal(size=(3, 4)))),
                ),
            ),
            note="not supported where only the run decides whether it copies (layout A)",
        )
    )

# ----- copies and casts ----------------------------------------------------------------------------


@wide
def copy_vectors(dot):
    return dot.copy()


@compiled
def _astype_push(dot, out_dtype):
    return dot.astype(out_dtype)


@compiled
def _item_push(dot):
    return dot.item()


@compiled
def _item_pull(ct, a_shape, a_dtype):
    return np.full(a_shape, ct, a_dtype)


_ANY = (
    lambda rng: (rng.normal(size=(3, 4)),),
    lambda rng: (rng.normal(size=(3, 8))[:, ::2],),
    lambda rng: (np.asfortranarray(rng.normal(size=(3, 2))),),
    lambda rng: (np.zeros((0, 2)),),
)
register(
    ArrayRule(
        functions=(np.copy,),
        methods=("copy",),
        params="a",
        when=takes_array,
        push={"a": copy},
        pull={"a": copy_pull},
        push_vectors={"a": copy_vectors},
        cases=_ANY,
    )
)
register(ArrayRule(methods=("flatten",), params="a", push={"a": _ravel_push}, pull={"a": reshape_pull}, cases=_ANY))
register(
    ArrayRule(
        methods=("astype",),
        params="a, dtype",
        push={"a": _astype_push},
        pull={
            "a": Choose(lambda t: real_cast_pull if is_complex(t["out"]) and not is_complex(t["a"]) else cast_pull),
        },
        cases=(
            lambda rng: (rng.normal(size=(2, 3)), np.float64),
            lambda rng: (rng.normal(size=(2, 3)), np.complex128),
        ),
    )
)
register(
    ArrayRule(
        methods=("item",),
        params="a",
        push={"a": _item_push},
        pull={"a": _item_pull},
        cases=(lambda rng: (np.array([2.5]),), lambda rng: (np.array(2.5),)),
    )
)

# ----- reorderings ---------------------------------------------------------------------------------


@compiled
def _roll_push(dot, shift):
    return np.roll(dot, shift)


@compiled
def _roll_pull(ct, shift):
    return np.roll(ct, -shift)


register(
    ArrayRule(
        functions=(np.roll,),
        params="a, shift",
        when=takes_array,
        push={"a": _roll_push},
        pull={"a": _roll_pull},
        cases=_axes(((5,), 2), ((3, 4), -3), ((0,), 1), ((1,), 1)),
    )
)


@compiled
def _repeat_push(dot, repeats):
    return np.repeat(dot, repeats)


@compiled
def _repeat_pull(ct, repeats, a_shape, a_dtype):
    out = np.zeros(a_shape, a_dtype)
    g = out.reshape(out.size)
    for i in range(g.size):
        for j in range(repeats):
            g[i] += ct[i * repeats + j]
    return out


@compiled
def _repeat_each_pull(ct, repeats, a_shape, a_dtype):
    out = np.zeros(a_shape, a_dtype)
    g = out.reshape(out.size)
    p = 0
    for i in range(g.size):
        # one count for all is broadcast
        n = repeats[i] if len(repeats) > 1 else repeats[0]
        for _ in range(n):
            g[i] += ct[p]
            p += 1
    return out


register(
    ArrayRule(
        functions=(np.repeat,),
        methods=("repeat",),
        params="a, repeats",
        when=takes_array,
        push={"a": _repeat_push},
        pull={"a": Choose(lambda t: _repeat_pull if isinstance(t["repeats"], nbtypes.Integer) else _repeat_each_pull)},
        cases=(
            *_axes(((3,), 2), ((2, 2), 3), ((3,), 0)),
            lambda rng: (rng.normal(size=3), np.array([2, 0, 3])),
            lambda rng: (rng.normal(size=3), np.array([2])),
        ),
    )
)

# ----- broadcasting --------------------------------------------------------------------------------


@compiled
def sum_to_shape(ct, shape, dtype):
    """Sum over the axes along which an array of this shape was broadcast to the shape of `ct`."""
    out = np.zeros(shape, dtype)
    g = out.reshape(out.size)
    c = flat(ct)
    lead = ct.ndim - len(shape)
    for p in range(c.size):
        rest = p
        target = 0
        step = 1
        for k in range(ct.ndim - 1, -1, -1):
            index = rest % ct.shape[k]
            rest //= ct.shape[k]
            if k >= lead:
                n = shape[k - lead]
                if n > 1:
                    target += index * step
                step *= n
        g[target] += c[p]
    return out


@compiled
def sum_to_scalar(ct):
    """Sum of all elements."""
    return np.sum(ct)


@compiled
def _broadcast_push(dot, shape):
    return np.broadcast_to(dot, shape).copy()


@compiled
def _broadcast_pull(ct, array_shape, array_dtype):
    return sum_to_shape(ct, array_shape, array_dtype)


register(
    ArrayRule(
        functions=(np.broadcast_to,),
        params="array, shape",
        push={"array": _broadcast_push},
        pull={
            "array": Choose(lambda t: _broadcast_pull if is_array(t["array"]) and t["array"].ndim else sum_to_scalar)
        },
        cases=_axes(((3,), (2, 3)), ((2, 1), (2, 3)), ((1, 2), (4, 3, 2)), ((2, 3), (2, 3)), ((1,), (0,))),
        shares=True,
        note="treated as a copy: nothing may be written into its memory while it is in use",
    )
)

# ----- diagonals and triangles ---------------------------------------------------------------------


@compiled
def _diag_push(dot, k):
    return np.diag(dot, k)


@compiled
def _diag_extract_pull(ct, k, v_shape, v_dtype):
    out = np.zeros(v_shape, v_dtype)
    for i in range(ct.size):
        if k >= 0:
            out[i, i + k] = ct[i]
        else:
            out[i - k, i] = ct[i]
    return out


@compiled
def _diag_build_pull(ct, k, v_shape, v_dtype):
    out = np.zeros(v_shape, v_dtype)
    g = out.reshape(out.size)
    for i in range(g.size):
        g[i] = ct[i, i + k] if k >= 0 else ct[i - k, i]
    return out


@compiled
def _diagflat_push(dot, k):
    return np.diagflat(dot, k)


@compiled
def _tril_push(dot, k):
    return np.tril(dot, k)


@compiled
def _triu_push(dot, k):
    return np.triu(dot, k)


@compiled
def _tril_pull(ct, k):
    return np.tril(ct, k)


@compiled
def _triu_pull(ct, k):
    return np.triu(ct, k)


@compiled
def _tril_rows_pull(ct, k):
    out = np.zeros(ct.shape[1], ct.dtype)
    for i in range(ct.shape[0]):
        for j in range(ct.shape[1]):
            if j <= i + k:
                out[j] += ct[i, j]
    return out


@compiled
def _triu_rows_pull(ct, k):
    out = np.zeros(ct.shape[1], ct.dtype)
    for i in range(ct.shape[0]):
        for j in range(ct.shape[1]):
            if j >= i + k:
                out[j] += ct[i, j]
    return out


register(
    ArrayRule(
        functions=(np.diag,),
        params="v, k=0",
        when=takes_array,
        push={"v": _diag_push},
        pull={"v": Choose(lambda t: _diag_build_pull if t["v"].ndim == 1 else _diag_extract_pull)},
        cases=_axes(((3,),), ((3,), 1), ((2,), -2), ((3, 4),), ((3, 4), 1), ((4, 3), -1), ((0,),), ((2, 2), 5)),
    )
)
register(
    ArrayRule(
        functions=(np.diagflat,),
        params="v, k=0",
        when=takes_array,
        push={"v": _diagflat_push},
        pull={"v": _diag_build_pull},
        cases=_axes(((3,),), ((2, 2), 1), ((2,), -2)),
    )
)


def _by_rank(rows, matrix):
    return Choose(lambda types: rows if types["m"].ndim == 1 else matrix)


for _triangle, _push, _pull in (
    (np.tril, _tril_push, _by_rank(_tril_rows_pull, _tril_pull)),
    (np.triu, _triu_push, _by_rank(_triu_rows_pull, _triu_pull)),
):
    register(
        ArrayRule(
            functions=(_triangle,),
            params="m, k=0",
            when=takes_array,
            push={"m": _push},
            pull={"m": _pull},
            cases=_axes(((3, 4),), ((3, 3), 1), ((3, 3), -1), ((2, 3, 3),), ((3,),)),
        )
    )

# ----- differences ---------------------------------------------------------------------------------


@compiled
def _diff_push(dot, n):
    return np.diff(dot, n)


@compiled
def _diff_pull(ct, n):
    shape_size = ct.shape[ct.ndim - 1]
    rows, _, _ = split_shape(ct.shape, ct.ndim - 1)
    width = shape_size + n
    g = np.zeros((rows, width), ct.dtype)
    g[:, :shape_size] = np.ascontiguousarray(ct).reshape((rows, shape_size))
    for k in range(n):
        # from m differences to m + 1 numbers, in place from the right
        m = shape_size + k
        for i in range(rows):
            g[i, m] = g[i, m - 1] if m > 0 else 0.0
            for j in range(m - 1, 0, -1):
                g[i, j] = g[i, j - 1] - g[i, j]
            if m > 0:
                g[i, 0] = -g[i, 0]
    return g


@compiled
def _diff_pull_shaped(ct, n, a_shape):
    return _diff_pull(ct, n).reshape(a_shape)


register(
    ArrayRule(
        functions=(np.diff,),
        params="a, n=1",
        when=lambda t: is_array(t["a"]),
        push={"a": _diff_push},
        pull={"a": _diff_pull_shaped},
        cases=_axes(((5,),), ((5,), 2), ((3, 4),), ((2, 3, 4), 3), ((4,), 0), ((1,),)),
    )
)

# ----- moving windows ------------------------------------------------------------------------------


@compiled
def _windows_push(dot, window_shape):
    return np.lib.stride_tricks.sliding_window_view(np.ascontiguousarray(dot), window_shape).copy()


@compiled
def _windows_pull(ct, x_shape, x_dtype):
    out = np.zeros(x_shape, x_dtype)
    for i in range(ct.shape[0]):
        for j in range(ct.shape[1]):
            out[i + j] += ct[i, j]
    return out


register(
    ArrayRule(
        functions=(np.lib.stride_tricks.sliding_window_view,),
        params="x, window_shape, axis=None",
        when=lambda t: is_array(t["x"]) and t["x"].ndim == 1 and is_none(t.get("axis")),
        push={"x": _windows_push},
        pull={"x": _windows_pull},
        cases=_axes(((5,), 3), ((5,), (2,))),
        shares=True,
        note="of vectors; treated as a copy: nothing may be written into its memory while it is in use",
    )
)
