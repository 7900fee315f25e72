"""Rules of gathers and sorts, of functions that return positions, and of those that write into an argument."""

from __future__ import annotations

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.registry import ArrayRule, Choose, MutatingRule, RewriteRule, ZeroRule, register
from jitgrad.rules.support import is_array, is_none, split_shape, takes_array
from jitgrad.runtime.arrays import flat
from jitgrad.runtime.kernels import compiled

# ----- take ----------------------------------------------------------------------------------------


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
        functions=(np.take,),
        methods=("take",),
        params="a, indices, axis=None",
        when=takes_array,
        push={"a": Choose(lambda t: _take_push if is_none(t.get("axis")) else _take_axis_push)},
        pull={"a": Choose(_take)},
        cases=(
            _case(4, 2),
            _case((2, 3), -1),
            _case(4, np.array([0, 2, 2, -1])),
            _case((2, 3), np.array([[0, 5], [5, 1]])),
            _case((3, 4), np.array([1, 1, -1]), 1),
            _case((3, 4), np.array([2, 0]), 0),
            _case((3, 4), 1, 0),
        ),
    )
)


@compiled
def _along_positions(shape, indices, axis, out_shape):
    """Where in the raveled array each element of the result comes from; array and indices may broadcast."""
    if axis < 0:
        axis += len(shape)
    size = 1
    for n in out_shape:
        size *= n
    chosen = flat(indices)
    where = np.empty(size, np.int64)
    for r in range(size):
        rest, at, stride = r, 0, 1
        for k in range(len(shape) - 1, -1, -1):
            at += rest % out_shape[k] % indices.shape[k] * stride
            rest //= out_shape[k]
            stride *= indices.shape[k]
        rest, position, stride = r, 0, 1
        for k in range(len(shape) - 1, -1, -1):
            i = chosen[at] if k == axis else rest % out_shape[k]
            position += i % shape[k] * stride  # a negative index counts from the end
            rest //= out_shape[k]
            stride *= shape[k]
        where[r] = position
    return where


@compiled
def _along_push(dot, indices, axis, out):
    return flat(dot)[_along_positions(dot.shape, indices, axis, out.shape)].reshape(out.shape)


@compiled
def _along_pull(ct, indices, axis, arr_shape, arr_dtype):
    where, c = _along_positions(arr_shape, indices, axis, ct.shape), flat(ct)
    out = np.zeros(arr_shape, arr_dtype)
    g = out.reshape(-1)
    for k in range(where.size):
        g[where[k]] += c[k]
    return out


@compiled
def _along_flat_push(dot, indices):
    return flat(dot)[indices]


@compiled
def _along_flat_pull(ct, indices, arr_shape, arr_dtype):
    return _take_pull(ct, indices, arr_shape, arr_dtype)


register(
    ArrayRule(
        functions=(np.take_along_axis,),
        params="arr, indices, axis",
        push={"arr": Choose(lambda t: _along_flat_push if is_none(t["axis"]) else _along_push)},
        pull={"arr": Choose(lambda t: _along_flat_pull if is_none(t["axis"]) else _along_pull)},
        cases=(
            _case((2, 3), np.array([[0, 2], [1, 1]]), 1),
            _case((2, 3), np.array([[1, 0, 1]]), 0),
            _case((2, 3), np.array([[2, 2]]), 1),
            _case((1, 3), np.array([[0], [2]]), -1),
            _case(4, np.array([3, 3]), None),
        ),
    )
)

# ----- sorts ---------------------------------------------------------------------------------------


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
        functions=(np.sort,),
        params="a",
        when=takes_array,
        push={"a": _sort_push},
        pull={"a": _sort_pull},
        cases=(_case(6), _case((3, 4)), _case(0), _case(1), lambda rng: (rng.normal(size=(3, 8))[:, ::2],)),
    )
)
register(
    ArrayRule(
        functions=(np.partition,),
        params="a, kth",
        when=takes_array,
        push={"a": _partition_push},
        pull={"a": _partition_pull},
        cases=(_case(7, 3), _case((3, 4), 1)),
    )
)


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
        functions=(np.unique,),
        params="ar",
        when=takes_array,
        push={"ar": _unique_push},
        pull={"ar": _unique_pull},
        cases=(_case(5), _case((2, 3))),
        note="of equal elements the first gets the cotangent",
    )
)


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
        functions=(np.extract,),
        params="condition, arr",
        when=lambda t: is_array(t["arr"]) and is_array(t["condition"]),
        push={"arr": _extract_push},
        pull={"arr": _extract_pull},
        cases=(lambda rng: (np.array([True, False, True, True]), rng.normal(size=4)),),
    )
)

