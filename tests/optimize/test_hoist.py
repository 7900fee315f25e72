"""What moves out of loops: arithmetic that cannot fail and does not change."""

import numpy as np
import pytest

from jitgrad.optimize import hoist_invariants, optimize
from jitgrad.program import ir
from tests.optimize.passes import after, check_bits, read

A = np.array([1.0, 2.0, 3.0, 4.0])


def before_the_loop(function, *args) -> str:
    return after(hoist_invariants, function, *args).split("for ")[0].split("while")[0]


def test_index_arithmetic_moves_out_of_all_loops():
    def f(a, n):
        s = 0.0
        for i in range(n):
            for j in range(n):
                s += a[n - 1] * i
        return s

    assert "n - 1" in before_the_loop(f, A, 3)


def test_a_trip_count_becomes_known_outside():
    def f(a, n):
        s = 0.0
        for i in range(n):
            for j in range(a.shape[0] - 1):
                s += a[j]
        return s

    program = read(f, A, 3)
    hoist_invariants(program)
    inner = [op for op in ir.walk(program.body) if isinstance(op, ir.Loop)][1]
    assert any(inner.count in op.results for op in program.body.ops)


def test_what_changes_or_may_fail_stays():
    def f(a, n, k, x):
        s = 0.0
        for i in range(n):
            t = s + 1.0  # carried
            u = i * 2  # the counter
            v = k // n  # may fail
            w = k % n
            y = a[k]  # a load
            z = x / s
            q = x**k
            s += t + u + v + w + y + z + q
        return s

    text = before_the_loop(f, A, 3, 1, 0.5)
    for part in ("+ 1.0", "//", "%", "a[k]", "/", "**"):
        assert part not in text, part


def test_what_is_used_in_an_arm_stays_in_the_arm():
    def f(n, x):
        s = 0.0
        for i in range(n):
            if i > 1:
                s += x * 3.0
        return s

    assert "x * 3.0" not in before_the_loop(f, 3, 0.5)


def test_new_arrays_that_are_only_read_move_out():
    def f(m):
        s = 0.0
        for i in range(3):
            s += np.sum(np.eye(2) * m)
        return s

    assert "np.eye" in before_the_loop(f, np.ones((2, 2)))


def test_new_arrays_that_are_written_yielded_or_shared_stay():
    def written(n):
        s = 0.0
        for i in range(n):
            b = np.zeros(2)
            b[0] += i
            s += b[0]
        return s

    def yielded(n):
        b = np.ones(2)
        for i in range(n):
            b = b * 2.0
            b[0] = 1.0
            b = np.zeros(2)
        return b

    def written_by_a_view(n):
        s = 0.0
        for i in range(n):
            b = np.zeros(4)
            v = b.reshape(2, 2)
            v[0, 0] += i + 1.0
            s += b[0] * np.sum(b)
        return s

    def kept_in_a_list(n):
        items = [np.ones(2)]
        for i in range(n):
            items.append(np.zeros(2))
        items[1][0] = 5.0
        return items[2][0]

    def in_a_tuple(n):
        s = 0.0
        for i in range(n):
            pair = (np.zeros(2), i)
            pair[0][0] += i + 1.0
            s += pair[0][0]
        return s

    for function in (written, yielded, written_by_a_view, kept_in_a_list, in_a_tuple):
        assert "zeros" not in before_the_loop(function, 3), function
        check_bits(function, 3)


def test_nothing_that_fails_moves_out_of_a_loop_without_iterations():
    def f(x, n, m):
        s = x
        for i in range(m):
            s += np.sum(np.zeros(n) + x)
        return s

    check_bits(f, 0.5, -1, 0)


def test_a_callee_may_not_keep_what_moved():
    def f(a, n):
        s = 0.0
        for i in range(n):
            b = np.zeros(4)
            c = np.ascontiguousarray(b)
            c[0] += a[i]
            s += b[0]
        return s

    check_bits(f, A, 3)


@pytest.mark.parametrize("n", [-1, 0, 3])
def test_same_bits(n):
    def f(a, x, n):
        s = x
        for i in range(n):
            k = n - 1
            y = x * 3.0 + 0.1
            for j in range(i, k + 1):
                z = (x - y) * k
                if j > i + 1:
                    s = s * y + a[j] * z
                else:
                    s += a[k - 1] * (y + z) - (n - 2)
        return s

    check_bits(f, A, 1.3, n, passes=(hoist_invariants,))
    check_bits(f, A, 1.3, n, passes=(optimize,))
