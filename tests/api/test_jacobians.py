"""jacobian, jacfwd, jacrev, hessian, hvp: structure, modes, mutation."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest
from numba import njit
from numba.typed import List

import jitgrad as jg

Pair = namedtuple("Pair", "a b")
X = np.array([1.0, 2.0, 3.0])
MODES = ("auto", "forward", "reverse")
each_mode = pytest.mark.parametrize("mode", MODES)


@njit
def squares(x):
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = x[i] * x[i]
    return y


@njit
def norm2(x):
    s = 0.0
    for i in range(x.size):
        s += x[i] * x[i]
    return s


@njit
def structured(p, n, w):
    y = np.empty((2, 2))
    for i in range(2):
        for j in range(2):
            y[i, j] = p.a * w[i] * w[j] + p.b * n
    return Pair(p.a * p.b, (n, y))


@each_mode
def test_array_of_array(mode):
    np.testing.assert_array_equal(jg.jacobian(squares, mode=mode)(X), np.diag(2.0 * X))


@each_mode
def test_scalar_of_array(mode):
    np.testing.assert_array_equal(jg.jacobian(norm2, mode=mode)(X), 2.0 * X)


@each_mode
def test_array_of_scalar(mode):
    @njit
    def f(t):
        y = np.empty(2)
        y[0] = t
        y[1] = t * t
        return y

    np.testing.assert_array_equal(jg.jacobian(f, mode=mode)(3.0), [1.0, 6.0])


@each_mode
def test_scalar_of_scalars(mode):
    found = jg.jacobian(lambda a, b: a * b, (0, 1), mode=mode)(2.0, 3.0)
    assert found == (3.0, 2.0)
    assert isinstance(found[0], float)


@each_mode
def test_structure(mode):
    """The structure of the result, in it that of the arguments; integers give None."""
    w = np.array([1.0, 2.0])
    found = jg.jacobian(structured, (0, 2), mode=mode)(Pair(2.0, 3.0), 4, w)
    assert isinstance(found, Pair)
    (by_p, by_w), (none, (y_by_p, y_by_w)) = found
    assert by_p == Pair(3.0, 2.0) and isinstance(by_p, Pair)
    np.testing.assert_array_equal(by_w, [0.0, 0.0])
    assert none is None
    np.testing.assert_array_equal(y_by_p.a, np.outer(w, w))
    np.testing.assert_array_equal(y_by_p.b, np.full((2, 2), 4.0))
    expected = 2.0 * (np.einsum("ik,j->ijk", np.eye(2), w) + np.einsum("jk,i->ijk", np.eye(2), w))
    np.testing.assert_array_equal(y_by_w, expected)
    single = jg.jacobian(structured, 2, mode=mode)(Pair(2.0, 3.0), 4, w)
    np.testing.assert_array_equal(single.b[1], expected)


@each_mode
def test_empty_argument(mode):
    @njit
    def f(x):
        y = np.ones(2)
        for i in range(x.size):
            y[0] += x[i]
        return y

    assert jg.jacobian(f, mode=mode)(np.zeros(0)).shape == (2, 0)
    assert jg.jacobian(squares, mode=mode)(np.zeros(0)).shape == (0, 0)


@each_mode
def test_layouts(mode):
    """Non-contiguous and two-dimensional arguments, in C order."""

    @njit
    def f(x):
        y = np.empty((x.shape[1], x.shape[0]))
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[j, i] = x[i, j] ** 2
        return y.T

    base = np.arange(12.0).reshape(3, 4)
    for x in (base[:2, ::2], np.asfortranarray(base[:2, :2]), base.T[:2, :2]):
        found = jg.jacobian(f, mode=mode)(x)
        expected = np.zeros(x.shape * 2)
        for i in np.ndindex(x.shape):
            expected[i + i] = 2.0 * x[i]
        np.testing.assert_array_equal(found, expected)


@each_mode
def test_zero_dimensional(mode):
    @njit
    def f(x):
        return x[()] * x[()]

    found = jg.jacobian(f, mode=mode)(np.array(3.0))
    assert found.shape == () and found == 6.0


@each_mode
def test_float32(mode):
    @njit
    def f(x):
        y = np.empty(x.size, np.float32)
        for i in range(x.size):
            y[i] = x[i] * x[i]
        return y

    found = jg.jacobian(f, mode=mode)(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.diag(2.0 * X))


@each_mode
def test_complex_numbers_are_pairs(mode):
    np.testing.assert_array_equal(jg.jacobian(lambda z: z * z, mode=mode)(2 + 1j), [[4.0, -2.0], [2.0, 4.0]])

    @njit
    def f(z):
        y = np.empty(z.size, z.dtype)
        for i in range(z.size):
            y[i] = z[i] * z[i]
        return y

    z = np.array([2 + 1j, 1 - 1j])
    found = jg.jacobian(f, mode=mode)(z)
    assert found.shape == (2, 2, 2, 2)
    for i in range(2):
        np.testing.assert_array_equal(
            found[i, :, i, :], [[2 * z[i].real, -2 * z[i].imag], [2 * z[i].imag, 2 * z[i].real]]
        )


@each_mode
def test_functions_that_write_their_arguments(mode):
    @njit
    def f(x, y):
        for i in range(x.size):
            x[i] = x[i] * x[i]
            y[i] += x[i]
        return y

    x, y = X.copy(), np.ones(3)
    by_x, by_y = jg.jacobian(f, (0, 1), mode=mode)(x, y)
    np.testing.assert_array_equal(by_x, np.diag(2.0 * X))
    np.testing.assert_array_equal(by_y, np.eye(3))
    np.testing.assert_array_equal(x, X * X)  # left as one call of f leaves them
    np.testing.assert_array_equal(y, 1.0 + X * X)


@pytest.mark.parametrize("mode", ["forward", pytest.param("reverse", marks=pytest.mark.slow)])
def test_arguments_that_share_written_memory_are_refused(mode):
    @njit
    def f(x, y):
        x[0] = y[1] * 2.0
        return x * y

    d, x = jg.jacobian(f, mode=mode), X.copy()
    with pytest.raises(ValueError, match="x and y of f overlap in memory, and it writes into one; pass a copy"):
        d(x, x)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(d(x, X.copy()), np.diag([0.0, 2.0, 3.0]))


@each_mode
def test_views_of_arguments_that_are_written(mode):
    @njit
    def f(x):
        row = x[0]
        row[0] = row[0] * 3.0
        return x[0, 0] * x[1, 0]

    x = np.array([[2.0], [5.0]])
    np.testing.assert_array_equal(jg.jacobian(f, mode=mode)(x), [[15.0], [6.0]])
    assert x[0, 0] == 6.0


@each_mode
def test_outs(mode):
    @njit
    def f(p, t, out):
        for i in range(t.size):
            out[i] = p[0] * t[i] + p[1]

    out = np.zeros(3)
    (found,) = jg.jacobian(f, outs=(2,), mode=mode)(X[:2], X, out)
    np.testing.assert_array_equal(found, np.stack([X, np.ones(3)], 1))
    np.testing.assert_array_equal(out, X[0] * X + X[1])


@each_mode
def test_star_and_keyword_arguments(mode):
    @njit
    def f(x, *rest):
        return x * rest[0] * rest[1]

    assert jg.jacobian(f, (0, 2), mode=mode)(2.0, 3.0, 5.0) == (15.0, 6.0)

    @njit
    def g(x, k=2.0):
        return k * x

    assert jg.jacobian(g, mode=mode)(1.0) == 2.0
    assert jg.jacobian(g, mode=mode)(1.0, k=5.0) == 5.0


@each_mode
def test_typed_lists(mode):
    @njit
    def f(items, w):
        s = 0.0
        for i in range(len(items)):
            for k in range(items[i].size):
                s += items[i][k] ** 2 * w[i]
        return s

    items = List([np.array([1.0, 2.0]), np.array([3.0])])
    by_items, by_w = jg.jacobian(f, (0, 1), mode=mode)(items, np.array([1.0, 2.0]))
    assert [list(b) for b in by_items] == [[2.0, 4.0], [12.0]]
    np.testing.assert_array_equal(by_w, [5.0, 9.0])


def test_nopython_code_calls_it():
    j = jg.jacobian(squares)

    @njit
    def trace(x):
        m = j(x)
        s = 0.0
        for i in range(m.shape[0]):
            s += m[i, i]
        return s

    assert trace(X) == 12.0


def test_auto_picks_the_cheaper_side():
    """By the types where they tell, else by the sizes at the call."""
    scalars = jg.source(jg.jacobian(lambda a: (a, a * a)), 1.0)
    assert "jacobian_forward" in scalars and "jacobian_reverse" not in scalars
    gradient = jg.source(jg.jacobian(norm2), X)
    assert "jacobian_reverse" in gradient and "jacobian_forward" not in gradient
    both = jg.source(jg.jacobian(squares), X)
    assert "if x.size <= out.size:" in both


def test_hessian():
    np.testing.assert_array_equal(jg.hessian(norm2)(X), 2.0 * np.eye(3))
    assert jg.hessian(lambda a, b: a * a * b, (0, 1))(2.0, 3.0) == ((6.0, 4.0), (4.0, 0.0))

    @njit
    def f(x, t):
        return x[0] ** 2 * x[1] * t

    (xx, xt), (tx, tt) = jg.hessian(f, (0, 1))(np.array([1.0, 3.0]), 2.0)
    np.testing.assert_array_equal(xx, [[12.0, 4.0], [4.0, 0.0]])
    np.testing.assert_array_equal(xt, [6.0, 1.0])
    np.testing.assert_array_equal(tx, [6.0, 1.0])
    assert tt == 0.0


def test_hvp():
    def f(x):
        return x[0] ** 2 * x[1]

    x, v = np.array([1.0, 3.0]), np.array([1.0, -1.0])
    np.testing.assert_array_equal(jg.hvp(f, (x,), (v,)), [4.0, 2.0])
    assert jg.hvp(lambda x: x**3, (2.0,), (1.0,)) == 12.0
    assert jg.hvp(lambda x, y: x**3 * y, (2.0, 1.0), (1.0, 0.0), argnums=(0, 1)) == (12.0, 12.0)


def test_third_derivatives():
    found = jg.jacfwd(jg.hessian(lambda x: x[0] ** 3 * x[1]))(np.array([1.0, 2.0]))
    assert found.shape == (2, 2, 2)
    assert found[0, 0, 0] == 12.0 and found[0, 0, 1] == found[0, 1, 0] == found[1, 0, 0] == 6.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: jg.jacobian(squares, mode="both"),
            jg.ArgumentError,
            "mode must be one of 'auto', 'forward', 'reverse'",
        ),
        (
            lambda: jg.jacobian(squares)(np.arange(3)),
            jg.ArgumentError,
            r"argument 0 \(x\) of squares is an integer array",
        ),
        (lambda: jg.jacobian(lambda x: 3)(1.0), jg.ArgumentError, "holds no float"),
        (lambda: jg.jacobian(squares, outs=1)(X), jg.ArgumentError, r"outs 1 is out of range: squares has 1 parameter"),
        (lambda: jg.jacobian(lambda x, n: x, outs=1)(X, 3), jg.ArgumentError, r"argument 1 \(n\).*not an array"),
        (lambda: jg.hessian(squares)(X), jg.ArgumentError, "scalar result"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
