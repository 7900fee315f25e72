"""Rules of gathers and sorts, of interpolation and convolution, and the functions that return positions."""

from __future__ import annotations

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.registry import ArrayRule, Choose, MutatingRule, ZeroRule, register
from jitgrad.rules.support import flat, is_array, is_none, split_shape, takes_array
from jitgrad.runtime.kernels import compiled, mul0

# ----- take -----------------------------------------------------------------------------------------------


@compiled
def _take_push(dot, indices):
    return np.take(dot, indices)


@compiled
def _take_axis_push(dot, indices, axis):
    return np.take(dot, indices, axis)


@compiled
def _take_one_pull(ct, indices, a_shape, a_dtype):
    out = np.zeros(a_shape, a_dtype)
    out.reshape(out.size)[indices] = ct
    return out


@compiled
def _take_pull(ct, indices, a_shape, a_dtype):
    out = np.zeros(a_shape, a_dtype)
    g, c, where = out.reshape(out.size), flat(ct), flat(np.asarray(indices))
    for k in range(c.size):
        g[where[k]] += c[k]
    return out


@compiled
def _take_axis_one_pull(ct, indices, axis, a_shape, a_dtype):
    outer, n, inner = split_shape(a_shape, axis)
    out = np.zeros(a_shape, a_dtype)
    g, c = out.reshape((outer, n, inner)), flat(np.asarray(ct)).reshape((outer, inner))
    for i in range(outer):
        for j in range(inner):
            g[i, indices, j] += c[i, j]
    return out


@compiled
def _take_axis_pull(ct, indices, axis, a_shape, a_dtype):
    outer, n, inner = split_shape(a_shape, axis)
    out = np.zeros(a_shape, a_dtype)
    m = len(indices)
    g, c = out.reshape((outer, n, inner)), np.ascontiguousarray(ct).reshape((outer, m, inner))
    for i in range(outer):
        for k in range(m):
            for j in range(inner):
                g[i, indices[k], j] += c[i, k, j]
    return out


def _take(types):
    one = isinstance(types["indices"], nbtypes.Integer)
    if is_none(types.get("axis")):
        return _take_one_pull if one else _take_pull
    return _take_axis_one_pull if one else _take_axis_pull


def _case(shape, *tail):
    return lambda rng: (rng.normal(size=shape), *tail)


register(
    ArrayRule(
        functions=(np.take,), methods=("take",), params="a, indices, axis=None", when=takes_array,
        push={"a": Choose(lambda t: _take_push if is_none(t.get("axis")) else _take_axis_push)}, pull={"a": Choose(_take)},
        cases=(
            _case(4, 2), _case((2, 3), -1), _case(4, np.array([0, 2, 2, -1])), _case((2, 3), np.array([[0, 5], [5, 1]])),
            _case((3, 4), np.array([1, 1, -1]), 1), _case((3, 4), np.array([2, 0]), 0), _case((3, 4), 1, 0),
        ),
    )
)  # fmt: skip


@compiled
def _along_axis_shape(shape, ct_shape, axis):
    """Element counts before, on and after the axis: of the array, and of the result."""
    outer, n, inner = split_shape(shape, axis)
    _, m, _ = split_shape(ct_shape, axis)
    return outer, n, m, inner


@compiled
def _along_push(dot, indices, axis):
    outer, n, m, inner = _along_axis_shape(dot.shape, indices.shape, axis)
    out = np.empty(indices.shape, dot.dtype)
    y, d = out.reshape((outer, m, inner)), flat(dot).reshape((outer, n, inner))
    where = flat(indices).reshape((outer, m, inner))
    for i in range(outer):
        for k in range(m):
            for j in range(inner):
                y[i, k, j] = d[i, where[i, k, j], j]
    return out


@compiled
def _along_pull(ct, indices, axis, arr_shape, arr_dtype):
    outer, n, m, inner = _along_axis_shape(arr_shape, indices.shape, axis)
    out = np.zeros(arr_shape, arr_dtype)
    g, c = out.reshape((outer, n, inner)), flat(ct).reshape((outer, m, inner))
    where = flat(indices).reshape((outer, m, inner))
    for i in range(outer):
        for k in range(m):
            for j in range(inner):
                g[i, where[i, k, j], j] += c[i, k, j]
    return out


