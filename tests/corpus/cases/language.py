"""The language itself: control flow, functions, data structures, views, shapes."""

import math
from collections import namedtuple

import numpy as np
from numba import float64, njit, prange, vectorize
from numba.experimental import jitclass
from numba.typed import List

from tests.corpus.corpuslib import case, norms, onp, unif

NODES = np.array([-0.7745966692414834, 0.0, 0.7745966692414834])  # global constant arrays
WEIGHTS = np.array([5.0 / 9.0, 8.0 / 9.0, 5.0 / 9.0])
SCALE = 1.7

Osc = namedtuple("Osc", ["k", "c", "init"])
Out = namedtuple("Out", ["energy", "state"])


def typed(items):
    r = List()
    for i in items:
        r.append(i)
    return r


# ---- control flow / functions ----
@case(
    "gauss_closure",
    lambda: (1.3, 0.4),
    (0, 1),
    "language",
    "nested_function closure_array global_const_array for_each",
)
@njit
def gauss_closure(a, b):
    pts = NODES * 0.5 * a + 0.1

    def f(x):
        return math.exp(-SCALE * b * x * x) * math.cos(a * x)

    s = 0.0
    for i in range(3):
        s += WEIGHTS[i] * f(pts[i])
    return s * 0.5 * a


@njit
def simpson_rec(c, a, b, fa, fm, fb, depth):
    m = 0.5 * (a + b)
    l, r = 0.5 * (a + m), 0.5 * (m + b)
    fl, fr = math.exp(-c * l * l), math.exp(-c * r * r)
    whole = (b - a) / 6.0 * (fa + 4.0 * fm + fb)
    left = (m - a) / 6.0 * (fa + 4.0 * fl + fm)
    right = (b - m) / 6.0 * (fm + 4.0 * fr + fb)
    if depth <= 0 or abs(left + right - whole) < 1e-5:
        return left + right + (left + right - whole) / 15.0
    return simpson_rec(c, a, m, fa, fl, fm, depth - 1) + simpson_rec(c, m, b, fm, fr, fb, depth - 1)


@case("adaptive_simpson_recursive", lambda: (1.1, 2.0), (0, 1), "language", "recursion calls_njit early_return")
@njit
def adaptive_simpson_recursive(c, hi):
    return simpson_rec(c, 0.0, hi, 1.0, math.exp(-c * hi * hi / 4.0), math.exp(-c * hi * hi), 12)


@case(
    "loop_zoo",
    lambda: (norms(7, 551), unif(7, 552, 0.5, 2.0)),
    (0, 1),
    "language",
    "enumerate zip_loop negative_step negative_index while for_else continue break bool_shortcircuit",
)
@njit
def loop_zoo(a, b):
    s = 0.0
    for i, v in enumerate(a):
        if i % 2 == 0 and v > 0.0:
            s += v * v
        elif v < -1.5 or i == 3:
            s -= b[i] * v
        else:
            continue
    for x, y in zip(a, b):
        if y > 1.9:
            break
        s += x * y
    else:
        s += b[-1] ** 2
    for i in range(len(a) - 1, 0, -2):
        s += math.sin(a[i] - a[-i])
    k = 0
    while k < len(b) and not (b[k] < 0.7 and k > 2):
        s *= 1.0 + 0.01 * b[k]
        k += 1
    return s


@case(
    "views_inplace",
    lambda: (norms((4, 4), 561), norms(4, 562)),
    (0, 1),
    "language",
    "slices views aliasing inplace augassign strided vector_output",
)
@njit
def views_inplace(a0, d):
    a = a0.copy()
    row = a[1]
    row *= 2.0  # writes through to a
    col = a[:, 2]
    col += d
    blk = a[2:, :2]
    blk[:] = blk * blk + a[:2, 2:]
    a[::2, 0] = d[:2] * a[::2, 0]
    a[3] -= a[0] * row[0]
    a[:, -1] = a[:, -1][::-1].copy() * d
    return a


@case(
    "where_masks",
    lambda: (norms(8, 571), 0.3),
    (0, 1),
    "language",
    "np_where boolean_mask np_maximum np_clip mask_assign np_sign",
)
@njit
def where_masks(x, t):
    y = np.where(x > t, x * x, -t * x)
    m = y > 0.5
    z = y.copy()
    z[m] = np.sqrt(y[m])
    z[~m] *= 3.0
    w = np.clip(z, -0.4, 1.1) + np.maximum(x, t) - np.minimum(np.abs(x), 0.5)
    return np.sum(w * np.sign(x)) + z[m].sum()


