"""Functions that must raise a clear error (never a silent zero or a bare Numba traceback).
`words` are regular expressions the message must contain; `message` is what it should say."""

import math

import numpy as np
from numba import njit, objmode

from tests.corpus.corpuslib import error, onp


@error(
    "integer_result",
    lambda: (onp.array([1.5, 2.5]),),
    0,
    "int_result",
    "grad",
    ["integer|int64|not differentiable|non-differentiable", "result|output|return"],
    "the result is an integer (int64), it has no derivative; return a float",
)
@njit
def integer_result(x):
    return np.argmax(x)


@error(
    "vector_result_grad",
    lambda: (onp.array([1.5, 2.5]),),
    0,
    "wrong_shape",
    "grad",
    ["scalar", "jacobian|vjp|shape"],
    "grad needs a scalar result, got an array of shape (2,); use jacobian or vjp",
)
@njit
def vector_result_grad(x):
    return x * 2.0


@error(
    "integer_argument",
    lambda: (3, 2.0),
    0,
    "int_arg",
    "grad",
    ["integer|int64|int ", "argument|argnum|wrt|position"],
    "argument 0 (n) is an integer; pass a float or leave it out of argnums",
)
@njit
def integer_argument(n, x):
    return n * x


@error(
    "integer_array_argument",
    lambda: (onp.array([1, 2, 3]), 2.0),
    0,
    "int_arg int_array",
    "grad",
    ["integer|int64|int ", "argument|argnum|wrt|position"],
    "argument 0 (k) is an integer array; convert with .astype(float) or leave it out of argnums",
)
@njit
def integer_array_argument(k, x):
    return np.sum(k) * x


@error(
    "objmode_block",
    lambda: (2.0,),
    0,
    "objmode",
    "grad",
    ["objmode|object mode|with block|with statement", "custom|not supported|cannot|unsupported"],
    "line N: `with objmode` cannot be differentiated; wrap it in a function with a custom derivative",
)
@njit
def objmode_block(x):
    with objmode(y="float64"):
        y = math.sqrt(x)
    return y * x


@error(
    "wrong_cotangent_shape",
    lambda: (onp.array([1.0, 2.0, 3.0]),),
    0,
    "wrong_shape",
    "vjp",
    ["shape|size|length", "3|\\(3,\\)"],
    "cotangent has 2 entries, the result has shape (3,)",
    bad=onp.ones(2),
)
@njit
def wrong_cotangent_shape(x):
    return x * x


@error(
    "vander_unsupported",
    lambda: (onp.array([3.0, 1.0, 2.0]),),
    0,
    "unsupported_call",
    "grad",
    ["vander", "not supported|unsupported|no derivative|no rule"],
    "no derivative rule for np.vander (line N); register one with the custom-derivative decorator",
    expected=[7.0, 3.0, 5.0],
)
@njit
def vander_unsupported(x):
    return np.sum(np.vander(x, 3))