@compiled
def _along_flat_push(dot, indices):
    return flat(dot)[indices]


@compiled
def _along_flat_pull(ct, indices, arr_shape, arr_dtype):
    return _take_pull(ct, indices, arr_shape, arr_dtype)


register(
    ArrayRule(
        functions=(np.take_along_axis,), params="arr, indices, axis",
        push={"arr": Choose(lambda t: _along_flat_push if is_none(t["axis"]) else _along_push)},
        pull={"arr": Choose(lambda t: _along_flat_pull if is_none(t["axis"]) else _along_pull)},
        cases=(_case((2, 3), np.array([[0, 2], [1, 1]]), 1), _case((2, 3), np.array([[1, 0, 1]]), 0), _case(4, np.array([3, 3]), None)),
        note="indices that broadcast against the array are not supported",
    )
)  # fmt: skip

# ----- sorts ---------------------------------------------------------------------------------------------------


@compiled
def _sort_rows(a):
    """Positions that sort each row (the last axis), as ``(rows, n)``."""
    n = a.shape[a.ndim - 1]
    rows = a.size // n if n > 0 else 0
    x = flat(a).reshape((rows, n))
    order = np.empty((rows, n), np.int64)
    for i in range(rows):
        order[i] = np.argsort(x[i])
    return order


@compiled
def _gather_rows(d, order, shape):
    out = np.empty(shape, d.dtype)
    y, x = out.reshape(order.shape), flat(d).reshape(order.shape)
    for i in range(order.shape[0]):
        for k in range(order.shape[1]):
            y[i, k] = x[i, order[i, k]]
    return out


@compiled
def _scatter_rows(ct, order, shape):
    out = np.empty(shape, ct.dtype)
    g, c = out.reshape(order.shape), flat(ct).reshape(order.shape)
    for i in range(order.shape[0]):
        for k in range(order.shape[1]):
            g[i, order[i, k]] = c[i, k]
    return out


@compiled
def _sort_push(dot, a):
    return _gather_rows(dot, _sort_rows(a), a.shape)


@compiled
def _sort_pull(ct, a):
    return _scatter_rows(ct, _sort_rows(a), a.shape)


@compiled
def _partition_push(dot, a, out):
    # both orders sort to the same numbers, which tells where each element went
    return _scatter_rows(_gather_rows(dot, _sort_rows(a), a.shape), _sort_rows(out), a.shape)


@compiled
def _partition_pull(ct, a, out):
    return _scatter_rows(_gather_rows(ct, _sort_rows(out), a.shape), _sort_rows(a), a.shape)


register(
    ArrayRule(
        functions=(np.sort,), params="a", when=takes_array, push={"a": _sort_push}, pull={"a": _sort_pull},
        cases=(_case(6), _case((3, 4)), _case(0), _case(1), lambda rng: (rng.normal(size=(3, 8))[:, ::2],)),
    )
)  # fmt: skip
register(
    ArrayRule(
        functions=(np.partition,), params="a, kth", when=takes_array, push={"a": _partition_push}, pull={"a": _partition_pull},
        cases=(_case(7, 3), _case((3, 4), 1)),
    )
)  # fmt: skip


@compiled
def _unique_first(a, out):
    """Position of the first element equal to each unique value."""
    x = flat(a)
    order = np.argsort(x, kind="mergesort")
    first = np.empty(out.size, np.int64)
    k = 0
    for j in range(out.size):
        while x[order[k]] != out[j]:
            k += 1
        first[j] = order[k]
    return first


@compiled
def _unique_push(dot, ar, out):
    return flat(dot)[_unique_first(ar, out)]


@compiled
def _unique_pull(ct, ar, out):
    result = np.zeros(ar.shape, ar.dtype)
    g, first = result.reshape(result.size), _unique_first(ar, out)
    for j in range(out.size):
        g[first[j]] = ct[j]
    return result


