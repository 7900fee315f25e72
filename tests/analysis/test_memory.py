"""Views, stores, and what is still there when the backward sweep comes."""

import numpy as np
import pytest

from jitgrad.analysis.memory import viewed
from jitgrad.program import ir
from tests.analysis.programs import Analysed

A = np.array([1.0, 2.0, 3.0, 4.0])
M = np.arange(6.0).reshape(2, 3)
K = np.array([0, 1, 0])


def test_what_is_a_view():
    def f(a, m, k):
        return (
            a[1:], a.reshape(2, 2), m.T, m[0], m[:, None], np.ravel(m), np.transpose(m), a[::-1], a[...],
            a[k], a[a > 0.0], a.copy(), a * 1.0, np.dot(m, m.T), np.concatenate((a, a)), a.astype(np.float64),
            a[0], a.shape,
        )  # fmt: skip

    found = Analysed(f, A, M, K)
    (result,) = [op for op in found.ops if isinstance(op, ir.BuildTuple) and len(op.items) == 18]
    kinds = [viewed(found.scopes.definition[item]) is not None for item in result.items]
    assert kinds == [True] * 9 + [False] * 9


def test_gathers_of_integers_are_copies():
    def f(k, j):
        b = k[j]
        c = k[k > 0]
        d = k[1:]
        return b[0] + c[0] + d[0]

    found = Analysed(f, K, K)
    b, c, d = (found.scopes.definition[found.value(name)] for name in "bcd")
    assert viewed(b) is None and viewed(c) is None and viewed(d) is not None


def test_the_root_of_a_view_of_a_view():
    def f(m):
        a = m[0]
        b = a[1:]
        b[0] = 2.0
        return np.sum(m)

    found = Analysed(f, M)
    (store,) = found.stores
    assert found.memory.root(store.base) is found.program.params[0]
    assert found.memory.written(found.program.params[0])


def test_stores_by_any_name():
    def f(a, b):
        v = a[1:]
        v[0] = 1.0
        a.fill(2.0)
        b[0] = 3.0
        return a[0] + b[0]

    found = Analysed(f, A, A)
    a, b = found.program.params
    assert len(found.memory.stores_of(a)) == 2 and len(found.memory.stores_of(b)) == 1


def test_integers_have_no_classes_any_store_counts():
    def f(k, j, x):
        j[0] = 1
        return x[k[0]]

    found = Analysed(f, K, K, A)
    assert found.memory.written(found.program.params[0])
    assert found.intact("k") == [True] and found.intact("x") == [True]


# ----- intact ---------------------------------------------------------------------------------------
def intact(name, function, *args):
    return Analysed(function, *args).intact(name)


def test_straight_lines_go_by_order():
    def f(a):
        s = a[0]
        a[0] = 2.0
        return s * a[1]

    assert intact("a", f, A) == [False, True]


def test_a_later_iteration_overwrites():
    def f(a, n):
        s = 0.0
        for i in range(n):
            a[0] = s
            s += a[i]
        return s

    assert intact("a", f, A, 3) == [False]


def test_an_outer_loop_brings_the_store_again():
    def f(a, n):
        s = 0.0
        for e in range(2):
            for i in range(n):
                a[i] = s + e
            for i in range(n):
                s += a[i]
        return s

    assert intact("a", f, A, 3) == [False]


def test_a_store_before_the_loop_does_no_harm():
    def f(a, n):
        a[0] = 3.0
        s = 0.0
        for i in range(n):
            s += a[i]
        return s

    assert intact("a", f, A, 3) == [True]


def test_a_store_in_the_other_arm_counts_in_a_loop():
    def f(a, n):
        s = 0.0
        for i in range(n):
            if i > 1:
                s += a[0]
            else:
                a[0] = s
        return s

    assert intact("a", f, A, 3) == [False]


