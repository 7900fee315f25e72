"""What the Program of small functions looks like."""

import math
import sys
import textwrap

import numba
import numpy as np
import pytest
from numba import njit, objmode
from numba.core import types

from jitgrad.errors import UnsupportedError
from jitgrad.frontend import print_program, read
from jitgrad.program import ir
from jitgrad.program.dump import dump
from jitgrad.program.verify import MalformedProgram, verify
from tests.frontend.round_trip import program_of

X = np.array([1.0, -2.0, 3.0])


def assert_program(fn, args, text):
    assert dump(program_of(fn, *args)) == textwrap.dedent(text).lstrip()


# CPython 3.12 copies a short ``return`` into the branches before it: the same program in another form.
only_as_311 = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the text is that of CPython 3.11's bytecode")


def test_straight_line():
    def f(x, y):
        t = x * y
        return math.sin(t) + t

    assert_program(f, (1.0, 2.0), """
        def f(x: float64, y: float64):
            t: float64 = x * y
            t_1: float64 = math.sin(t)
            t_2: float64 = t_1 + t
            return t_2
        """)  # fmt: skip


@only_as_311
def test_branch_yields_what_both_arms_assign():
    def f(a, b):
        if a > b:
            r = a
        else:
            r = 2
        return r

    assert_program(f, (1.0, 2.0), """
        def f(a: float64, b: float64):
            t: bool = a > b
            if t:
                yield a
            else:
                yield 2.0
            -> r: float64
            return r
        """)  # fmt: skip


def test_counted_loop_carries_what_it_updates():
    def f(x):
        s = 0
        for i in range(1, x.size):
            s += x[i] * x[i - 1]
        return s

    assert_program(f, (X,), """
        def f(x: float64[::1]):
            t: int64 = x.size
            t_1: int64 = t - 1
            for i in range(t_1) carry s: float64 = 0.0:
                i_1: int64 = 1 + i
                t_2: float64 = x[i_1]
                t_3: int64 = i_1 - 1
                t_4: float64 = x[t_3]
                t_5: float64 = t_2 * t_4
                s_1: float64 = s + t_5
                yield s_1
            -> s_2: float64
            return s_2
        """)  # fmt: skip


def test_while_loop_tests_after_the_body():
    def f(v):
        while v < 100.0:
            v = v * v
        return v

    assert_program(f, (2.0,), """
        def f(v: float64):
            t: bool = v < 100.0
            if t:
                while carry v_1: float64 = v:
                    v_2: float64 = v_1 * v_1
                    t_1: bool = v_2 < 100.0
                    yield v_2 while t_1
                -> v_3: float64
                yield v_3
            else:
                yield v
            -> v_4: float64
            return v_4
        """)  # fmt: skip


def test_continue_makes_no_second_loop():
    def f(n, x):
        k = 0
        s = 0.0
        while k < n:
            k += 1
            if k == 2:
                continue
            s += x[k]
        return s

    assert_program(f, (2, X), """
        def f(n: int64, x: float64[::1]):
            t: bool = 0 < n
            if t:
                while carry k: int64 = 0, s: float64 = 0.0:
                    k_1: int64 = k + 1
                    t_1: bool = k_1 == 2
                    if t_1:
                        yield s
                    else:
                        t_2: float64 = x[k_1]
                        s_1: float64 = s + t_2
                        yield s_1
                    -> s_2: float64
                    t_3: bool = k_1 < n
                    yield k_1, s_2 while t_3
                -> k_2: int64, s_3: float64
                yield s_3
            else:
                yield 0.0
            -> s_4: float64
            return s_4
        """)  # fmt: skip


def test_break_keeps_the_value_it_leaves_with():
    def f(x):
        s = 0.0
        for v in x:
            if v < 0:
                break
            s += v
        return s

    assert_program(f, (X,), """
        def f(x: float64[::1]):
            n: int64 = len(x)
            for i in range(n) carry s: float64 = 0.0:
                v: float64 = x[i]
                t: bool = v < 0
                t_1: bool = not t
                if t:
                    yield s
                else:
                    s_1: float64 = s + v
                    yield s_1
                -> s_2: float64
                yield s_2 while t_1
            -> s_3: float64
            return s_3
        """)  # fmt: skip


@only_as_311
def test_early_return_leaves_the_loop_with_its_result():
    def f(x):
        for i in range(x.size):
            if x[i] < 0:
                return x[i] * 2.0
        return 0.0

    assert_program(f, (X,), """
        def f(x: float64[::1]):
            t: int64 = x.size
            for i in range(t) carry t_1: float64 = undefined, t_2: int64 = 0:
                t_3: float64 = x[i]
                t_4: bool = t_3 < 0
                t_5: bool = not t_4
                if t_4:
                    t_6: float64 = x[i]
                    t_7: float64 = t_6 * 2.0
                    yield t_7, 1
                else:
                    yield undefined, 0
                -> t_8: float64, t_9: int64
                yield t_8, t_9 while t_5
            -> t_10: float64, t_11: int64
            t_12: bool = t_11 == 1
            if t_12:
                yield t_10
            else:
                yield 0.0
            -> t_13: float64
            return t_13
        """)  # fmt: skip


def test_tuples_built_in_place_disappear():
    def f(a, b):
        a, b = b, a + b
        t = (a, b)
        return t[0] * t[1]

    assert_program(f, (1.0, 2.0), """
        def f(a: float64, b: float64):
            b_1: float64 = a + b
            t: float64 = b * b_1
            return t
        """)  # fmt: skip