register(
    ArrayRule(
        functions=(np.unique,), params="ar", when=takes_array, push={"ar": _unique_push}, pull={"ar": _unique_pull},
        cases=(_case(5), _case((2, 3))), note="of equal elements the first gets the cotangent",
    )
)  # fmt: skip


@compiled
def _extract_push(dot, condition):
    return flat(dot)[flat(condition) != 0]


@compiled
def _extract_pull(ct, condition, arr_shape, arr_dtype):
    out = np.zeros(arr_shape, arr_dtype)
    g, c = out.reshape(out.size), flat(condition)
    k = 0
    for i in range(c.size):
        if c[i]:
            g[i] = ct[k]
            k += 1
    return out


register(
    ArrayRule(
        functions=(np.extract,), params="condition, arr", when=lambda t: is_array(t["arr"]) and is_array(t["condition"]),
        push={"arr": _extract_push}, pull={"arr": _extract_pull},
        cases=(lambda rng: (np.array([True, False, True, True]), rng.normal(size=4)),),
    )
)  # fmt: skip

# ----- interpolation ---------------------------------------------------------------------------------------------


@compiled
def _interval(x, xp):
    """``(k, state)``: x lies in ``[xp[k], xp[k + 1])`` (state 0), left (-1) or right (1) of all."""
    n = xp.size
    if x != x:
        return 0, 2
    if x < xp[0]:
        return 0, -1
    if x >= xp[n - 1]:
        return n - 1, 1
    lo, hi = 0, n - 1
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if xp[mid] <= x:
            lo = mid
        else:
            hi = mid
    return lo, 0


@compiled
def _interp_slope(x, xp, fp):
    k, state = _interval(x, xp)
    return (fp[k + 1] - fp[k]) / (xp[k + 1] - xp[k]) if state == 0 else 0.0


@compiled
def _interp_push_x_one(dot, x, xp, fp):
    return mul0(dot, _interp_slope(x, xp, fp))


@compiled
def _interp_pull_x(ct, x, xp, fp):
    out = np.empty(x.shape, x.dtype)
    g, c, at = out.reshape(out.size), flat(ct), flat(x)
    for i in range(at.size):
        g[i] = mul0(c[i], _interp_slope(at[i], xp, fp))
    return out


@compiled
def _interp_push_x(dot, x, xp, fp):
    out = np.empty(x.shape)
    g, d, at = out.reshape(out.size), flat(dot), flat(x)
    for i in range(at.size):
        g[i] = mul0(d[i], _interp_slope(at[i], xp, fp))
    return out


@compiled
def _interp_push_fp(dot, x, xp):
    return np.interp(x, xp, dot)


@compiled
def _interp_push_xp_one(dot, x, xp, fp):
    k, state = _interval(x, xp)
    if state != 0:
        return 0.0
    w = xp[k + 1] - xp[k]
    t = (x - xp[k]) / w
    return -(fp[k + 1] - fp[k]) / w * ((1.0 - t) * dot[k] + t * dot[k + 1])


@compiled
def _interp_push_xp(dot, x, xp, fp):
    out = np.empty(x.shape)
    g, at = out.reshape(out.size), flat(x)
    for i in range(at.size):
        g[i] = _interp_push_xp_one(dot, at[i], xp, fp)
    return out


@compiled
def _interp_add_fp(g, c, x, xp):
    k, state = _interval(x, xp)
    if state == 0:
        t = (x - xp[k]) / (xp[k + 1] - xp[k])
        g[k] += c * (1.0 - t)
        g[k + 1] += c * t
    elif state != 2:
        g[k] += c


@compiled
def _interp_add_xp(g, c, x, xp, fp):
    k, state = _interval(x, xp)
    if state == 0:
        w = xp[k + 1] - xp[k]
        t = (x - xp[k]) / w
        slope = (fp[k + 1] - fp[k]) / w
        g[k] -= c * slope * (1.0 - t)
        g[k + 1] -= c * slope * t


@compiled
def _interp_pull_fp_one(ct, x, xp, fp_dtype):
    out = np.zeros(xp.size, fp_dtype)
    _interp_add_fp(out, ct, x, xp)
    return out