@case(
    "shapes_axes",
    lambda: (norms((2, 3), 581), norms((2, 3), 582)),
    (0, 1),
    "language",
    "reshape ravel transpose concatenate stack axis_sum broadcasting cumsum np_prod",
    hess=False,
)
@njit
def shapes_axes(a, b):
    c = np.concatenate((a, b), axis=0)
    s = np.stack((a, b))
    t = c.T.copy().reshape(2, 6)
    u = t.ravel()[::2]
    v = np.sum(s, axis=0) * np.sum(c, axis=1).reshape(4, 1)[:2]
    w = np.cumsum(u) / (1.0 + np.arange(u.size))
    return np.sum(v**2) + np.dot(w, u) + np.prod(a[0] + 2.0) + np.sum(s[1].T @ s[0])


@case(
    "namedtuple_in_out",
    lambda: (Osc(1.5, 0.2, onp.array([1.0, 0.3])), 10),
    0,
    "language",
    "namedtuple_arg namedtuple_result tuple_result int_arg",
)
@njit
def namedtuple_in_out(p, n):
    s = p.init.copy()
    for i in range(n):
        a = -p.k * s[0] - p.c * s[1]
        s[1] += 0.1 * a
        s[0] += 0.1 * s[1]
    return Out(0.5 * s[1] ** 2 + 0.5 * p.k * s[0] ** 2, s)


@case(
    "typed_list_arrays",
    lambda: (typed([norms(3, 591), norms(2, 592), norms(4, 593)]), onp.array([0.5, -1.0, 2.0])),
    (0, 1),
    "language",
    "typed_list typed_list_result_local append ragged",
    level="stretch",
)
@njit
def typed_list_arrays(lst, w):
    acc = [0.0]
    for i in range(len(lst)):
        v = lst[i]
        acc.append(acc[-1] + w[i] * np.sum(v * v))
    return acc[-1] * acc[1] + acc[2]


REC = onp.dtype([("mass", onp.float64), ("k", onp.float64), ("n", onp.int64)])


def recs():
    r = onp.zeros(3, dtype=REC)
    r["mass"] = [1.0, 1.5, 0.7]
    r["k"] = [2.0, 1.0, 3.0]
    r["n"] = [1, 2, 3]
    return r


@case(
    "record_array_data",
    lambda: (recs(), onp.array([0.3, -0.2, 0.5])),
    1,
    "language",
    "structured_array data_only",
)
@njit
def record_array_data(par, x):
    e = 0.0
    for i in range(par.shape[0]):
        e += 0.5 * par[i]["k"] * x[i] ** 2 * par[i]["n"] + par[i]["mass"] * math.sin(x[i])
    return e


spec = [("a", float64), ("grid", float64[:])]


@jitclass(spec)
class Utility:
    def __init__(self, a, grid):
        self.a = a
        self.grid = grid

    def u(self, c):
        return (c ** (1.0 - self.a) - 1.0) / (1.0 - self.a)


@case(
    "jitclass_data_arg",
    lambda: (Utility(2.5, onp.linspace(0.5, 1.5, 4)), 0.9, onp.array([0.3, 0.4, 0.2, 0.1])),
    (1, 2),
    "language",
    "jitclass method_call data_only",
)
@njit
def jitclass_data_arg(model, beta, share):
    v = 0.0
    for i in range(model.grid.size):
        v += beta**i * model.u(model.grid[i] * (1.0 + share[i]))
    return v


@case(
    "float32_energy",
    lambda: (norms(6, 601).astype(onp.float32), onp.float32(0.7)),
    (0, 1),
    "language",
    "float32 mixed_precision",
    rtol=2e-4,
)
@njit
def float32_energy(x, c):
    s = np.float32(0.0)
    for i in range(x.size - 1):
        s += c * (x[i + 1] - x[i]) ** 2 + np.cos(x[i])
    return s


@case(
    "int_args_powers",
    lambda: (onp.array([3, 1, 2]), 1.3, 4, onp.array([0.5, -0.8, 1.1])),
    (1, 3),
    "language",
    "int_arg int_array int_power int_division mixed_int_float",
)
@njit
def int_args_powers(pw, x, n, c):
    s = 0.0
    k = n // 3
    for i in range(len(pw)):
        s += c[i] * x ** pw[i] + (n - i) * x / (i + 1) + x**-2
        k += pw[i] % 2
    return s * k + n**2 * x


@case(
    "varargs_defaults",
    lambda: (0.4, 1.2, 0.7, -0.5),
    (0, 1, 2, 3),
    "language",
    "star_args calls_njit default_kwarg",
)
@njit
def varargs_defaults(*xs):
    s = 0.0
    for i in range(len(xs)):
        s += damp(xs[i]) + damp(xs[i], 2.0)
    return s * xs[0]


@njit
def damp(x, rate=0.5):
    return math.exp(-rate * x * x)


@njit
def act_tanh(x):
    return math.tanh(x)


@njit
def act_soft(x):
    return math.log1p(math.exp(x))


@njit
def apply_twice(f, g, x):
    return f(g(x)) + g(f(x))


