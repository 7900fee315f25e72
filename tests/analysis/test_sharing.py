"""Memory that changes while a result that shares it is in use."""

import numpy as np

from jitgrad.analysis import sharing
from tests.analysis.programs import Analysed

A = np.arange(1.0, 7.0)


def stores_of(function, *args):
    """The stores that `overwritten` finds, as text of their places."""
    found = Analysed(function, *args)
    return {store for _, store in sharing.overwritten(found.program, found.activity)}


def test_a_store_before_the_last_use_is_found():
    def f(a):
        b = np.broadcast_to(a, (2, 6))
        a[0] = 2.0
        return b.sum()

    assert len(stores_of(f, A)) == 1


def test_a_store_after_the_last_use_or_before_the_call_does_not_matter():
    def f(a):
        a[1] = 3.0
        s = np.broadcast_to(a, (2, 6)).sum()
        a[0] = 2.0
        return s + a[0]

    assert stores_of(f, A) == set()


def test_each_iteration_has_a_result_of_its_own():
    def f(a, n):
        s = 0.0
        for i in range(n):
            s += np.broadcast_to(a, (2, 6)).sum()
            a[i] = s
        return s

    def outside(a, n):
        b = np.broadcast_to(a, (2, 6))
        s = 0.0
        for i in range(n):
            s += b[1, 2]
            a[i] = s
        return s

    assert stores_of(f, A, 3) == set()
    assert len(stores_of(outside, A, 3)) == 1


def test_other_names_and_containers_count():
    def view(a):
        c = np.broadcast_to(a, (2, 6))[0][1:]
        a[0] = 2.0
        return c[0]

    def kept(a):
        pair = (np.broadcast_to(a, (2, 6)), 1.0)
        a[0] = 2.0
        return pair

    def through(a):
        np.lib.stride_tricks.sliding_window_view(a, 2)[0, 0] = 2.0
        return a[0]

    for function in (view, kept, through):
        assert len(stores_of(function, A)) == 1, function


def test_stores_into_other_memory_do_not_count():
    def f(a):
        b = np.broadcast_to(a, (2, 6))
        c = a.copy()
        c[0] = 2.0
        return b.sum() + c.sum()

    assert stores_of(f, A) == set()


def test_reinterpreted_memory():
    def written(a):
        a.view(np.int64)[0] = 0
        return a[0]

    def in_loop(a, n):
        k = np.arange(6)
        low = k.view(np.int32)
        s = 0.0
        for i in range(n):
            s += a[k[i]]
            low[2 * i + 2] = 0
        return s

    def read(a):
        b = a.copy()
        b[0] = 1.0
        return b.view(np.int64)[0] & 1

    for function, args, count in ((written, (A,), 1), (in_loop, (A, 3), 1), (read, (A,), 0)):
        assert len(list(sharing.reinterpreted(Analysed(function, *args).program))) == count, function
