"""Kinks and corner cases with the value a user would expect.

`expected` is the preferred Jacobian (rows: outputs, columns: inputs); `accept` an allowed
alternative.  Conventions behind the preferred values:
  * at a kink any element of the subdifferential is defensible, the symmetric one preferred
  * derivatives of code that did not run never appear (no NaN from the untaken branch)
  * a true one-sided infinite slope is inf, never a silent finite number
"""

import math

import numpy as np
from numba import njit

from tests.corpus.corpuslib import edge, onp

A = onp.array


@edge(
    "abs_at_zero",
    lambda: (0.0,),
    0,
    "kink abs",
    [[0.0]],
    value=0.0,
    accept=("interval", -1.0, 1.0, (0,)),
    note="0 preferred, any subgradient accepted",
)
@njit
def abs_at_zero(x):
    return abs(x)


@edge(
    "max_tie_array",
    lambda: (A([1.0, 3.0, 3.0, -2.0]),),
    0,
    "kink max_tie",
    [[0, 1, 0, 0]],
    value=3.0,
    accept=("simplex", (1, 2)),
    note="first maximum (what the code picked) or an even split; weights must sum to 1",
)
@njit
def max_tie_array(x):
    return np.max(x)


@edge(
    "relu_at_zero",
    lambda: (A([0.0, -1.0, 2.0]),),
    0,
    "kink np_maximum",
    [[0, 0, 1]],
    value=2.0,
    accept=("interval", 0.0, 1.0, (0,)),
)
@njit
def relu_at_zero(x):
    return np.sum(np.maximum(x, 0.0))


@edge(
    "pow_zero_exponent_int",
    lambda: (0.0, 0),
    0,
    "pow int_arg",
    [[0.0]],
    value=1.0,
    note="x**0 is the constant 1, also at x = 0",
)
@njit
def pow_zero_exponent_int(x, n):
    return x**n


@edge(
    "pow_at_zero_float_exponent",
    lambda: (A([0.0, 2.0]), 1.5),
    (0, 1),
    "pow zero_times_log",
    [[0.0, 1.5 * 2.0**0.5, 2.0**1.5 * math.log(2.0)]],
    value=2.0**1.5,
    note="0**p contributes 0 to d/dp, not nan from 0*log 0",
)
@njit
def pow_at_zero_float_exponent(x, p):
    return np.sum(x**p)


@edge("sqrt_at_zero", lambda: (0.0,), 0, "singular sqrt", [[onp.inf]], value=0.0)
@njit
def sqrt_at_zero(x):
    return math.sqrt(x)


@edge(
    "norm_at_zero",
    lambda: (A([0.0, 0.0]),),
    0,
    "singular norm",
    [[0.0, 0.0]],
    value=0.0,
    accept=("interval", -1.0, 1.0, (0, 1)),
    note="HIPS/autograd#151, pytorch#2421: users want the zero subgradient, not nan",
)
@njit
def norm_at_zero(x):
    return np.linalg.norm(x)


@edge(
    "where_nan_untaken",
    lambda: (A([4.0, -1.0, 0.0]),),
    0,
    "where_nan np_where",
    [[0.25, 0.0, 0.0]],
    value=2.0,
    note="jax#347/#1052, tensorflow#38349, HIPS/autograd#802; sqrt of a negative and of 0 not taken",
)
@njit
def where_nan_untaken(x):
    return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))


@edge(
    "branch_guard_log",
    lambda: (A([0.0, 0.5, 1.0]),),
    0,
    "zero_times_log branch",
    [[0.0, math.log(0.5) + 1.0, 1.0]],
    value=0.5 * math.log(0.5),
    note="entropy with an if-guard: nothing happens for p = 0",
)
@njit
def branch_guard_log(p):
    s = 0.0
    for v in p:
        if v > 0.0:
            s += v * math.log(v)
    return s


@edge(
    "array_div_by_zero",
    lambda: (A([1.0, 2.0]), A([0.0, 4.0])),
    (0, 1),
    "division_by_zero",
    [[onp.inf, 0, -onp.inf, 0], [0, 0.25, 0, -0.125]],
    value=[onp.inf, 0.5],
    accept=("nan", (0, 1, 2, 3)),
    note="element 1 must stay clean: no nan leaking across elements",
)
@njit
def array_div_by_zero(a, b):
    return a / b


