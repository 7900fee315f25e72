"""The generated function: signature, seeds, results, gradients into given arrays."""

import math
import subprocess
import sys

import numpy as np
import pytest
from numba import njit

import jitgrad
from tests.transforms.reverse.harness import generated, in_python, some, source


def f(x, y, k=2):
    s = 0.0
    for i in range(x.size):
        s += k * x[i] * y
    return s


X = some(3)


def last(text):
    return text.splitlines()[-1].strip()


def test_signatures():
    assert source(f, X, 0.5, 2, wrt=(0,)).startswith("def grad_f(x, y, k=2):")
    assert source(f, X, 0.5, 2, wrt=(0,), seed="argument").startswith("def vjp_f(cotangent, x, y, k=2):")
    assert source(f, X, 0.5, 2, wrt=(0,), into=True).startswith("def grad_into_f(out, x, y, k=2):")


def test_structure_of_the_result():
    assert last(source(f, X, 0.5, 2, wrt=(0,), single=True)) == "return x_bar"
    assert last(source(f, X, 0.5, 2, wrt=(0,))) == "return (x_bar,)"
    assert last(source(f, X, 0.5, 2, wrt=(1, 0), value=True)) == "return value, (y_bar, x_bar,)"


def test_whole_source():
    def g(x):
        s = 0.0
        for i in range(x.size):
            s += x[i] * x[i]
        return s

    lines = [line.split("  #")[0] for line in source(g, X).splitlines()]
    assert (
        "\n".join(line for line in lines if line)
        == """\
def grad_g(x):
    t = x.size
    s = 0.0
    for i in range(t):
        t_1 = x[i]
        t_2 = t_1 * t_1
        s_1 = s + t_2
        s = s_1
    value = s
    s_bar = 1.0
    x_bar = np.zeros_like(x)
    for i in range(t):
        t_1 = x[i]
        s_bar_1 = s_bar
        s_bar_2 = s_bar_1
        t_bar = s_bar_1
        t_bar_1 = t_bar * t_1
        t_bar_1 += t_bar * t_1
        x_bar[i] += t_bar_1
        s_bar = s_bar_2
    return (x_bar,)"""
    )


def test_the_value_survives_the_backward_loop():
    def product(x):
        p = 1.0
        for v in x:
            p *= v
        return p

    value, (gradient,) = in_python(generated(product, X, value=True))(X)
    assert value == product(X)
    np.testing.assert_allclose(gradient, value / X)


def test_auxiliary_results():
    def g(x):
        y = x * x
        k = 0
        for v in x:
            if v > 0.0:
                k += 1
        y[0] = 7.0
        return np.sum(x * x), (y, k)

    (gradient,), (y, k) = in_python(generated(g, X, has_aux=True))(X)
    np.testing.assert_allclose(gradient, 2 * X)
    np.testing.assert_array_equal(y, g(X)[1][0])
    assert k == g(X)[1][1]


def test_a_cotangent_for_every_result():
    def g(x, y):
        return x * y, (y * y, 3), x

    run = in_python(generated(g, X, 0.5, seed="argument"))
    seeds = (np.array([1.0, 2.0, 3.0]), (10.0, 0), np.ones(3))
    (out, _, same), (x_bar, y_bar) = run(seeds, X, 0.5)
    np.testing.assert_array_equal(out, X * 0.5)
    np.testing.assert_allclose(x_bar, seeds[0] * 0.5 + 1.0)
    np.testing.assert_allclose(y_bar, seeds[0] @ X + 10.0 * 2 * 0.5)
    np.testing.assert_array_equal(seeds[2], np.ones(3))  # cotangents are only read


def test_a_result_returned_twice():
    def g(x):
        y = x * x
        return y, y

    _, (x_bar,) = in_python(generated(g, X, seed="argument"))((np.ones(3), np.array([1.0, 2.0, 3.0])), X)
    np.testing.assert_allclose(x_bar, 2 * X * np.array([2.0, 3.0, 4.0]))


@njit
def writes_first(a, b):
    a[0] = b[1] * 2.0
    return b[0] * a[1]


@njit
def writes_in_tuple(p):
    p[0][0] = p[1][1] * 2.0
    return p[1][0] * p[0][1]


