"""Rules of extrema and order statistics: max, min, ptp, median, quantile, percentile.

Extrema share the cotangent equally among elements that tie. Quantiles are linear between two order
statistics, found by sorting.
"""

from __future__ import annotations

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.reductions import VECTORS, WITH_NAN, ZERO_D, count_numbers
from jitgrad.rules.registry import ArrayRule, Choose, register
from jitgrad.rules.support import is_array, takes_array
from jitgrad.runtime.arrays import flat
from jitgrad.runtime.kernels import compiled, mul0

# ----- extrema -------------------------------------------------------------------------------------


@compiled
def _ties(a, out):
    n = 0
    for v in flat(a):
        if v == out or (v != v and out != out):
            n += 1
    return n


@compiled
def _extremum_push(dot, a, out):
    x, d = flat(a), flat(dot)
    t = np.sum(d[:0])
    for k in range(x.size):
        if x[k] == out or (x[k] != x[k] and out != out):
            t += d[k]
    return t / _ties(a, out)


@compiled
def _extremum_pull(ct, a, out):
    result = np.zeros(a.shape, a.dtype)
    x, g = flat(a), result.reshape(result.size)
    share = ct / _ties(a, out)
    for k in range(x.size):
        if x[k] == out or (x[k] != x[k] and out != out):
            g[k] = share
    return result


@compiled
def _ptp_push(dot, a):
    return _extremum_push(dot, a, np.max(a)) - _extremum_push(dot, a, np.min(a))


@compiled
def _ptp_pull(ct, a):
    return _extremum_pull(ct, a, np.max(a)) - _extremum_pull(ct, a, np.min(a))


for _fns, _methods in (
    (dict.fromkeys((np.max, np.amax)), ("max",)),
    (dict.fromkeys((np.min, np.amin)), ("min",)),
    ((np.nanmax,), ()),
    ((np.nanmin,), ()),
):
    register(
        ArrayRule(
            functions=tuple(_fns),
            methods=_methods,
            params="a",
            when=takes_array,
            push={"a": _extremum_push},
            pull={"a": _extremum_pull},
            cases=VECTORS + (ZERO_D if _methods else WITH_NAN),
            note="equal shares among elements that tie",
        )
    )
register(
    ArrayRule(
        functions=(np.ptp,), params="a", when=takes_array, push={"a": _ptp_push}, pull={"a": _ptp_pull}, cases=VECTORS
    )
)

# ----- order statistics ----------------------------------------------------------------------------


@compiled
def _rank(n, q):
    """``(k, m)``: the quantile `q` of n sorted numbers is ``s[k] * (1 - m) + s[k + 1] * m``."""
    r = (n - 1) * q
    k = int(np.floor(r))
    if k > n - 2:
        k = n - 2
    if k < 0:
        return 0, 0.0
    return k, r - k


@compiled
def _quantile_pull_one(g, order, n, c, q):
    k, m = _rank(n, q)
    g[order[k]] += c * (1.0 - m)
    if n > 1:
        g[order[k + 1]] += c * m


@compiled
def _quantile_push_one(d, order, n, q):
    k, m = _rank(n, q)
    if n == 1:
        return d[order[0]] * 1.0
    return d[order[k]] * (1.0 - m) + d[order[k + 1]] * m


@compiled
def _quantile_slope(x, order, n, q):
    if n < 2:
        return 0.0
    k, m = _rank(n, q)
    return (n - 1) * (x[order[k + 1]] - x[order[k]])


@compiled
def _median_push(dot, a):
    x = flat(a)
    n = count_numbers(a)
    if n == 0:
        return 0.0
    return _quantile_push_one(flat(dot), np.argsort(x), n, 0.5)


@compiled
def _median_pull(ct, a):
    out = np.zeros(a.shape, a.dtype)
    n = count_numbers(a)
    if n > 0:
        _quantile_pull_one(out.reshape(out.size), np.argsort(flat(a)), n, ct, 0.5)
    return out


@compiled
def _quantile_push_a(dot, a, q):
    return _quantile_push_one(flat(dot), np.argsort(flat(a)), count_numbers(a), q)


@compiled
def _quantile_push_a_many(dot, a, q):
    order, n, d = np.argsort(flat(a)), count_numbers(a), flat(dot)
    out = np.zeros(q.size)
    p = flat(q)
    for k in range(p.size):
        out[k] = _quantile_push_one(d, order, n, p[k])
    return out