# ----- positions, and functions that write into their argument -------------------------------------

register(
    ZeroRule(
        functions=(
            np.argsort,
            np.argpartition,
            np.searchsorted,
            np.digitize,
            np.nonzero,
            np.argwhere,
            np.flatnonzero,
            np.tril_indices,
            np.tril_indices_from,
            np.triu_indices,
            np.triu_indices_from,
            np.shape,
            np.size,
            np.ndim,
            np.broadcast_shapes,
            np.finfo,
            np.iinfo,
            np.isin,
            np.ndindex,
            np.dtype,
        ),
        methods=("argsort", "nonzero", "tobytes"),
        attributes=("shape", "strides", "size", "ndim", "dtype", "itemsize", "nbytes", "flags"),
        note="positions and shapes",
    )
)


@compiled
def _fill_diagonal(a, val, wrap):
    rows, columns = a.shape
    size = columns * (rows if wrap else min(rows, columns))
    for k in range(0, size, columns + 1):
        a[k // columns, k % columns] = val


@compiled
def _fill_diagonal_from(a, val, wrap):
    rows, columns = a.shape
    size = columns * (rows if wrap else min(rows, columns))
    for k in range(0, size, columns + 1):
        a[k // columns, k % columns] = val[k // (columns + 1) % val.size]


@compiled
def _sort_in_place(a, kind):
    a[...] = np.sort(a)


@compiled
def _sort_list(a, key, reverse):
    x = np.empty(len(a))
    for k in range(x.size):
        x[k] = a[k]
    order = np.argsort(x, kind="mergesort")
    for k in range(x.size):
        a[k] = x[order[x.size - 1 - k if reverse else k]]


@compiled
def _sorted(iterable, key, reverse):
    items = [x for x in iterable]  # noqa: C416  (Numba's list() takes no array)
    items.sort(reverse=reverse)
    return items


def _floats(type_, ndim=None):
    """Whether a type is an array of floats, with so many axes."""
    return (
        is_array(type_)
        and isinstance(type_.dtype, (nbtypes.Float, nbtypes.Complex))
        and type_.ndim == (ndim or type_.ndim)
    )


def _diagonal(t):
    if not _floats(t["a"], 2):
        return None
    if isinstance(t["val"], nbtypes.Number):
        return _fill_diagonal
    return _fill_diagonal_from if _floats(t["val"], 1) else None


def _plain_sort(implementation, items):
    """Choose an implementation for sorts of doubles without a key."""

    def choose(t):
        of_doubles = getattr(t[items], "dtype", None) == nbtypes.float64
        return implementation if of_doubles and is_none(t["key"]) else None

    return Choose(choose)


register(MutatingRule(methods=("fill",), params="a, value", target="a"))
register(
    MutatingRule(
        functions=(np.fill_diagonal,), params="a, val, wrap=False", target="a", implementation=Choose(_diagonal)
    )
)
register(
    MutatingRule(
        methods=("sort",), params="a, kind=None", target="a",
        implementation=Choose(lambda t: _sort_in_place if _floats(t["a"]) else None),
    )
)  # fmt: skip
register(
    MutatingRule(
        methods=("list.sort",), params="a, key=None, reverse=False", target="a",
        implementation=_plain_sort(_sort_list, "a"),
    )
)  # fmt: skip
register(
    RewriteRule(
        functions=(sorted,), params="iterable, key=None, reverse=False", implementation=_plain_sort(_sorted, "iterable")
    )
)
for _name, _params in (
    ("append", "a, value"),
    ("pop", "a, index=-1"),
    ("insert", "a, index, value"),
    ("extend", "a, values"),
    ("reverse", "a"),
    ("clear", "a"),
    ("remove", "a, value"),
):
    register(MutatingRule(methods=(f"list.{_name}",), params=_params, target="a"))
register(ZeroRule(methods=("list.index", "list.count")))