@case("functions_as_args", lambda: (act_tanh, act_soft, 0.6), 2, "language", "function_arg calls_njit")
@njit
def functions_as_args(f, g, x):
    return apply_twice(f, g, x) * apply_twice(g, f, x)


@case(
    "out_param_residual",
    lambda: (onp.array([0.5, 1.2]), onp.linspace(0.0, 1.0, 4), onp.zeros(4)),
    0,
    "language",
    "out_param inplace returns_none vector_output",
    outs=(2,),
    note="result is args[2] after the call",
)
@njit
def out_param_residual(p, t, out):
    for i in range(t.size):
        out[i] = p[0] * math.exp(-p[1] * t[i])


@vectorize
def soft_relu(x, a):
    return math.log1p(math.exp(a * x)) / a


@case("vectorize_ufunc", lambda: (norms(5, 611), 1.5), (0, 1), "language", "vectorize", level="stretch")
@njit
def vectorize_ufunc(x, a):
    return np.sum(soft_relu(x, a) * x)


@case(
    "prange_row_reduce",
    lambda: (norms((6, 3), 621), norms(3, 622)),
    (0, 1),
    "language",
    "prange reduction thread_local_array",
)
@njit(parallel=True)
def prange_row_reduce(x, w):
    tot = 0.0
    for i in prange(x.shape[0]):
        tmp = np.empty(3)
        for j in range(3):
            tmp[j] = math.tanh(x[i, j] * w[j])
        tot += np.sum(tmp) ** 2
    return tot


@case("guarded_raise", lambda: (2.0, 0.3), (0, 1), "language", "raise_guard assert_stmt early_return")
@njit
def guarded_raise(x, s):
    if s <= 0.0:
        raise ValueError("s must be positive")
    assert x > 0.0
    if x > 100.0:
        return 0.0
    return math.log(x) / s - 0.5 * (x / s) ** 2


@case(
    "prange_shared_scalar",
    lambda: (0.7, onp.array([0.3, -0.2])),
    (0, 1),
    "language",
    "prange reduction shared_read race_probe",
    note="3000 iterations read the same scalars: their adjoints must be summed without a race"
    " (cf. EnzymeAD/Enzyme.jl#3378)",
)
@njit(parallel=True)
def prange_shared_scalar(a, c):
    out = np.empty(3000)
    for i in prange(3000):
        t = (i % 17) * 0.05
        out[i] = c[0] * t + a * t * t + c[1] * math.sin(a * t)
    return np.sum(out**2) / 3000.0


@case(
    "numpy_mix",
    lambda: (norms((3, 3), 631), unif(3, 632, 0.5, 1.5)),
    (0, 1),
    "linalg",
    "linalg_cholesky slogdet broadcasting",
)
@njit
def numpy_mix(a, d):
    s = np.outer(d, d) + np.diag(d) + a @ a.T
    L = np.linalg.cholesky(s)
    sg, ld = np.linalg.slogdet(s + np.eye(3))
    v = np.vstack((L, a))
    h = np.hstack((d, a[0]))
    c = np.column_stack((d, a[:, 1]))
    return np.trace(L) + ld + np.var(v[:, 0]) + np.std(h) * np.mean(c) + np.min(h) + a.mean() * v.max()


@case(
    "ring_scatter_mix",
    lambda: (norms(9, 641), onp.array([2, 0, 1, 1, 2, 0, 0, 2, 1]), 0.4),
    (0, 2),
    "language",
    "scatter_add repeated_index ring_buffer rebinding isnan_branch optional_none",
)
@njit
def ring_scatter_mix(x, seg, w, extra=None):
    acc = np.zeros(3)
    old, new = np.ones(3), np.zeros(3)
    for i in range(x.size):
        if np.isnan(x[i]) or -0.05 < x[i] < 0.05:
            continue
        acc[seg[i]] += x[i] * w
        new[i % 3] = old[(i + 1) % 3] * x[i] + math.copysign(w, x[i]) + abs(x[i])
        old, new = new, old
    if extra is None:
        return np.sum(acc * old) + np.sum(new)
    return 0.0


@njit(float64(float64, float64, float64), cache=True, fastmath=True, inline="always")
def antoine(t: float, a: float, b: float) -> float:
    return math.exp(a - b / (t + 0.5))


@case(
    "explicit_signature_fast",
    lambda: (onp.array([0.9, 1.4, 0.6]), 1.7, 0.8),
    (0, 1, 2),
    "language",
    "calls_njit",
    note="typed signature, annotations, cache, fastmath, inline",
)
@njit("float64(float64[::1], float64, float64)", cache=True, fastmath=True, nogil=True)
def explicit_signature_fast(ts: np.ndarray, a: float, b: float) -> float:
    """Docstrings and annotations are common in packaged kernels."""
    small: float = 1e-12
    tot = 0.0
    for i in range(ts.shape[0]):
        p = antoine(ts[i], a, b)
        if p < small:
            p = small
        tot += p * p / (1.0 + p)
    return tot
