"""Rules of reductions and running sums.

Numba reduces over an axis only in `sum` and `cumsum` (and in `argmax`, `argmin`, which have derivative zero).
Products are differentiated by prefix and suffix products, exact where elements are zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numba.core import types as nbtypes

from jitgrad.rules.registry import ArrayRule, Choose, RewriteRule, ZeroRule, register
from jitgrad.rules.support import identity, is_array, is_none, split_shape, takes_array
from jitgrad.runtime.arrays import flat
from jitgrad.runtime.kernels import compiled, ratio0
from jitgrad.runtime.vectors import wide, zero_of

VECTORS = (
    lambda rng: (rng.normal(size=5),),
    lambda rng: (rng.normal(size=1),),
    lambda rng: (rng.normal(size=(3, 4)),),
    lambda rng: (rng.normal(size=(3, 8))[:, ::2],),
    lambda rng: (np.asfortranarray(rng.normal(size=(2, 3, 2))),),
    lambda rng: (np.array([2.0, 0.0, -3.0, 0.5]),),
)
EMPTY = (lambda rng: (np.zeros(0),), lambda rng: (np.zeros((3, 0)),))
ZERO_D = (lambda rng: (np.array(1.5),),)


# ----- sum -----------------------------------------------------------------------------------------


@compiled
def _sum_push(dot, axis):
    return np.sum(dot, axis)


@compiled
def _sum_push_dtype(dot, axis, dtype):
    return np.sum(dot, axis, dtype)


@compiled
def _sum_all_push(dot):
    return np.sum(dot)


@compiled
def _sum_all_pull(ct, a_shape, a_dtype):
    return np.full(a_shape, ct, a_dtype)


@compiled
def _sum_axis_pull(ct, axis, a_shape, a_dtype):
    outer, n, inner = split_shape(a_shape, axis)
    out = np.empty(a_shape, a_dtype)
    g = out.reshape((outer, n, inner))
    c = np.ascontiguousarray(ct).reshape((outer, inner))
    for i in range(outer):
        for k in range(n):
            for j in range(inner):
                g[i, k, j] = c[i, j]
    return out


@compiled
def _sum_axes_pull(ct, axis, a_shape, a_dtype):
    ndim = len(a_shape)
    kept = np.ones(ndim, np.bool_)
    for k in range(len(axis)):
        kept[axis[k] % ndim] = False
    # distance in ct, in C order, of one step along each axis of a
    step = np.zeros(ndim, np.int64)
    size = 1
    for k in range(ndim - 1, -1, -1):
        if kept[k]:
            step[k] = size
            size *= a_shape[k]
    out = np.empty(a_shape, a_dtype)
    g = out.reshape(out.size)
    c = flat(ct)
    for p in range(out.size):
        rest = p
        source = 0
        for k in range(ndim - 1, -1, -1):
            source += (rest % a_shape[k]) * step[k]
            rest //= a_shape[k]
        g[p] = c[source]
    return out


def _sum_pull(types):
    if not is_array(types["a"]):
        return identity
    if not is_array(types["out"]):
        return _sum_all_pull
    axis = types["axis"]
    return _sum_axes_pull if isinstance(axis, nbtypes.BaseTuple) else _sum_axis_pull


@wide
def _sum_all_vectors(dot):
    total = zero_of(dot)
    for at in np.ndindex(dot.shape):
        total = total + dot[at]
    return total


def _sum_vectors(types):
    whole = is_array(types["a"]) and is_none(types.get("axis")) and is_none(types.get("dtype"))
    return _sum_all_vectors if whole else None


def _sum_tangent(types):
    if not is_array(types["a"]):
        return identity
    if not is_none(types.get("dtype")):
        return _sum_push_dtype
    return _sum_all_push if is_none(types.get("axis")) else _sum_push


register(
    ArrayRule(
        functions=(np.sum,),
        methods=("sum",),
        params="a, axis=None, dtype=None",
        push={"a": Choose(_sum_tangent)},
        pull={"a": Choose(_sum_pull)},
        push_vectors={"a": Choose(_sum_vectors)},
        cases=(
            *VECTORS,
            *EMPTY,
            *ZERO_D,
            lambda rng: (rng.normal(size=4), 0),
            lambda rng: (rng.normal(size=(3, 4)), 0),
            lambda rng: (rng.normal(size=(3, 4)), -1),
            lambda rng: (rng.normal(size=(2, 3, 8))[:, :, ::2], 1),
            lambda rng: (rng.normal(size=(2, 3, 4)), (0, 2)),
            lambda rng: (np.zeros((2, 0)), 1),
            lambda rng: (2.5,),
            lambda rng: (rng.normal(size=3) + 1j * rng.normal(size=3),),
        ),
    )
)


@compiled
def _nansum_push(dot, a):
    total = np.sum(dot[:0])
    x, d = flat(a), flat(dot)
    for k in range(x.size):
        if not np.isnan(x[k]):
            total += d[k]
    return total


@compiled
def _nansum_pull(ct, a):
    out = np.zeros(a.shape, a.dtype)
    x, g = flat(a), out.reshape(out.size)
    for k in range(x.size):
        if not np.isnan(x[k]):
            g[k] = ct
    return out


WITH_NAN = (
    lambda rng: (np.array([1.0, np.nan, -2.0, 4.0, 0.5]),),
    lambda rng: (np.array([[1.0, np.nan], [3.0, -2.0]]),),
)

# ----- products ------------------------------------------------------------------------------------


@compiled
def _prod_push(dot, a):
    x, d = flat(a), flat(dot)
    p = np.prod(x[:0])
    t = np.sum(d[:0])
    for k in range(x.size):
        t = t * x[k] + p * d[k]
        p = p * x[k]
    return t


@compiled
def _prod_pull(ct, a):
    out = np.empty(a.shape, a.dtype)
    x, g = flat(a), out.reshape(out.size)
    n = x.size
    left = np.conj(ct)
    for k in range(n):
        g[k] = left
        left = left * x[k]
    right = np.prod(x[:0])
    for k in range(n - 1, -1, -1):
        g[k] = np.conj(g[k] * right)
        right = right * x[k]
    return out


@compiled
def _cumprod_push(dot, a):
    x, d = flat(a), flat(dot)
    out = np.empty_like(d)
    p = np.prod(x[:0])
    t = np.sum(d[:0])
    for k in range(x.size):
        t = t * x[k] + p * d[k]
        p = p * x[k]
        out[k] = t
    return out


@compiled
def _cumprod_pull(ct, a, out):
    # d out[j] / d a[k] = (product before k) * (product of elements after k, up to j)
    result = np.empty(a.shape, a.dtype)
    x, g = flat(a), result.reshape(result.size)
    s = np.sum(x[:0])
    for k in range(x.size - 1, -1, -1):
        s = np.conj(ct[k]) + s
        g[k] = np.conj(s * out[k - 1]) if k > 0 else np.conj(s)
        s = s * x[k]
    return result


@compiled
def _nan_to_one(a):
    out = np.empty(a.shape, a.dtype)
    x, y = flat(a), out.reshape(out.size)
    for k in range(x.size):
        y[k] = 1.0 if np.isnan(x[k]) else x[k]
    return out


@compiled
def _nan_to_zero(g, a):
    out = np.empty(a.shape, a.dtype)
    x, d, y = flat(a), flat(g), out.reshape(out.size)
    for k in range(x.size):
        y[k] = 0.0 if np.isnan(x[k]) else d[k]
    return out


@compiled
def _nanprod_push(dot, a):
    return _prod_push(_nan_to_zero(dot, a), _nan_to_one(a))


@compiled
def _nanprod_pull(ct, a):
    return _nan_to_zero(_prod_pull(ct, _nan_to_one(a)), a)


@compiled
def _nancumprod_push(dot, a):
    return _cumprod_push(_nan_to_zero(dot, a), _nan_to_one(a))


@compiled
def _nancumprod_pull(ct, a, out):
    return _nan_to_zero(_cumprod_pull(ct, _nan_to_one(a), out), a)


register(
    ArrayRule(
        functions=(np.prod,),
        methods=("prod",),
        params="a",
        push={"a": _prod_push},
        pull={"a": _prod_pull},
        when=takes_array,
        cases=(
            *VECTORS,
            *EMPTY,
            lambda rng: (np.array([0.0, 3.0, 0.0]),),
            lambda rng: (np.array([1 + 2j, 0j, 2 - 1j]),),
        ),
    )
)
register(
    ArrayRule(
        functions=(np.cumprod,),
        methods=("cumprod",),
        params="a",
        push={"a": _cumprod_push},
        pull={"a": _cumprod_pull},
        cases=(
            *VECTORS,
            *EMPTY,
            lambda rng: (np.array([0.0, 3.0, 0.0, 2.0]),),
            lambda rng: (np.array([1 + 2j, 0j, 2 - 1j]),),
        ),
    )
)

# ----- cumsum --------------------------------------------------------------------------------------


@compiled
def _cumsum_all_push(dot):
    return np.cumsum(dot)


@compiled
def _cumsum_push(dot, axis):
    return np.cumsum(dot, axis)


@compiled
def _cumsum_push_dtype(dot, axis, dtype):
    return np.cumsum(dot, axis, dtype)


@compiled
def _cumsum_all_pull(ct, a_shape, a_dtype):
    out = np.empty(a_shape, a_dtype)
    g = out.reshape(out.size)
    s = np.sum(ct[:0])
    for k in range(ct.size - 1, -1, -1):
        s += ct[k]
        g[k] = s
    return out


@compiled
def _cumsum_pull(ct, axis, a_shape, a_dtype):
    outer, n, inner = split_shape(a_shape, axis)
    out = np.empty(a_shape, a_dtype)
    g = out.reshape((outer, n, inner))
    c = np.ascontiguousarray(ct).reshape((outer, n, inner))
    for i in range(outer):
        for k in range(n - 1, -1, -1):
            for j in range(inner):
                g[i, k, j] = c[i, k, j] + g[i, k + 1, j] if k + 1 < n else c[i, k, j]
    return out


@compiled
def _nancumsum_push(dot, a):
    return np.cumsum(_nan_to_zero(dot, a))


@compiled
def _nancumsum_pull(ct, a):
    return _nan_to_zero(_cumsum_all_pull(ct, a.shape, a.dtype), a)


register(
    ArrayRule(
        functions=(np.cumsum,),
        methods=("cumsum",),
        params="a, axis=None, dtype=None",
        when=takes_array,
        push={
            "a": Choose(
                lambda t: (
                    _cumsum_push_dtype
                    if not is_none(t.get("dtype"))
                    else _cumsum_all_push
                    if is_none(t.get("axis"))
                    else _cumsum_push
                )
            )
        },
        pull={"a": Choose(lambda t: _cumsum_all_pull if is_none(t.get("axis")) or t["a"].ndim == 1 else _cumsum_pull)},
        cases=(
            *VECTORS,
            *EMPTY,
            lambda rng: (rng.normal(size=4), 0),
            lambda rng: (rng.normal(size=(3, 4)), 0),
            lambda rng: (rng.normal(size=(3, 4)), -1),
            lambda rng: (rng.normal(size=(2, 3, 8))[:, :, ::2], 1),
        ),
    )
)

# ----- moments -------------------------------------------------------------------------------------


@compiled
def _mean_push(dot):
    return np.mean(dot)


@wide
def _mean_vectors(dot):
    return _sum_all_vectors(dot) / dot.size


@compiled
def _mean_pull(ct, a_shape, a_dtype):
    out = np.empty(a_shape, a_dtype)
    out[...] = ct / out.size
    return out


@compiled
def _var_push(dot, a):
    m = np.mean(a)
    x, d = flat(a), flat(dot)
    t = np.sum(np.real(d[:0]))
    for k in range(x.size):
        t += np.real(np.conj(x[k] - m) * d[k])
    return 2.0 * t / x.size


@compiled
def _var_pull(ct, a):
    m = np.mean(a)
    out = np.empty(a.shape, a.dtype)
    x, g = flat(a), out.reshape(out.size)
    w = 2.0 * ct / x.size
    for k in range(x.size):
        g[k] = w * (x[k] - m)
    return out


@compiled
def _std_push(dot, a, out):
    return ratio0(0.5 * _var_push(dot, a), out)


@compiled
def _std_pull(ct, a, out):
    return _var_pull(ratio0(0.5 * ct, out), a)


@compiled
def count_numbers(a):
    """How many elements are not nan."""
    n = 0
    for v in flat(a):
        if not np.isnan(v):
            n += 1
    return n


@compiled
def _nanmean_push(dot, a):
    return _nansum_push(dot, a) / count_numbers(a)


@compiled
def _nanmean_pull(ct, a):
    return _nansum_pull(ct / count_numbers(a), a)


@compiled
def _numbers(a):
    """The elements that are not nan."""
    x = flat(a)
    return x[~np.isnan(x)]


@compiled
def _nanvar_push(dot, a, ddof):
    x, d = flat(a), flat(dot)
    keep = ~np.isnan(x)
    numbers = x[keep]
    return _var_push(d[keep], numbers) * (numbers.size / (numbers.size - ddof))


@compiled
def _nanvar_pull(ct, a, ddof):
    out = np.zeros(a.shape, a.dtype)
    x, g = flat(a), out.reshape(out.size)
    keep = _numbers(a)
    part = _var_pull(ct * (keep.size / (keep.size - ddof)), keep)
    j = 0
    for k in range(x.size):
        if not np.isnan(x[k]):
            g[k] = part[j]
            j += 1
    return out


@compiled
def _nanstd_push(dot, a, ddof, out):
    return ratio0(0.5 * _nanvar_push(dot, a, ddof), out)


@compiled
def _nanstd_pull(ct, a, ddof, out):
    return _nanvar_pull(ratio0(0.5 * ct, out), a, ddof)


_MOMENTS = VECTORS + (lambda rng: (np.array([1 + 2j, 0j, 2 - 1j]),),)
register(
    ArrayRule(
        functions=(np.mean,),
        methods=("mean",),
        params="a",
        when=takes_array,
        push={"a": _mean_push},
        pull={"a": _mean_pull},
        push_vectors={"a": _mean_vectors},
        cases=_MOMENTS + ZERO_D,
    )
)
register(
    ArrayRule(
        functions=(np.var,),
        methods=("var",),
        params="a",
        when=takes_array,
        push={"a": _var_push},
        pull={"a": _var_pull},
        cases=_MOMENTS,
    )
)
register(
    ArrayRule(
        functions=(np.std,),
        methods=("std",),
        params="a",
        when=takes_array,
        push={"a": _std_push},
        pull={"a": _std_pull},
        cases=tuple(c for k, c in enumerate(_MOMENTS) if k != 1),
        note="slope 0 where all elements are equal",
    )
)
for _fn, _push, _pull, _cases in (
    (np.nansum, _nansum_push, _nansum_pull, WITH_NAN + VECTORS[:3]),
    (np.nanprod, _nanprod_push, _nanprod_pull, WITH_NAN + VECTORS[:3]),
    (np.nancumsum, _nancumsum_push, _nancumsum_pull, WITH_NAN + VECTORS[:3]),
    (np.nancumprod, _nancumprod_push, _nancumprod_pull, WITH_NAN + VECTORS[:3]),
    (np.nanmean, _nanmean_push, _nanmean_pull, WITH_NAN + VECTORS[:3]),
    (np.nanvar, _nanvar_push, _nanvar_pull, WITH_NAN + VECTORS[:3]),
    (np.nanstd, _nanstd_push, _nanstd_pull, WITH_NAN + VECTORS[:1]),
):
    _params = "a, axis=None, dtype=None, out_=None, ddof=0" if _fn in (np.nanvar, np.nanstd) else "a"
    register(
        ArrayRule(
            functions=(_fn,), params=_params, when=takes_array, push={"a": _push}, pull={"a": _pull}, cases=_cases
        )
    )

# ----- weighted counts -----------------------------------------------------------------------------


@compiled
def _bincount_push(dot, a, minlength):
    return np.bincount(a, dot, minlength)


@compiled
def _bincount_pull(ct, a, weights_dtype):
    out = np.empty(a.size, weights_dtype)
    for k in range(a.size):
        out[k] = ct[a[k]]
    return out


register(
    ArrayRule(
        functions=(np.bincount,),
        params="a, weights=None, minlength=0",
        push={"weights": _bincount_push},
        pull={"weights": _bincount_pull},
        cases=(
            lambda rng: (np.array([0, 2, 2, 1]), rng.normal(size=4)),
            lambda rng: (np.array([0, 2, 2, 1]), rng.normal(size=4), 6),
        ),
    )
)

# ----- derivative zero -----------------------------------------------------------------------------

register(
    ZeroRule(
        functions=(
            np.argmax,
            np.argmin,
            np.nanargmax,
            np.nanargmin,
            np.all,
            np.any,
            np.allclose,
            np.array_equal,
            np.isclose,
            np.count_nonzero,
            np.iscomplex,
            np.isreal,
            np.iscomplexobj,
            np.isrealobj,
            np.isscalar,
            np.isneginf,
            np.isposinf,
            np.histogram,
        ),
        methods=("argmax", "argmin", "all", "any", "allclose"),
        note="counts, positions and tests",
    )
)


@njit(error_model="numpy")
def _sum_of_items(iterable, start):
    total = start
    for item in iterable:
        total = total + item
    return total


register(
    RewriteRule(
        functions=(sum,), params="iterable, start=0", implementation=_sum_of_items,
        note="the builtin, of a list, tuple or array",
    )
)  # fmt: skip
