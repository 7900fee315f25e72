"""Rules of interpolation, convolution and the trapezoidal rule.

Numba's implementations are readable; rules are much shorter to compile and need no tape.
"""

from __future__ import annotations

import numpy as np

from jitgrad.rules.registry import ArrayRule, Choose, register
from jitgrad.rules.support import is_array, is_none
from jitgrad.runtime.arrays import flat
from jitgrad.runtime.kernels import compiled, mul0


def _case(shape, *tail):
    return lambda rng: (rng.normal(size=shape), *tail)


# ----- interpolation -------------------------------------------------------------------------------


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
        functions=(np.interp,),
        params="x, xp, fp",
        when=lambda t: is_array(t["xp"]) and is_array(t["fp"]),
        push={
            "x": _by_x(_interp_push_x_one, _interp_push_x),
            "xp": _by_x(_interp_push_xp_one, _interp_push_xp),
            "fp": _interp_push_fp,
        },
        pull={
            "x": _by_x(_interp_push_x_one, _interp_pull_x),
            "xp": _by_x(_interp_pull_xp_one, _interp_pull_xp),
            "fp": _by_x(_interp_pull_fp_one, _interp_pull_fp),
        },
        cases=(
            lambda rng: (np.array([0.3, 1.7, 2.2, -1.0, 9.0]), np.array([0.0, 1.0, 2.0, 4.0]), rng.normal(size=4)),
            lambda rng: (1.3, np.array([0.0, 1.0, 2.0, 4.0]), rng.normal(size=4)),
        ),
    )
)

# ----- convolution ---------------------------------------------------------------------------------
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
        functions=(np.convolve,),
        params="a, v, mode='full'",
        when=_vectors,
        push={"a": _convolve_push_a, "v": _convolve_push_v},
        pull={"a": _convolve_pull_a, "v": _convolve_pull_v},
        cases=(
            _two(5, 3),
            _two(5, 3, "valid"),
            _two(5, 4, "same"),
            _two(3, 6, "same"),
            _two(2, 5, "valid"),
            _two(1, 3),
        ),
    )
)
register(
    ArrayRule(
        functions=(np.correlate,),
        params="a, v, mode='valid'",
        when=_vectors,
        push={"a": _correlate_push_a, "v": _correlate_push_v},
        pull={"a": _correlate_pull_a, "v": _correlate_pull_v},
        cases=(_two(5, 3), _two(5, 3, "full"), _two(5, 4, "same"), _two(3, 6, "same"), _two(2, 5), _two(4, 4, "same")),
    )
)

# ----- trapezoid -----------------------------------------------------------------------------------


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


@compiled
def _mean_of_ends(y):
    return (y[..., 1:] + y[..., :-1]) / 2.0


@compiled
def _trapezoid_of_points(y, x, dx):
    return np.sum(np.diff(np.asarray(x)) * _mean_of_ends(y))


@compiled
def _trapezoids_of_points(y, x, dx):
    return np.sum(np.diff(np.asarray(x)) * _mean_of_ends(y), axis=-1)


@compiled
def _trapezoids(y, x, dx):
    return np.sum(dx * _mean_of_ends(y), axis=-1)


def _written_out(t):
    """The trapezoidal rule of several axes, or between given points."""
    if not is_array(t["y"]) or t["y"].ndim == 0:
        return None
    if is_none(t.get("x")):
        return _trapezoids
    return _trapezoid_of_points if t["y"].ndim == 1 else _trapezoids_of_points


_TRAPEZOID = ArrayRule(
    functions=(np.trapezoid,) if hasattr(np, "trapezoid") else (),
    params="y, x=None, dx=1.0",
    push={"y": _trapezoid_push, "dx": _trapezoid_push_dx},
    pull={"y": _trapezoid_pull, "dx": _trapezoid_push_dx},
    when=lambda t: is_array(t["y"]) and t["y"].ndim == 1 and is_none(t.get("x")),
    otherwise=Choose(_written_out),
    cases=(_case(5), _case(1), _case(4, None, 0.3)),
)
if _TRAPEZOID.functions:
    register(_TRAPEZOID)