@edge("empty_sum", lambda: (onp.zeros(0),), 0, "empty_array", onp.zeros((1, 0)), value=1.5)
@njit
def empty_sum(x):
    return np.sum(x * x) + 1.5


@edge(
    "size1_broadcast",
    lambda: (A([[2.0], [3.0]]), A([[1.0, 4.0, 5.0]])),
    (0, 1),
    "broadcasting size1",
    [[10.0, 10.0, 5.0, 5.0, 5.0]],
    value=50.0,
    note="gradients must be summed back to shapes (2,1) and (1,3)",
)
@njit
def size1_broadcast(a, b):
    return np.sum(a * b)


@edge(
    "repeated_gather",
    lambda: (A([1.0, 2.0, 3.0]), A([0, 0, 2, 0])),
    0,
    "repeated_index gather",
    [[6.0, 0.0, 6.0]],
    value=12.0,
)
@njit
def repeated_gather(x, i):
    y = x[i]
    return np.sum(y * y)


@edge(
    "aliased_views",
    lambda: (A([1.0, 2.0, 3.0]),),
    0,
    "aliasing views inplace",
    [[36.0, 18.0, 12.0]],
    value=36.0,
    note="two views of one array: head[:] *= 2 changes what tail reads",
)
@njit
def aliased_views(x):
    a = x.copy()
    head = a[:2]
    tail = a[1:]
    head *= 2.0  # a = [2, 4, 3]
    tail *= 1.5  # a = [2, 6, 4.5]
    return a[0] * tail[0] * a[2] * (2.0 / 3.0)


@edge(
    "same_argument_twice",
    lambda: (A([2.0, 5.0]),),
    0,
    "aliasing argument_reuse",
    [[4.0, 10.0]],
    value=29.0,
    note="an inner function receives one array for two parameters",
)
@njit
def same_argument_twice(x):
    return inner_dot(x, x)


@njit
def inner_dot(a, b):
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@edge(
    "unused_argument",
    lambda: (2.0, A([1.0, 2.0])),
    (0, 1),
    "unconnected",
    [[4.0, 0.0, 0.0]],
    value=4.0,
    note="tensorflow#24849: zeros, not None",
)
@njit
def unused_argument(x, y):
    return x * x


@edge("constant_result", lambda: (3.0,), 0, "unconnected", [[0.0]], value=1.25)
@njit
def constant_result(x):
    return 1.25


@edge(
    "overwritten_input",
    lambda: (A([2.0, 3.0]),),
    0,
    "inplace read_write_arg",
    [[4.0, 0.0]],
    value=4.0,
    note="x[1] is overwritten before it is read; the caller's array survives grad() or the doc says so",
)
@njit
def overwritten_input(x):
    x[1] = x[0]
    return x[0] * x[1]


@edge(
    "floor_and_round",
    lambda: (2.6,),
    0,
    "piecewise_constant",
    [[1.0]],
    value=2.6 + 2 + 3,
    note="floor and round have zero slope",
)
@njit
def floor_and_round(x):
    return x + math.floor(x) + round(x)


@edge("abs_complex_unit", lambda: (0.0, 1.0), (0, 1), "complex", [[0.0, 1.0]], value=1.0)
@njit
def abs_complex_unit(re, im):
    z = re + 1j * im
    return abs(z)


@edge(
    "minmax_scalar_tie",
    lambda: (1.0, 1.0),
    (0, 1),
    "kink max_tie minmax_builtin",
    [[1.0, 0.0]],
    value=1.0,
    accept=("simplex", (0, 1)),
)
@njit
def minmax_scalar_tie(a, b):
    return max(a, b)


@edge("denormal_log1p", lambda: (1e-300,), 0, "precision", [[1.0]], value=1e-300)
@njit
def denormal_log1p(x):
    return math.log1p(x)


@edge("zero_d_and_len1", lambda: (A([3.0]),), 0, "size1", [[6.0]], value=9.0)
@njit
def zero_d_and_len1(x):
    return x[0] ** 2


@edge(
    "noncontiguous_input",
    lambda: (onp.arange(8.0).reshape(2, 4)[:, ::2],),
    0,
    "strided",
    [[0.0, 4.0, 8.0, 12.0]],
    value=56.0,
    note="the gradient has the shape of the view",
)
@njit
def noncontiguous_input(x):
    return np.sum(x * x)
