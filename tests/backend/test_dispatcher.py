"""`Derivative` as a Numba dispatcher."""

from __future__ import annotations

import functools
import gc
import io
import math
import pathlib
import pickle
import subprocess
import sys
import threading
import traceback
import weakref

import numba
import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import jitgrad as jg
from jitgrad.backend.dispatcher import Derivative, derivative, dispatcher_of
from jitgrad.errors import ArgumentError

from . import primals
from .stubs import Factorial, Failing, Scaled, Shifted

ROOT = pathlib.Path(__file__).parents[2]


def scaled(fn, factor=2.0):
    return derivative(fn, Scaled(factor))


def test_calls_like_the_primal():
    g = scaled(primals.product)
    assert g(3.0, 4.0) == 24.0
    assert g(3.0) == 12.0  # the default of y
    assert g(y=5.0, x=1.0) == 10.0
    with pytest.raises(TypeError):
        g()


def test_leading_parameter_and_star_arguments():
    assert derivative(primals.product, Shifted())(10.0, 3.0) == 16.0
    assert scaled(primals.total)(1.0, 2.0, 3.0) == 12.0


def test_nopython_code_calls_it():
    g = scaled(primals.product)

    @njit
    def caller(x):
        return g(x, 2.0) + g(x)

    assert caller(3.0) == 24.0


def test_literals_are_compiled_once():
    g = derivative(primals.product, Scaled(7.0))

    @njit
    def caller():
        return g(1.0, 2) + g(2.0, 3) + g(2.0, 4)

    assert caller() == 7.0 * (2 + 6 + 8)
    assert len(g.signatures) == 1


def test_an_integer_in_nopython_code_becomes_a_float():
    """The first guess of inference for `s` is int64, and the derivative refuses integers."""
    g = scaled(primals.product)

    @njit
    def caller(n):
        s = 0
        for _ in range(n):
            s = g(s, 0.5) + 1.0
        return s

    assert caller(3) == 3.0
    with pytest.raises(ArgumentError, match="argument 0 is an integer"):
        g(1, 2.0)


def test_recursion():
    assert derivative(primals.single, Factorial())(5) == 120


def test_same_object_for_the_same_request():
    assert scaled(primals.product) is scaled(primals.product)
    assert scaled(primals.product) is not scaled(primals.product, 3.0)

    def f(x):
        return x

    assert scaled(f) is scaled(f)
    assert dispatcher_of(f) is dispatcher_of(f)


def test_functions_do_not_leak():
    def make():
        def f(x):
            return x

        g = scaled(f)
        g(1.0)
        return weakref.ref(g), weakref.ref(f)

    refs = make()
    for _ in range(3):
        gc.collect()
    numba.core.dispatcher._MemoMixin._recent.clear()
    assert [r() for r in refs] == [None, None]


def test_decorating_after_differentiating():
    """`njit` copies the attributes of the function, among them our table."""

    def f(x):
        return x * x

    g = scaled(f)
    jitted = njit(f)
    assert scaled(jitted) is not g
    assert scaled(jitted)(3.0) == 18.0


def test_closures_with_different_values_never_share():
    def make(k):
        @njit
        def f(x):
            return k * x

        return f

    assert [scaled(make(k))(1.0) for k in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]


def test_errors_of_ours_reach_the_caller():
    @njit
    def caller(x):
        return derivative_of_product(x, 1.0)

    derivative_of_product = derivative(primals.product, Refusing())
    with pytest.raises(ArgumentError, match=r"^no derivative here$") as info:
        derivative_of_product(1.0, 2.0)
    assert info.value.__cause__ is None
    with pytest.raises(TypingError, match="ArgumentError: no derivative here"):
        caller(1.0)


def test_errors_through_two_derivatives():
    inner = derivative(primals.product, Refusing())
    outer = scaled(njit(lambda x, y: inner(x, y)))
    with pytest.raises(ArgumentError, match=r"^no derivative here$"):
        outer(1.0, 2.0)


def test_typing_errors_of_the_primal_pass_through():
    @njit
    def wrong(x):
        return x + "a"

    with pytest.raises(TypingError, match="No implementation of function"):
        derivative(wrong, Typing())(1.0)


