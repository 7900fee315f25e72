"""One name for one thing."""

import numpy as np

from jitgrad import frontend
from jitgrad.optimize import resolve_aliases
from jitgrad.program import ir
from jitgrad.program.verify import verify
from tests.optimize.passes import after, check_bits, lines, read

A = np.array([1.0, 2.0, 3.0])


def test_an_update_keeps_the_name():
    def f(a):
        b = a
        b += 1.0
        b *= 2.0
        return b

    text = after(resolve_aliases, f, A)
    assert lines(text, "=") == ["a += 1.0", "a *= 2.0"] and "return a" in text


def test_an_update_of_a_number_is_a_new_value():
    def f(x):
        y = x
        y += 1.0
        return x * y

    text = after(resolve_aliases, f, 1.0)
    assert len(lines(text, "=")) == 2


def test_a_list_updated_is_no_renaming_of_an_array():
    def f(x):
        items = [x]
        items += [2.0]
        return items[1] * items[0]

    check_bits(f, 3.0)


def test_a_cast_to_another_type_stays():
    def f(k):
        s = 0.0
        s = k
        for _ in range(3):
            s = s * 0.5
        return s

    text = after(resolve_aliases, f, 3)
    assert "cast k" in text
    check_bits(f, 3)


def test_what_a_branch_hands_on_unchanged_is_no_result():
    def f(a, c):
        b = a
        if c > 0:
            b[0] = c
        else:
            b[1] = c
        return b[2]

    def other(a, b, c):
        d = a
        if c > 0:
            d = b
        return d[0]

    assert "->" not in after(resolve_aliases, f, A, 1.0)
    assert "->" in after(resolve_aliases, other, A, A, 1.0)


def test_what_a_loop_carries_unchanged_is_not_carried():
    def f(a, n):
        b = a
        for i in range(n):
            b += 1.0
            for j in range(n):
                b[j] = 2.0
        return b[0]

    def swapped(a, b, n):
        for i in range(n):
            a, b = b, a
        return a[0]

    assert "carry" not in after(resolve_aliases, f, A, 3)
    assert "carry" in after(resolve_aliases, swapped, A, A, 3)


def test_results_stay_defined():
    def f(a, n):
        x = y = 1.0
        for i in range(n):
            if a[i] > 0:
                z = x
            else:
                z = x
            x, y = y, z
        return x - 2.0 * y

    program = frontend.read(__import__("numba").njit(f), (ir.types.float64[::1], ir.types.int64))
    resolve_aliases(program)
    verify(program)
    check_bits(f, A, 3)


def test_updates_seen_through_all_names():
    def f(a, c, n):
        b = a
        v = b[1:]
        for i in range(n):
            w = v
            w += c
            if i > 0:
                v = w
        b -= v[0]
        return a[0] * b[1] + v[1]

    check_bits(f, A, 0.5, 3, passes=(resolve_aliases,))


def test_no_updates_with_results_are_left():
    def f(a):
        a += 1.0
        b = a
        b -= a[0]
        return b[0]

    program = read(f, A)
    assert all(op.result is None for op in ir.walk(program.body) if isinstance(op, ir.InplaceBinary))
