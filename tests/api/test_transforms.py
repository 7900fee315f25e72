"""grad, value_and_grad, jvp, vjp, linearize: arguments, structures, results."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.typed import List

import jitgrad as jg

Params = namedtuple("Params", "k n w")


@njit
def product_loop(x):
    p = 1.0
    for i in range(x.size):
        p *= x[i]
    return p


@njit
def scaled_sum(x, y, k=2.0):
    s = 0.0
    for i in range(x.size):
        s += k * x[i] * y
    return s


@njit
def write_line(p, t, out):
    for i in range(t.size):
        out[i] = p[0] * t[i] * t[i] + p[1]


@njit
def doubled(x):
    y = np.empty(x.shape[0], x.dtype)
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i] * x[i]
    return y


@njit
def structured(p, y):
    s = 0.0
    for i in range(p.w.size):
        s += p.k * p.w[i] ** 2
    return s * y, p.n, (p.w[0] * y, 3)


X = np.array([2.0, 3.0, 4.0])


# ----- grad ----------------------------------------------------------------------------------------
def test_grad_of_a_loop():
    np.testing.assert_array_equal(jg.grad(product_loop)(X), [12.0, 8.0, 6.0])


def test_argnums():
    assert jg.grad(scaled_sum, 1)(X, 1.0) == 18.0
    found = jg.grad(scaled_sum, (2, 0))(X, 1.0, 5.0)
    assert isinstance(found, tuple) and found[0] == 9.0
    np.testing.assert_array_equal(found[1], [5.0, 5.0, 5.0])
    assert jg.grad(scaled_sum, -2)(X, 1.0) == 18.0


def test_keyword_arguments_and_defaults():
    g = jg.grad(scaled_sum, 1)
    assert g(X, 1.0) == 18.0
    assert g(X, 1.0, k=3.0) == 27.0
    assert g(y=1.0, x=X, k=1.0) == 9.0


def test_star_arguments():
    @njit
    def f(*xs):
        return xs[0] * xs[1] * xs[2]

    assert jg.grad(f, (0, 2))(2.0, 3.0, 4.0) == (12.0, 6.0)


def test_value_and_grad_and_aux():
    def f(x):
        return x * x, 3

    assert jg.value_and_grad(lambda x: x * x)(3.0) == (9.0, 6.0)
    assert jg.grad(f, has_aux=True)(3.0) == (6.0, 3)
    assert jg.value_and_grad(f, has_aux=True)(3.0) == ((9.0, 3), 6.0)


def test_plain_functions_lambdas_closures_exec():
    def plain(x):
        return math.sin(x)

    assert jg.grad(plain)(0.0) == 1.0
    assert jg.grad(lambda x: x * x)(3.0) == 6.0
    closures = [lambda x, k=k: k * x for k in (1.0, 2.0)]
    assert [jg.grad(f)(1.0, k) for f, k in zip(closures, (1.0, 2.0))] == [1.0, 2.0]
    namespace = {}
    exec("def f(x):\n    return x ** 3", namespace)
    assert jg.grad(namespace["f"])(2.0) == 12.0


def test_nopython_code_calls_and_is_differentiated():
    g = jg.grad(lambda x: x**3)

    @njit
    def caller(x):
        return g(x) * x

    assert caller(2.0) == 24.0
    assert jg.grad(caller)(2.0) == 36.0


def test_nesting():
    assert jg.grad(jg.grad(jg.grad(lambda x: x**4)))(2.0) == 48.0


def test_float32_stays():
    @njit
    def f(x):
        return x[0] * x[1]

    assert jg.grad(f)(np.ones(2, np.float32)).dtype == np.float32


def test_complex_gradient_is_that_of_jax():
    """jax.grad(lambda z: z.real ** 2 + 3 * z.imag)(2 + 1j) is 4 - 3j."""
    f = lambda z: z.real**2 + 3.0 * z.imag
    assert jg.grad(f)(2.0 + 1.0j) == 4.0 - 3.0j
    assert jg.value_and_grad(f, (0,))(2.0 + 1.0j) == (7.0, (4.0 - 3.0j,))
    assert jg.vjp(f, 2.0 + 1.0j)[1](1.0) == (4.0 + 3.0j,)  # pairs of reals


def test_grad_of_a_function_that_writes_its_result():
    @njit
    def f(x, out):
        for i in range(x.size):
            out[0] += x[i] * x[i]

    out = np.zeros(1)
    np.testing.assert_array_equal(jg.grad(f, outs=1)(X, out), 2.0 * X)
    assert out[0] == 29.0
    value, found = jg.value_and_grad(f, outs=(1,))(X, np.zeros(1))
    assert value == 29.0
    with pytest.raises(ValueError, match="does not hold exactly one number"):
        jg.grad(f, outs=1)(X, np.zeros(2))


def test_into():
    out = np.zeros(3)
    assert jg.grad(product_loop).into(out, X) is None
    np.testing.assert_array_equal(out, [12.0, 8.0, 6.0])
    number = np.zeros(1)
    assert jg.value_and_grad(scaled_sum, (0, 1)).into((out, number), X, 2.0, k=1.0) == 18.0
    np.testing.assert_array_equal(out, [2.0, 2.0, 2.0])
    assert number[0] == 9.0
    with pytest.raises(ValueError, match="shape of the argument"):
        jg.grad(product_loop).into(np.zeros(2), X)
    with pytest.raises(ValueError, match="overlaps an argument"):
        jg.grad(product_loop).into(X, X)
    with pytest.raises(jg.ArgumentError, match="writes into given arrays already"):
        jg.grad(product_loop).into.into


# ----- jvp -----------------------------------------------------------------------------------------
def test_jvp_of_all_float_arguments():
    assert jg.jvp(lambda x, y: x * y, (2.0, 5.0), (1.0, 0.1)) == (10.0, 5.2)
    assert jg.jvp(lambda n, y: n * y, (2, 5.0), (1.0,)) == (10.0, 2.0)
    assert jg.jvp(lambda n, y: n * y, (2, 5.0), (None, 1.0)) == (10.0, 2.0)


def test_jvp_converts_tangents():
    _, dot = jg.jvp(doubled, (X,), ([1, 0, 0],))
    np.testing.assert_array_equal(dot, [8.0, 0.0, 0.0])
    assert jg.jvp(lambda x: x * x, (2.0,), 1, argnums=0) == (4.0, 4.0)
    assert jg.jvp(doubled, (X.astype(np.float32),), (X,))[1].dtype == np.float32


def test_jvp_leaves_tangents_alone_and_runs_in_place():
    @njit
    def f(x):
        x[0] = x[0] * x[0]
        return x[0]

    x, t = np.array([3.0, 1.0]), np.array([1.0, 1.0])
    assert jg.jvp(f, (x,), (t,)) == (9.0, 6.0)
    assert x[0] == 9.0  # as f leaves it
    assert t[0] == 1.0


def test_jvp_of_structures():
    p, tangent = Params(2.0, 7, X), Params(1.0, None, np.ones(3))
    out, dot = jg.jvp(structured, (p, 3.0), (tangent, 0.0))
    assert out == (174.0, 7, (6.0, 3))
    assert dot == ((29.0 + 2.0 * 18.0) * 3.0, None, (3.0, None))


def test_jvp_outs_and_kwargs():
    out = np.zeros(3)
    (content,), (dot,) = jg.jvp(write_line, (X[:2], X, out), (np.array([1.0, 0.0]),), argnums=(0,), outs=(2,))
    np.testing.assert_array_equal(content, 2.0 * X**2 + 3.0)
    np.testing.assert_array_equal(out, content)
    np.testing.assert_array_equal(dot, X**2)
    assert jg.jvp(scaled_sum, (X, 1.0), (np.ones(3), 0.0), kwargs={"k": 3.0})[1] == 9.0


def test_jvp_of_lists():
    @njit
    def f(xs):
        s = 0.0
        for x in xs:
            s += x * x
        return s

    assert jg.jvp(f, (List([1.0, 2.0]),), ([1.0, 1.0],)) == (5.0, 6.0)


# ----- vjp -----------------------------------------------------------------------------------------
def test_vjp_follows_argnums():
    out, pullback = jg.vjp(lambda x, n, y: x * y * n, 2.0, 3, 5.0)
    assert out == 30.0
    assert pullback(1.0) == (15.0, None, 6.0)
    assert pullback(2) == (30.0, None, 12.0)
    assert jg.vjp(lambda x, y: x * y, 2.0, 5.0, argnums=1)[1](1.0) == 2.0
    assert jg.vjp(lambda x, y: x * y, 2.0, 5.0, argnums=(1,))[1](1.0) == (2.0,)


def test_vjp_is_taken_at_the_call():
    """Neither changes of the arguments nor of the results later on reach the pullback."""
    x = X.copy()
    out, pullback = jg.vjp(doubled, x)
    x[:] = 0.0
    out[:] = 0.0
    for _ in range(2):
        np.testing.assert_array_equal(pullback(np.ones(3))[0], 4.0 * X)


def test_vjp_of_a_function_that_writes_its_argument():
    @njit
    def f(x):
        x[0] = x[0] * x[1]
        return x[0] * x[1]

    x = np.array([2.0, 3.0])
    out, pullback = jg.vjp(f, x)
    assert out == 18.0 and x[0] == 6.0
    for _ in range(2):
        np.testing.assert_array_equal(pullback(1.0)[0], [9.0, 12.0])


def test_vjp_of_arguments_that_share_memory():
    """Right, or an error."""

    @njit
    def f(a, b):
        a[0] = a[0] * a[0]
        return b[0] * b[1]

    base = np.array([2.0, 3.0, 5.0])
    with pytest.raises(ValueError, match="overlap"):
        jg.vjp(f, base[:2], base[:2])[1](1.0)


def test_vjp_structures_outs_aux():
    p = Params(2.0, 7, X)
    out, pullback = jg.vjp(structured, p, 3.0)
    found, y_bar = pullback((1.0, 0, (0.0, 0)))
    assert isinstance(found, Params)
    assert found.k == 87.0 and found.n is None and y_bar == 58.0
    np.testing.assert_array_equal(found.w, 12.0 * X)

    content, pullback = jg.vjp(write_line, X[:2], X, np.zeros(3), argnums=0, outs=2)
    np.testing.assert_array_equal(content[0], 2.0 * X**2 + 3.0)
    np.testing.assert_array_equal(pullback(np.ones(3)), [29.0, 3.0])
    np.testing.assert_array_equal(pullback((np.ones(3),)), [29.0, 3.0])

    out, pullback, aux = jg.vjp(lambda x: (x * x, 2.0 * x), 3.0, has_aux=True)
    assert (out, aux, pullback(1.0)) == (9.0, 6.0, (6.0,))


def test_linearize():
    out, f_jvp = jg.linearize(doubled, X)
    for k in range(3):
        np.testing.assert_array_equal(f_jvp(np.eye(3)[k]), 4.0 * X * np.eye(3)[k])
    assert jg.linearize(lambda x: x**3, 2.0)[1](1.0) == 12.0


# ----- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jg.grad(lambda n, x: n * x)(3, 2.0), jg.ArgumentError, r"argument 0 \(n\).* is an integer \(int64\)"),
        (lambda: jg.grad(lambda k: k.sum() * 1.0)(np.arange(3)), jg.ArgumentError, r"integer array .*astype\(float\)"),
        (
            lambda: jg.grad(lambda x: x, "x"),
            jg.ArgumentError,
            "argnums must be an integer or a tuple of integers, not 'x'",
        ),
        (lambda: jg.grad(lambda x: x, True), jg.ArgumentError, "argnums must be an integer"),
        (lambda: jg.grad(lambda x: x, ()), jg.ArgumentError, "argnums must be an integer"),
        (
            lambda: jg.grad(lambda x: x, 1),
            jg.ArgumentError,
            r"argnums 1 is out of range: <lambda> has 1 parameter \(x\)",
        ),
        (lambda: jg.grad(lambda x, y: x, (0, -2)), jg.ArgumentError, "names an argument twice"),
        (lambda: jg.grad(lambda *xs: xs[0], -1), jg.ArgumentError, "counts from the end"),
        (lambda: jg.grad(lambda *xs: xs[0], 1)(1.0), jg.ArgumentError, "argnums names argument 1 of"),
        (
            lambda: jg.grad(scaled_sum, 2)(X, 1.0),
            jg.ArgumentError,
            r"argument 2 \(k\) of scaled_sum was left at its default",
        ),
        (lambda: jg.grad(doubled)(X), jg.ArgumentError, "scalar result.*jacobian or vjp"),
        (lambda: jg.grad(lambda x: 3)(1.0), jg.ArgumentError, r"the result of <lambda> is an integer"),
        (lambda: jg.grad(write_line)(X, X, X), jg.ArgumentError, "returns None"),
        (
            lambda: jg.jvp(doubled, (X,), (np.ones(2),)),
            jg.ShapeError,
            r"tangent of argument 0 \(x\) has shape \(2,\).*\(3,\)",
        ),
        (lambda: jg.jvp(doubled, (X,), (1.0,)), jg.ShapeError, r"has shape \(\)"),
        (lambda: jg.jvp(doubled, (X,), (1j * X,)), jg.ArgumentError, "is complex, but .* is real"),
        (lambda: jg.jvp(doubled, (X,), (None,)), jg.ArgumentError, "is None.*pass zeros"),
        (lambda: jg.jvp(doubled, (X,), ("a",)), jg.ArgumentError, "pass floats"),
        (lambda: jg.jvp(doubled, (X,), (X, X)), jg.ArgumentError, "2 tangents for 1 arguments"),
        (lambda: jg.jvp(doubled, X, X), jg.ArgumentError, "primals must be a tuple"),
        (lambda: jg.jvp(lambda n: n * 1.0, (1,), (1,)), jg.ArgumentError, "no argument of <lambda> holds a float"),
        (
            lambda: jg.jvp(lambda n: n * 1.0, (1,), (1,), argnums=0),
            jg.ArgumentError,
            r"argument 0 \(n\) of <lambda> is an integer",
        ),
        (
            lambda: jg.vjp(doubled, X)[1](np.ones(2)),
            jg.ShapeError,
            r"cotangent has shape \(2,\).*result has shape \(3,\)",
        ),
        (lambda: jg.vjp(doubled, X)[1](None), jg.ArgumentError, "cotangent is None"),
        (lambda: jg.vjp(lambda x: (x, x), 1.0)[1](1.0), jg.ArgumentError, "one entry for each"),
        (lambda: jg.vjp(lambda x: (x, x), 1.0)[1]((1.0,)), jg.ShapeError, "1 entries, but the result has length 2"),
        (
            lambda: jg.vjp(lambda x: (x, (x, X)), 1.0)[1]((1.0, (1.0, X[:2]))),
            jg.ShapeError,
            r"cotangent\[1\]\[1\] has shape",
        ),
        (lambda: jg.vjp(lambda x: x, 1.0, has_aux=True), jg.ArgumentError, "has_aux=True"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_errors_are_of_the_usual_kinds_too():
    assert issubclass(jg.ArgumentError, TypeError)
    assert issubclass(jg.ShapeError, ValueError)


def test_typing_errors_of_the_primal_pass_through():
    with pytest.raises(TypingError, match="No implementation of function"):
        jg.grad(lambda x: x + "a")(1.0)


# ----- callees -------------------------------------------------------------------------------------
@njit
def halving(x, n):
    if n <= 0:
        return math.sin(x)
    return x * halving(x * 0.5, n - 1)


def test_recursive_callees():
    """Called with a literal first, which is another signature than the recursion's own."""

    def top(x):
        return halving(x, 3)

    jg.check_grads(top, (1.0,), order=1)
    assert jg.grad(halving)(1.0, 2) == pytest.approx(math.sin(0.25) + 0.125 * math.cos(0.25))


def test_the_primal_keeps_its_error_model():
    """Though it was compiled because generated code calls it."""
    names = {"np": np}  # a function without a file, so that its Jacobian does not come from the disk cache
    exec("def f(x, n):\n    y = np.empty(2)\n    y[0] = x[0] / n\n    y[1] = x[1]\n    return y\n", names)
    f = njit(names["f"])
    np.testing.assert_array_equal(jg.jacobian(f)(np.ones(2), 2), [[0.5, 0.0], [0.0, 1.0]])
    assert f.signatures  # the Jacobian ran it to learn the shape
    with pytest.raises(ZeroDivisionError):
        f(np.ones(2), 0)
