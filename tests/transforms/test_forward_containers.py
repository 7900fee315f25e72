"""Forward mode through tuples, lists, records: what is done to a container is done to its tangent."""

from collections import namedtuple

import numpy as np
import pytest
from numba import njit
from numba.typed import List

import jitgrad
from jitgrad.backend import derivative
from jitgrad.errors import JitgradError, UnsupportedError
from jitgrad.transforms.request import JvpRequest
from tests.transforms.tangents import check

PROGRAMS = []
Point = namedtuple("Point", "x y tag")
PARTICLE = np.dtype([("mass", np.float64), ("kind", np.int64), ("charge", np.float64)])


def program(args, wrt=None):
    """Register an njit function with fresh arguments; every float argument is differentiated."""

    def decorate(function):
        positions = wrt if wrt is not None else tuple(range(len(args())))
        PROGRAMS.append(pytest.param(njit(function), args, positions, id=function.__name__))
        return function

    return decorate


def numbers(n=4):
    return np.linspace(0.4, 1.7, n) ** 2


def typed(*items):
    values = List()
    for item in items:
        values.append(item)
    return values


def particles():
    p = np.zeros(3, PARTICLE)
    p["mass"], p["charge"], p["kind"] = [1.0, 2.0, 0.5], [0.3, -0.2, 0.9], [0, 1, 0]
    return p


# ----- lists -------------------------------------------------------------------------------------
@program(lambda: (0.7, 1.3))
def list_of_floats(x, y):
    values = [x, 2.0, y * x]
    values.append(values[-1] * values[0])
    values[1] = x * y
    values[0] *= y
    return values[0] + values[1] * values[2] * values[3]


@program(lambda: (0.7, 1.3))
def list_methods(x, y):
    values = [x, y]
    values.insert(1, x * y)
    values.extend([x * x, 1.0])
    values.reverse()
    last = values.pop()
    first = values.pop(0)
    copied = values.copy()
    copied[0] = 3.0
    return last * first + values[0] * values[-1] + copied[0] * copied[1] + len(values)


@program(lambda: (numbers(),))
def list_of_arrays_is_shared(x):
    rows = [x * 2.0, x * x]
    row = rows[1]
    row[0] = x[2] * x[3]
    rows.append(rows[0])
    rows[2][1] *= x[0]
    total = 0.0
    for r in rows:
        total += r[0] * r[1]
    return total


@program(lambda: (numbers(),))
def list_slice_and_sum(x):
    values = [v * v for v in x]
    values += [x[0], 2.0]
    part = values[1:4]
    return part[0] * part[2] + values[-1] * values[-2]


@program(lambda: (typed(0.5, 1.5, 2.5), 0.3))
def typed_list_written(values, c):
    values[1] = values[0] * values[2] + c
    values.append(c * values[1])
    return values[-1] * values[1]


@program(lambda: (typed(numbers(2), numbers(3)), 0.3))
def typed_list_of_arrays_written(rows, c):
    rows[0][1] *= c
    rows[1] = rows[0] * rows[1][2]
    return np.sum(rows[1]) * rows[0][0]


@program(lambda: (0.4,))
def typed_list_made_here(c):
    values = List()
    for k in range(4):
        values.append(c * k)
    values.pop(1)
    return values[1] * values[2] + len(values)


@program(lambda: (1.4,))
def stack_of_pairs(x):
    stack = [(x, 1.0)]
    total = 0.0
    while len(stack) > 0 and total < 20.0:
        value, weight = stack.pop()
        total += value * weight
        if weight > 0.3:
            stack.append((value * x, weight * 0.5))
            stack.append((value + 1.0, weight * 0.4))
    return total


# ----- tuples ------------------------------------------------------------------------------------
@program(lambda: (0.7, 1.3, 2))
def tuple_with_an_integer(x, y, n):
    pair = (x * y, n, (y, 3))
    first, count, inner = pair
    return first**count * inner[0] + inner[1], pair


@program(lambda: (0.7, 1.3))
def tuple_carried_around_a_loop(x, y):
    state = (x, y)
    for k in range(4):
        state = (state[1] * 0.5, state[0] * state[1] + k)
    return state


@program(lambda: (Point(0.7, numbers(), 3), 0.5))
def named_tuple_rebuilt(p, c):
    q = Point(p.x * c, p.y * p.x, p.tag + 1)
    if q.x > 0.1:
        q = Point(q.x + c, q.y, 7)
    return q


@program(lambda: ((0.7, 1.3, 0.2), 1))
def tuple_with_a_runtime_index(values, k):
    return values[k] * values[k - 1] + values[-1]


@program(lambda: (numbers(), numbers()[::-1].copy()))
def tuple_of_arrays_by_runtime_index(a, b):
    both = (a, b)
    total = 0.0
    for k in range(2):
        both[k][0] *= both[1 - k][1]
        total += both[k][0] * both[k][2]
    return total


@program(lambda: (0.7, 1.3))
def tuples_joined(x, y):
    a = (x, y * x)
    b = a + (x, 2.0)
    c = b[1:3]
    return b[0] * b[1] * b[2] * b[3] + c[0] * c[1]


# ----- records -----------------------------------------------------------------------------------
@program(lambda: (particles(), 0.7))
def records_read_and_written(p, c):
    for k in range(p.shape[0]):
        p[k].mass *= c
        p[k]["charge"] = p[k].mass * p[k].charge + p[k].kind
        p[k].kind = k
    one = p[1]
    one.mass = p[0].mass * p[2].charge
    return np.sum(p["mass"] * p["charge"]) * p[1].mass


@program(lambda: (0.7,))
def records_made_here(c):
    p = np.zeros(2, PARTICLE)
    p[0].mass = c
    p[1]["mass"] = 2.0
    p[0]["charge"] = p[0].mass * c
    p[1] = p[0]
    p[0].mass = 5.0
    return p[1].mass * p[1].charge + p[0].mass * p[0].charge


@program(lambda: (0.7,))
def field_as_a_view(c):
    p = np.zeros(3, PARTICLE)
    mass = p["mass"]
    mass[:] = c
    p[1].mass *= p[2].mass
    return mass[0] * mass[1] + mass[2]


@pytest.mark.parametrize("function, args, wrt", PROGRAMS)
def test_container(function, args, wrt):
    floats = tuple(k for k in wrt if not isinstance(args()[k], int))
    check(function, args, floats)


# ----- what is refused ------------------------------------------------------------------------------
@pytest.mark.parametrize("text", ["{1: x}.values()", "[v for _, v in {1: x}.items()]"])
def test_views_of_a_dict_are_refused(text):
    namespace: dict = {}
    exec(f"def f(x):\n    s = 0.0\n    for v in {text}:\n        s += v * v\n    return s", namespace)
    with pytest.raises(UnsupportedError, match="goes through the dict"):
        derivative(njit(namespace["f"]), JvpRequest((0,)))((1.0,), 2.0)
    with pytest.raises(JitgradError):
        jitgrad.grad(namespace["f"])(2.0)


def test_dict_is_refused():
    @njit
    def through_a_dict(x):
        d = {1: x}
        return d[1] * x

    with pytest.raises(UnsupportedError, match=r"dict `d`.*test_forward_containers.py:\d+.*array, a tuple or a list"):
        derivative(through_a_dict, JvpRequest((0,)))((1.0,), 2.0)


def test_dict_beside_the_derivative_is_fine():
    @njit
    def counts(x):
        seen = {}
        seen[1] = 2.5
        return x * seen[1] * x

    assert derivative(counts, JvpRequest((0,)))((1.0,), 2.0) == (10.0, 10.0)