def test_tracebacks_show_generated_source():
    g = derivative(primals.product, Failing())
    with pytest.raises(ValueError, match="from generated code") as info:
        derivative(primals.single, Failing())(1.0)
    assert g.primal is primals.product
    fn = derivative(primals.single, Failing()).generated((numba.float64,))
    assert "raise ValueError" in "".join(traceback.format_list([(fn.__code__.co_filename, 2, "f", None)]))
    assert info.value.args == ("from generated code",)


def test_pickle_by_name_and_by_value():
    g = scaled(primals.product)
    data = pickle.dumps(g)
    assert pickle.loads(data) is g
    assert b"primals" in data and len(data) < 2000

    def make(k):
        return scaled(njit(lambda x: k * x))

    h = pickle.loads(pickle.dumps(make(4.0)))
    assert isinstance(h, Derivative)
    assert h(1.0) == 8.0


def test_pickles_cross_processes(tmp_path):
    """A closure goes by value."""

    def make(k):
        @njit
        def f(x):
            return k * x

        return f

    data = tmp_path / "data"
    data.write_bytes(pickle.dumps([scaled(primals.product), scaled(make(4.0))]))
    script = f"import pickle; g, h = pickle.load(open({str(data)!r}, 'rb')); print(g(2.0, 3.0), h(1.0))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["12.0", "8.0"], done.stderr


def test_threads_get_one_compilation():
    g = scaled(njit(lambda x: math.sin(x) + x))
    start, found = threading.Barrier(8), []

    def work():
        start.wait()
        found.append(g(0.5))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [2.0 * (math.sin(0.5) + 0.5)] * 8
    assert len(g.signatures) == 1


def test_what_cannot_be_differentiated():
    with pytest.raises(ArgumentError, match="partial"):
        dispatcher_of(functools.partial(primals.product, 1.0))
    with pytest.raises(ArgumentError, match="is not a function"):
        dispatcher_of(3)
    with pytest.raises(ArgumentError, match="is a Python object that nopython code cannot call"):
        dispatcher_of(primals.Callable())
    with pytest.raises(ArgumentError, match="keyword-only"):
        scaled(lambda x, *, y=1.0: x)


def test_builtins_and_ufuncs_are_wrapped():
    assert scaled(math.sin)(1.0) == 2.0 * math.sin(1.0)
    assert scaled(np.sin)(1.0) == pytest.approx(2.0 * math.sin(1.0))


def test_names_that_look_like_ours():
    g = derivative(njit(lambda shift, x: shift * x), Shifted())
    assert g(1.0, 2.0, 3.0) == 7.0
    assert g(1.0, x=2.0, shift=5.0) == 11.0


def test_options_come_from_the_primal():
    f = njit(fastmath=True, boundscheck=True)(lambda x: x)
    options = scaled(f).targetoptions
    assert options["fastmath"] is True
    assert options["boundscheck"] is True
    assert options["error_model"] == "numpy"


def test_inspection():
    g = scaled(njit(eval("lambda x, y: x * y")))  # without a file, so that it does not come from the disk cache
    g(1.0, 2.0)
    assert "scaled" in repr(g)
    text = io.StringIO()
    g.inspect_types(file=text)
    assert "return 2.0 * primal(x, y)" in text.getvalue()
    assert "define" in next(iter(g.inspect_llvm().values()))


class Refusing(Scaled):
    def generate(self, primal, argtypes):
        raise ArgumentError("no derivative here")


class Typing(Scaled):
    """As the engine does, types the primal first."""

    def generate(self, primal, argtypes):
        from jitgrad import frontend

        frontend.read(primal, argtypes)
        raise AssertionError


def test_a_plain_function_is_jitted_again_where_what_it_reads_has_changed():
    """Numba freezes globals and closures, and a new derivative sees them as they are."""
    factor, numbers = 2.0, np.array([3.0])
    helper = njit(lambda x: 5.0 * x)

    def scaled(x):
        return factor * numbers[0] * helper(x)

    before = jg.grad(scaled)
    assert before(1.0) == 30.0 and jg.grad(scaled) is before
    numbers[0] = 7.0
    assert jg.grad(scaled)(1.0) == 70.0
    factor = 4.0
    assert jg.grad(scaled)(1.0) == 140.0
    helper = njit(lambda x: x)
    assert jg.jvp(scaled, (1.0,), (1.0,)) == (28.0, 28.0)
    assert before(1.0) == 30.0