@compiled
def _interp_pull_fp(ct, x, xp, fp_dtype):
    out = np.zeros(xp.size, fp_dtype)
    c, at = flat(ct), flat(x)
    for i in range(at.size):
        _interp_add_fp(out, c[i], at[i], xp)
    return out


@compiled
def _interp_pull_xp_one(ct, x, xp, fp):
    out = np.zeros(xp.size, xp.dtype)
    _interp_add_xp(out, ct, x, xp, fp)
    return out


@compiled
def _interp_pull_xp(ct, x, xp, fp):
    out = np.zeros(xp.size, xp.dtype)
    c, at = flat(ct), flat(x)
    for i in range(at.size):
        _interp_add_xp(out, c[i], at[i], xp, fp)
    return out


def _by_x(one, many):
    return Choose(lambda t: many if is_array(t["x"]) else one)


register(
    ArrayRule(
        functions=(np.interp,), params="x, xp, fp", when=lambda t: is_array(t["xp"]) and is_array(t["fp"]),
        push={"x": _by_x(_interp_push_x_one, _interp_push_x), "xp": _by_x(_interp_push_xp_one, _interp_push_xp), "fp": _interp_push_fp},
        pull={"x": _by_x(_interp_push_x_one, _interp_pull_x), "xp": _by_x(_interp_pull_xp_one, _interp_pull_xp),
              "fp": _by_x(_interp_pull_fp_one, _interp_pull_fp)},
        cases=(
            lambda rng: (np.array([0.3, 1.7, 2.2, -1.0, 9.0]), np.array([0.0, 1.0, 2.0, 4.0]), rng.normal(size=4)),
            lambda rng: (1.3, np.array([0.0, 1.0, 2.0, 4.0]), rng.normal(size=4)),
        ),
    )
)  # fmt: skip

# ----- convolution ---------------------------------------------------------------------------------------------------
# The result of every mode is a window of the full convolution; its offset follows from the three sizes.


@compiled
def _offset(n, m, size):
    if size == n + m - 1:
        return 0
    if size == max(n, m):
        return (min(n, m) - 1) // 2
    return min(n, m) - 1


@compiled
def _convolve_push_a(dot, v, mode):
    return np.convolve(dot, v, mode)


@compiled
def _convolve_push_v(dot, a, mode):
    return np.convolve(a, dot, mode)


@compiled
def _convolve_pull(ct, other, n, dtype):
    """Cotangent of the operand of size n; the result is symmetric in both."""
    out = np.zeros(n, dtype)
    start = _offset(n, other.size, ct.size)
    for i in range(n):
        for j in range(other.size):
            k = i + j - start
            if 0 <= k < ct.size:
                out[i] += ct[k] * np.conj(other[j])
    return out


@compiled
def _convolve_pull_a(ct, v, a_shape, a_dtype):
    return _convolve_pull(ct, v, a_shape[0], a_dtype)


@compiled
def _convolve_pull_v(ct, a, v_shape, v_dtype):
    return _convolve_pull(ct, a, v_shape[0], v_dtype)


@compiled
def _correlate_push_a(dot, v, mode):
    return np.correlate(dot, v, mode)


@compiled
def _correlate_push_v(dot, a, mode):
    return np.correlate(a, dot, mode)


@compiled
def _correlate_offset(n, m, size):
    start = _offset(n, m, size)
    # Numba swaps the operands when the second is longer and reverses the result
    if m > n and size == max(n, m) and size != n + m - 1:
        return n + m - 1 - size - start
    return start


@compiled
def _correlate_pull_a(ct, v, a_shape, a_dtype):
    n, m = a_shape[0], v.size
    out = np.zeros(n, a_dtype)
    start = _correlate_offset(n, m, ct.size)
    for i in range(n):
        for j in range(m):
            k = i + (m - 1 - j) - start
            if 0 <= k < ct.size:
                out[i] += ct[k] * v[j]
    return out


@compiled
def _correlate_pull_v(ct, a, v_shape, v_dtype):
    n, m = a.size, v_shape[0]
    out = np.zeros(m, v_dtype)
    start = _correlate_offset(n, m, ct.size)
    for i in range(n):
        for j in range(m):
            k = i + (m - 1 - j) - start
            if 0 <= k < ct.size:
                out[j] += np.conj(ct[k]) * a[i]
    return out