@compiled
def _quantile_push_q(dot, a, q):
    return mul0(dot, _quantile_slope(flat(a), np.argsort(flat(a)), count_numbers(a), q))


@compiled
def _quantile_push_q_many(dot, a, q):
    x = flat(a)
    order, n, d = np.argsort(x), count_numbers(a), flat(dot)
    out = np.zeros(q.size)
    p = flat(q)
    for k in range(p.size):
        out[k] = mul0(d[k], _quantile_slope(x, order, n, p[k]))
    return out


@compiled
def _quantile_pull_a(ct, a, q):
    out = np.zeros(a.shape, a.dtype)
    _quantile_pull_one(out.reshape(out.size), np.argsort(flat(a)), count_numbers(a), ct, q)
    return out


@compiled
def _quantile_pull_a_many(ct, a, q):
    out = np.zeros(a.shape, a.dtype)
    order, n, g = np.argsort(flat(a)), count_numbers(a), out.reshape(out.size)
    p = flat(q)
    for k in range(p.size):
        _quantile_pull_one(g, order, n, ct[k], p[k])
    return out


@compiled
def _quantile_pull_q_many(ct, a, q):
    return _quantile_push_q_many(ct, a, q).reshape(q.shape)


@compiled
def _percentile_push_a(dot, a, q):
    return _quantile_push_a(dot, a, q * 0.01)


@compiled
def _percentile_push_a_many(dot, a, q):
    return _quantile_push_a_many(dot, a, q * 0.01)


@compiled
def _percentile_push_q(dot, a, q):
    return _quantile_push_q(dot, a, q * 0.01) * 0.01


@compiled
def _percentile_push_q_many(dot, a, q):
    return _quantile_push_q_many(dot, a, q * 0.01) * 0.01


@compiled
def _percentile_pull_a(ct, a, q):
    return _quantile_pull_a(ct, a, q * 0.01)


@compiled
def _percentile_pull_a_many(ct, a, q):
    return _quantile_pull_a_many(ct, a, q * 0.01)


@compiled
def _percentile_pull_q_many(ct, a, q):
    return _quantile_pull_q_many(ct, a, q * 0.01) * 0.01


def _by_q(one, many):
    return Choose(lambda types: many if is_array(types["q"]) and types["q"].ndim > 0 else one)


def _quantile_types(types):
    return (
        is_array(types["a"])
        and (not is_array(types["q"]) or types["q"].ndim > 0)
        and not isinstance(types["q"], nbtypes.Sequence)
    )


for _fn in (np.median, np.nanmedian):
    register(
        ArrayRule(
            functions=(_fn,),
            params="a",
            when=takes_array,
            push={"a": _median_push},
            pull={"a": _median_pull},
            cases=VECTORS + (WITH_NAN if _fn is np.nanmedian else ()),
        )
    )
_QUANTILE_CASES = (
    lambda rng, s=1.0: (rng.normal(size=7), 0.31 * s),
    lambda rng, s=1.0: (rng.normal(size=(3, 4)), 0.9 * s),
    lambda rng, s=1.0: (rng.normal(size=6), np.array([0.1, 0.55, 0.83]) * s),
    lambda rng, s=1.0: (rng.normal(size=1), 0.4 * s),
)
for _quantiles, _scale, _rows in (
    (
        (np.quantile, np.nanquantile),
        1.0,
        (
            _quantile_push_a,
            _quantile_push_a_many,
            _quantile_push_q,
            _quantile_push_q_many,
            _quantile_pull_a,
            _quantile_pull_a_many,
            _quantile_push_q,
            _quantile_pull_q_many,
        ),
    ),
    (
        (np.percentile, np.nanpercentile),
        100.0,
        (
            _percentile_push_a,
            _percentile_push_a_many,
            _percentile_push_q,
            _percentile_push_q_many,
            _percentile_pull_a,
            _percentile_pull_a_many,
            _percentile_push_q,
            _percentile_pull_q_many,
        ),
    ),
):
    for _quantile in _quantiles:
        register(
            ArrayRule(
                functions=(_quantile,),
                params="a, q",
                when=_quantile_types,
                push={"a": _by_q(*_rows[0:2]), "q": _by_q(*_rows[2:4])},
                pull={"a": _by_q(*_rows[4:6]), "q": _by_q(*_rows[6:8])},
                cases=tuple((lambda rng, c=c, s=_scale: c(rng, s)) for c in _QUANTILE_CASES),
            )
        )