def test_memory_born_in_the_iteration_goes_by_order():
    def f(n):
        s = 0.0
        for i in range(n):
            b = np.zeros(3)
            b[0] = s
            s += b[0]
            b[1] = s
            s += b[1]
        return s

    def overwritten(n):
        s = 0.0
        for i in range(n):
            b = np.zeros(3)
            s += b[0]
            b[0] = s
        return s

    def inner_loop(n):
        s = 0.0
        for i in range(n):
            b = np.zeros(3)
            for j in range(n):
                b[0] = s
                s += b[0]
        return s

    assert intact("b", f, 3) == [False, True]  # which element is not looked at
    assert intact("b", overwritten, 3) == [False]
    assert intact("b", inner_loop, 3) == [False]


def test_a_view_made_in_the_loop_is_not_born_there():
    def f(a, n):
        s = 0.0
        for i in range(n):
            a[1] = s
            v = a[i:]
            s += v[0]
        return s

    def row(m, n):
        s = 0.0
        for e in range(n):
            for i in range(n):
                v = m[i]
                v[0] = s
                s += v[0]
        return s

    def of_a_view(m, n):
        s = 0.0
        for i in range(n):
            m[0, 0] = s
            v = m[0]
            w = v[i:]
            s += w[0]
        return s

    assert intact("v", f, A, 3) == [False]
    assert intact("v", row, M, 2) == [False]
    assert intact("w", of_a_view, M, 2) == [False]


def test_a_carried_buffer_may_be_written_after_a_swap():
    def f(a, b, n):
        s = 0.0
        for i in range(n):
            b[i] = s
            s += a[i]
            a, b = b, a
        return s

    found = Analysed(f, A, A, 3)
    (load,) = found.loads("a")
    # by order alone nothing follows; but the memory is not at hand, so nothing is read again
    assert found.scopes.home[found.memory.root(load.base)] is not found.scopes.root


def test_updates_calls_and_methods_are_stores():
    def f(a, n):
        s = 0.0
        for i in range(n):
            s += a[0]
            a += 1.0
        return s

    def method(a, n):
        s = 0.0
        for i in range(n):
            s += a[0]
            a.fill(s)
        return s

    def call(a, k, n):
        s = 0.0
        for i in range(n):
            s += a[k[i]]
            np.random.shuffle(k)
        return s

    assert intact("a", f, A, 3) == [False] and intact("a", method, A, 3) == [False]
    assert intact("k", call, A, K, 3) == [False]


# ----- frozen ---------------------------------------------------------------------------------------
def frozen(name, function, *args):
    found = Analysed(function, *args)
    return [found.memory.frozen(op) for op in found.loads(name) if found.scopes.at[op].depth == 2]


def test_a_carried_array_read_by_an_inner_loop_is_frozen():
    def f(x, n):
        a = x * 1.0
        b = x * 2.0
        for _ in range(n):
            for i in range(1, n):
                b[i] = a[i] * a[i - 1]
            a, b = b, a
        return a[0]

    assert all(frozen("a", f, A, 3))


@pytest.mark.parametrize("line", ["a[0] = 1.0", "v = a[1:]; v[0] = 1.0", "a += 1.0", "x[0] = 1.0", "a.fill(0.5)"])
def test_not_where_it_changes_while_it_is_held(line):
    text = f"""
def f(x, n):
    a = x
    b = x * 2.0
    for _ in range(n):
        {line}
        for i in range(1, n):
            b[i] = a[i] * a[i - 1]
        a, b = b, a
    return a[0]
"""
    namespace: dict = {}
    exec(text, namespace)
    assert not any(frozen("a", namespace["f"], A, 3))


def test_not_where_two_names_may_be_one():
    def f(x, n):
        a = x * 1.0
        b = a
        for _ in range(n):
            for i in range(1, n):
                b[i] = a[i] * a[i - 1]
        return a[0]

    def becomes_one(x, n):
        a = x * 1.0
        b = x * 2.0
        for _ in range(n):
            for i in range(1, n):
                b[i] = a[i] * a[i - 1]
            a = b
        return a[0]

    assert not any(frozen("a", f, A, 3)) and not any(frozen("a", becomes_one, A, 3))