@njit
def writes_in_star(*p):
    p[0][0] = p[1][1] * 2.0
    return p[1][0] * p[0][1]


@pytest.mark.parametrize("function, pack", [(writes_first, False), (writes_in_tuple, True), (writes_in_star, False)])
def test_arguments_that_share_written_memory_are_refused(function, pack):
    derivative = jitgrad.grad(function) if pack else jitgrad.grad(function, (0, 1))

    def call(a, b):
        return derivative((a, b)) if pack else derivative(a, b)

    x = np.array([1.0, 2.0, 3.0])
    a_bar, b_bar = call(x[:2].copy(), x[1:])
    assert a_bar[0] == 0.0 and b_bar[0] == 2.0
    with pytest.raises(ValueError, match="overlap"):
        call(x[:2], x[1:])


@njit
def reads_again(t, a, b):
    s = 0.0
    for i in range(a.size):
        s += math.sin(t * a[i]) ** 2
    b[0] = 1.0
    return s * s


@njit
def passes_through(t, a, b):
    a[0] = t
    return b[0] * t


@pytest.mark.parametrize("function", [reads_again, passes_through])
def test_shared_memory_that_has_no_adjoint_is_refused_too(function):
    x = np.array([0.5, 2.0])
    with pytest.raises(ValueError, match=f"a and b of {function.__name__} overlap"):
        jitgrad.grad(function)(2.0, x, x)


def test_into_zeroes_what_it_is_given():
    def g(x, y):
        s = 0.0
        for i in range(x.size):
            x[i] = x[i] * x[i - 1]
            s += x[i]
        return s

    run = in_python(generated(g, X, X, wrt=(0, 1), into=True, value=True))
    plain = in_python(generated(g, X, X, wrt=(0, 1), value=True))
    out = (np.full(3, np.nan), np.full(3, np.nan))
    value, expected = plain(X.copy(), X)
    assert run(out, X.copy(), X) == value
    np.testing.assert_array_equal(out, expected)


def test_into_checks_shapes():
    run = in_python(generated(f, X, 0.5, 2, wrt=(0,), into=True, single=True))
    with pytest.raises(ValueError, match="shape"):
        run(np.zeros(4), X, 0.5, 2)


@pytest.mark.parametrize("size", [0, 1])
def test_small_arrays(size):
    def g(x, y):
        s = y
        for i in range(x.size):
            s = s * x[i] + x[i]
        return s + np.sum(x * y)

    x = np.full(size, 0.5)
    value, (x_bar, y_bar) = in_python(generated(g, x, 0.3, value=True))(x, 0.3)
    assert x_bar.shape == (size,)
    assert y_bar == pytest.approx(1.0 + 0.5 * size + (size == 1) * -0.5)
    assert value == g(x, 0.3)


ALLOCATIONS = """
import numpy as np
from numba import njit
from numba.core.runtime import _nrt_python, rtsys
import jitgrad

@njit
def f(x, w):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i] * w[i] * w[0]
    return s

g = jitgrad.grad(f, (0, 1))
x, w = np.ones(5), np.ones(5)
out = (np.zeros(5), np.zeros(5))

g.into(out, x, w)
_nrt_python.memsys_enable_stats()
before = rtsys.get_allocation_stats()
for _ in range(20):
    g.into(out, x, w)
after = rtsys.get_allocation_stats()
print(after.alloc - before.alloc, after.mi_alloc - before.mi_alloc)
"""


def test_into_allocates_nothing_but_the_wrapping_of_arguments():
    done = subprocess.run([sys.executable, "-c", ALLOCATIONS], capture_output=True, text=True, check=True)
    allocations, infos = map(int, done.stdout.split())
    assert allocations <= 20 * 4 and infos <= 20 * 4  # one small record for each of four arrays passed


def test_parts_of_a_tuple_argument():
    def f(t):
        first, second = t[1:3]
        return first * second * t[::-2][1] + t[:1][0] * t[-1:][0]

    (gradient,) = in_python(generated(f, (0.5, 2.0, -1.5, 3.0), wrt=(0,)))((0.5, 2.0, -1.5, 3.0))
    assert gradient == (3.0, 2.0 * 2.0 * -1.5, 2.0 * 2.0, 0.5)