def _two(n, m, *tail):
    return lambda rng: (rng.normal(size=n), rng.normal(size=m), *tail)


def _vectors(t):
    return is_array(t["a"]) and is_array(t["v"])


register(
    ArrayRule(
        functions=(np.convolve,), params="a, v, mode='full'", when=_vectors, push={"a": _convolve_push_a, "v": _convolve_push_v},
        pull={"a": _convolve_pull_a, "v": _convolve_pull_v},
        cases=(_two(5, 3), _two(5, 3, "valid"), _two(5, 4, "same"), _two(3, 6, "same"), _two(2, 5, "valid"), _two(1, 3)),
    )
)  # fmt: skip
register(
    ArrayRule(
        functions=(np.correlate,), params="a, v, mode='valid'", when=_vectors, push={"a": _correlate_push_a, "v": _correlate_push_v},
        pull={"a": _correlate_pull_a, "v": _correlate_pull_v},
        cases=(_two(5, 3), _two(5, 3, "full"), _two(5, 4, "same"), _two(3, 6, "same"), _two(2, 5), _two(4, 4, "same")),
    )
)  # fmt: skip

# ----- trapezoid ------------------------------------------------------------------------------------------------------
# Numba's implementation is readable; a rule is much shorter to compile.


@compiled
def _trapezoid_push(dot, dx):
    return np.trapezoid(dot, dx=dx)


@compiled
def _trapezoid_pull(ct, dx, y_shape, y_dtype):
    out = np.zeros(y_shape, y_dtype)
    n = out.size
    for i in range(n - 1):
        out[i] += 0.5 * dx * ct
        out[i + 1] += 0.5 * dx * ct
    return out


@compiled
def _trapezoid_push_dx(dot, y):
    return np.trapezoid(y) * dot


_TRAPEZOID = ArrayRule(
    functions=(np.trapezoid,) if hasattr(np, "trapezoid") else (), params="y, x=None, dx=1.0",
    push={"y": _trapezoid_push, "dx": _trapezoid_push_dx}, pull={"y": _trapezoid_pull, "dx": _trapezoid_push_dx},
    when=lambda t: is_array(t["y"]) and t["y"].ndim == 1 and is_none(t.get("x")), cases=(_case(5), _case(1), _case(4, None, 0.3)),
)  # fmt: skip
if _TRAPEZOID.functions:
    register(_TRAPEZOID)

# ----- positions, and functions that write into their argument ------------------------------------------------------------

register(
    ZeroRule(
        functions=(
            np.argsort, np.argpartition, np.searchsorted, np.digitize, np.nonzero, np.argwhere, np.flatnonzero, np.tril_indices,
            np.tril_indices_from, np.triu_indices, np.triu_indices_from, np.shape, np.size, np.ndim, np.broadcast_shapes,
            np.finfo, np.iinfo, np.isin, np.ndindex, np.dtype,
        ),
        methods=("argsort", "nonzero", "tobytes"),
        attributes=("shape", "strides", "size", "ndim", "dtype", "itemsize", "nbytes", "flags"),
        note="positions and shapes",
    )
)  # fmt: skip
register(MutatingRule(methods=("fill",), params="a, value", target="a"))
register(MutatingRule(functions=(np.fill_diagonal,), params="a, val, wrap=False", target="a"))
register(MutatingRule(functions=(np.copyto,), params="dst, src", target="dst"))
register(MutatingRule(methods=("sort",), params="a, axis=-1, kind=None", target="a"))
for _name, _params in (
    ("append", "a, value"), ("pop", "a, index=-1"), ("insert", "a, index, value"), ("extend", "a, values"), ("reverse", "a"),
    ("clear", "a"), ("remove", "a, value"), ("sort", "a, key=None, reverse=False"),
):  # fmt: skip
    register(MutatingRule(methods=(f"list.{_name}",), params=_params, target="a"))
register(ZeroRule(methods=("list.index", "list.count")))
