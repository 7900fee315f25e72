"""What functions that are called, not inlined, write into."""

import numpy as np
from numba import njit, types

from jitgrad.analysis import effects
from jitgrad.analysis.callees import summary, written_positions
from jitgrad.program import ir
from tests.analysis.programs import Analysed

A1, K1, I8, F8 = types.float64[::1], types.int64[::1], types.int64, types.float64
A = np.array([1.0, 2.0, 3.0])


def compiled(function, *argtypes):
    function = njit(function)
    function.compile(argtypes)
    return function


@njit
def halves(a, b, i):
    if i == a.size:
        return 1.0
    a[i] = b[i] * 0.5
    return a[i] * halves(a, b, i + 1)


@njit
def crossed(a, b, i):
    if i == 0:
        return a[0]
    a[i] = 1.0
    return crossed(b, a, i - 1)


@njit
def by_a_view(a, b, i):
    if i == 0:
        return b[0]
    v = a.reshape(3, 1)[1:]
    v[0, 0] = 2.0
    return by_a_view(a, b, i - 1)


@njit
def own_array(a, i):
    b = a * 2.0
    b[0] = 1.0
    c = a.copy()
    c += 1.0
    if i == 0:
        return b[0] + c[0]
    return own_array(b, i - 1)


@njit
def integers(k, a, i):
    if i == 0:
        return a[k[0]]
    k[0] += 1
    return integers(k, a, i - 1)


@njit
def one_of_two(a, b, i):
    c = a
    if i > 1:
        c = b
    c[0] = 2.0
    if i == 0:
        return a[0]
    return one_of_two(a, b, i - 1)


@njit
def by_a_method(a, b, i):
    b.fill(0.5)
    if i == 0:
        return a[0]
    return by_a_method(a, b, i - 1)


@njit
def by_containers(a, b, i):
    if i == 0:
        return a[0]
    (b, a[1:])[i % 2][0] = 2.0
    return by_containers(a, b, i - 1)


@njit
def rest(a, b, i):
    if i == 0:
        return a[1:]
    return rest(a[1:], b, i - 1)


@njit
def scaled(a, b, i):
    if i == 0:
        return a * b
    return scaled(a, b, i - 1) * b


def test_positions():
    assert written_positions(halves, (A1, A1, I8)) == {0}
    assert written_positions(by_a_view, (A1, A1, I8)) == {0}
    assert written_positions(own_array, (A1, I8)) == frozenset()
    assert written_positions(integers, (K1, A1, I8)) == {0}
    assert written_positions(by_a_method, (A1, A1, I8)) == {1}


def test_arguments_that_are_written_through_a_container():
    assert written_positions(by_containers, (A1, A1, I8)) == {0, 1}


def test_arguments_that_are_returned():
    assert 0 in summary(rest, (A1, A1, I8)).returned and not summary(rest, (A1, A1, I8)).written
    assert summary(scaled, (A1, A1, I8)) == (frozenset(), frozenset())


def test_arguments_that_change_places():
    assert written_positions(crossed, (A1, A1, I8)) == {0, 1}


def test_a_name_for_one_of_two_is_both():
    assert written_positions(one_of_two, (A1, A1, I8)) == {0, 1}


def test_the_effect_of_a_call():
    def f(a, b):
        return halves(a, b, 0) + own_array(a, 1)

    found = Analysed(f, A, A)
    first, second = [op for op in found.ops if isinstance(op, ir.Call) and op.fn in (halves, own_array)]
    assert effects.effect(first).writes == (first.args[0],)
    assert effects.effect(second).writes == ()
    assert found.memory.written(found.program.params[0]) and not found.memory.written(found.program.params[1])
