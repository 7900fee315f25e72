"""Calls, recursion, closures, functions as arguments, exceptions."""

import math
from collections import namedtuple

import numpy as np
from numba import float64, njit

from tests.transforms.zoo import program
from tests.transforms.zoo.loops import some

A = np.array
GLOBAL = 1.7
GLOBAL_ARRAY = np.array([0.5, -1.0, 2.0])


@njit
def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


@program(lambda: (1.3, 4), expected=(4 * 1.3**3,))
@njit
def recursion(x, n):
    return power(x, n)


@njit
def tree(x, depth):
    if depth == 0:
        return math.sin(x)
    return tree(x * 0.5, depth - 1) * tree(x + 1.0, depth - 1)


@program(lambda: (0.8, 3))
@njit
def recursion_in_two_branches(x, n):
    return tree(x, n) + x


@njit
def halve_and_write(x, low, high):
    if high - low < 2:
        x[low] *= x[low]
        return
    middle = (low + high) // 2
    halve_and_write(x, low, middle)
    halve_and_write(x, middle, high)
    x[low] += x[middle] * 0.5


@program(lambda: (some(5),), loud_is_fine=True)
@njit
def recursion_that_writes(x):
    halve_and_write(x, 0, x.size)
    return x[0] * x[1]


def make_closure(factor, table):
    @njit
    def closure(x, k):
        return factor * x * table[k]

    return closure


program(lambda: (1.5, 1), expected=(3.0 * -2.0,))(make_closure(3.0, np.array([1.0, -2.0])))
scaled_elsewhere = make_closure(5.0, np.array([1.0, -4.0]))


@program(lambda: (1.5,), expected=(-20.0,))
@njit
def another_closure_of_the_same_code(x):
    return scaled_elsewhere(x, 1)


@program(lambda: (0.7, 1.2))
@njit
def inner_function(x, c):
    offset = c * c

    def inner(v):
        return math.exp(-offset * v) + c

    s = 0.0
    for i in range(3):
        s += inner(x * i)
    return s


@njit
def square(x):
    return x * x


@njit
def sine(x):
    return math.sin(x)


@njit
def compose(f, g, x):
    return f(g(x)) * g(f(x))


@program(lambda: (0.6,))
@njit
def functions_as_arguments(x):
    return compose(square, sine, x) + compose(sine, sine, x)


@program(lambda: (0.6,))
@njit
def lambda_inside(x):
    twice = lambda v: v * x
    return twice(twice(x))


@program(lambda: (0.6, 1.5))
@njit
def globals_are_constants(x, y):
    return x * GLOBAL + y * GLOBAL_ARRAY[2] * np.sum(GLOBAL_ARRAY * x)


@njit
def with_default(x, rate=0.5):
    return math.exp(-rate * x)


@program(lambda: (0.6, 1.5))
@njit
def default_and_keyword(x, r):
    return with_default(x) + with_default(rate=r, x=x) * with_default(x, r)


@njit
def total(*values):
    s = 0.0
    for v in values:
        s = s * 0.5 + v * v
    return s


@program(lambda: (0.6, 1.5, -0.3))
@njit
def star_arguments(x, y, z):
    return total(x, y, z) + total(z) * total(x, y)


@program(lambda: (0.6, 1.5, -0.3))
@njit
def star_parameter(*values):
    s = 1.0
    for i in range(len(values)):
        s = s * values[i] + i
    return s


@njit
def searches(x, level):
    acc = 0.0
    for i in range(x.size):
        acc += x[i] ** 2
        if acc > level:
            return acc * x[i], i
    return acc, -1


@program(lambda: (some(5), 0.9, 1.7))
@njit
def helper_with_early_return(x, level, scale):
    v, k = searches(x, level)
    if k < 0:
        return v
    return v * scale if k % 2 == 0 else v / scale


State = namedtuple("State", ["x", "v"])


@njit
def step(state, dt, k):
    return State(state.x + dt * state.v, state.v - dt * k * math.sin(state.x))


@program(lambda: (0.5, 0.1, 2.0))
@njit
def named_tuple_carried(x, v, k):
    state = State(x, v)
    for _ in range(4):
        state = step(state, 0.1, k)
    return state.x * state.v


@njit(float64(float64, float64), inline="always", fastmath=True)
def typed_and_inlined(x, y):
    return x * y + x


@program(lambda: (0.5, 2.0))
@njit
def options_of_the_callee(x, y):
    return typed_and_inlined(x, typed_and_inlined(y, x))


@program(lambda: (0.5, 2.0))
@njit
def guards_that_pass(x, y):
    if y <= 0.0:
        raise ValueError("y must be positive")
    assert x < 1.0
    for i in range(3):
        if x * i > 100.0:
            raise ValueError("too large")
        x = x * y
    return x


@njit(error_model="numpy")
def reciprocal(x):
    return 1.0 / x


@program(lambda: (0.5, 2.0))
@njit(error_model="numpy")
def numpy_error_model(x, y):
    return reciprocal(x) * y / x


def plain_python(x, y):
    s = 0.0
    for i in range(y.size):
        s += x * y[i] ** 2
    return s


program(lambda: (0.5, some(3)))(plain_python)

_namespace = {"njit": njit, "math": math}
exec("@njit\ndef made_by_exec(x):\n    return math.cos(x) * x\n", _namespace)
program(lambda: (0.5,))(_namespace["made_by_exec"])


@njit
def fills(out, x):
    for i in range(out.size):
        out[i] = x * i + out[i] * 0.1


@njit
def fills_twice(out, x):
    fills(out, x)
    fills(out[1:], x * x)
    return out[0] + out[-1]


@program(lambda: (0.5,))
@njit
def helpers_of_helpers_write(x):
    out = np.ones(3)
    s = fills_twice(out, x) * out[1]
    fills(out, s)
    return np.sum(out * out)


@program(lambda: (0.7, 3))
@njit
def result_of_a_call_is_rebound(x, n):
    y = A_OF(x)
    for _ in range(n):
        y = A_OF(y[0] * y[1])
    return y[0] + y[1]


@njit
def A_OF(x):
    out = np.empty(2)
    out[0] = math.sin(x)
    out[1] = x
    return out


@program(lambda: (0.3, 0.9), loud_is_fine=True)
@njit
def dictionary(x, y):
    d = {0: x, 1: y}
    d[0] = d[0] * d[1]
    return d[0] + d[1]


@program(lambda: (2.0, 0.5), loud_is_fine=True)
@njit
def caught_exception(x, y):
    s = x
    try:
        if x > 1.0:
            raise ValueError("no")
        s = x * y
    except Exception:
        s = x * x * y
    return s