def test_merged_tuples_are_split():
    @njit
    def first_negative(x):
        for i in range(x.size):
            if x[i] < 0:
                return i, x[i]
        return -1, 0.0

    def f(x):
        k, v = first_negative(x)
        return k * v

    program = program_of(f, X)
    assert not [op for op in ir.walk(program.body) if isinstance(op, ir.BuildTuple)]
    assert not [
        value for op in ir.walk(program.body) for value in op.results if isinstance(value.type, types.BaseTuple)
    ]


def test_index_is_flat():
    def f(m, i, k):
        m[i, 1:k] = m[0, ..., None][1, 0]
        return m[(1, 2)] + m[i][k]

    program = program_of(f, np.eye(3), 1, 2)
    store = next(op for op in ir.walk(program.body) if isinstance(op, ir.SetItem))
    row, part = store.index
    assert row.name == "i" and isinstance(part, ir.Slice) and part.start.value == 1 and part.stop.name == "k"
    loads = [op.index for op in ir.walk(program.body) if isinstance(op, ir.GetItem)]
    assert [len(index) for index in loads] == [3, 2, 2, 1, 1]
    assert loads[0][2].value is None


def test_callees_are_inlined_with_their_names_and_places():
    @njit
    def inner(x, scale=3.0):
        shifted = x + 1.0
        return shifted * scale

    def f(x):
        return inner(x) + inner(scale=x, x=2.0)

    program = program_of(f, 1.0)
    assert dump(program) == textwrap.dedent("""
        def f(x: float64):
            shifted: float64 = x + 1.0
            t: float64 = shifted * 3.0
            shifted_1: float64 = 2.0 + 1.0
            t_1: float64 = shifted_1 * x
            t_2: float64 = t + t_1
            return t_2
        """).lstrip()  # fmt: skip
    first_line = inner.py_func.__code__.co_firstlineno
    assert [op.loc.line - first_line for op in program.body][:2] == [2, 3]


def test_callees_with_a_rule_stay_calls():
    @njit
    def special(x):
        return x * 2.0

    def f(x):
        return special(x)

    program = program_of(f, 1.0, has_rule=lambda fn: True)
    (call,) = program.body.ops
    assert call.fn is special


def test_recursive_callees_stay_calls():
    @njit
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    program = program_of(power, 2.0, 3)
    assert [op.fn for op in ir.walk(program.body) if isinstance(op, ir.Call)] == [power]


def test_explicit_signature_casts_arguments_and_result():
    @njit("float32(float32)")
    def single(x):
        return x * x

    def f(x):
        return single(x) + 1.0

    program = program_of(f, 1.5)
    assert [op.result.type for op in program.body] == [numba.float32, numba.float32, numba.float64]


def test_constants_are_literals_and_arrays_globals():
    table, count = X, 3

    def f(i):
        return table[i] * count + np.pi

    program = program_of(f, 0)
    load, product, _ = program.body
    assert isinstance(load.base, ir.Global) and load.base.value is table
    assert product.rhs.value == 3


def test_none_default_is_decided():
    def f(x, extra=None):
        return x if extra is None else x + extra

    assert dump(program_of(f, 1.0)) == "def f(x: float64, extra: none):\n    return x\n"


def test_parallel_loops_are_marked():
    @njit(parallel=True)
    def f(x):
        s = 0.0
        for i in numba.prange(x.size):
            s += x[i]
        return s

    program = program_of(f, X)
    assert [op.parallel for op in program.body if isinstance(op, ir.Loop)] == [True]
    assert "prange" not in print_program(program)[0]


def test_options_of_the_primal_are_kept():
    @njit(fastmath=True, error_model="numpy")
    def f(x):
        return x

    options = read(f, (numba.float64,)).options
    assert options["fastmath"] and options["error_model"] == "numpy"


def test_objmode_is_refused_with_a_way_out():
    @njit
    def f(x):
        with objmode(y="float64"):
            y = math.sqrt(x)
        return y

    line = f.py_func.__code__.co_firstlineno + 2
    with pytest.raises(UnsupportedError, match=rf"test_programs.py:{line}.*objmode.*custom"):
        read(f, (numba.float64,))


def test_try_is_refused_with_a_way_out():
    @njit
    def f(x):
        try:
            y = x[0]
        except Exception:
            y = 0.0
        return y

    with pytest.raises(UnsupportedError, match=r"test_programs.py:\d+.*try.*custom"):
        read(f, (numba.float64[::1],))


def test_generators_are_refused():
    @njit
    def numbers(x):
        for v in x:
            yield v

    @njit
    def f(x):
        s = 0.0
        for v in numbers(x):
            s += v
        return s

    with pytest.raises(UnsupportedError, match=r"test_programs.py:\d+.*generator"):
        read(f, (numba.float64[::1],))


def test_typing_errors_are_numbas():
    def f(x):
        return x.no_such_attribute

    with pytest.raises(numba.core.errors.TypingError, match="no_such_attribute"):
        read(f, (numba.float64,))


def test_verifier_finds_a_use_before_the_definition():
    program = program_of(lambda x: (x + 1.0) * 2.0, 1.0)
    program.body.ops.reverse()
    with pytest.raises(MalformedProgram, match="read before"):
        verify(program)


def test_verifier_finds_a_yield_of_another_type():
    program = program_of(lambda x: 1.0 if x > 0 else 2.0, 1.0)
    branch = next(op for op in program.body if isinstance(op, ir.If))
    branch.then_yields[0] = ir.Literal("t", numba.int64, 1)
    with pytest.raises(MalformedProgram, match="int64"):
        verify(program)


def test_ranges_of_floats_are_refused():
    @njit
    def f(x, n):
        for _ in range(n):
            x = x * x
        return x

    assert f(2.0, 1.5) == 4.0
    with pytest.raises(UnsupportedError, match=r"test_programs.py:\d+.*a range of floats.*write range\(int\(n\)\)"):
        read(f, (numba.float64, numba.float64))
