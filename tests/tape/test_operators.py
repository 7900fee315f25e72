"""Operators and methods with operands of every kind, and NumPy's two protocols."""

import operator

import numpy as np
import pytest
import scipy.special

import jitgrad as jg
from jitgrad.errors import NoRuleError, UnsupportedError

A = np.array([1.5, -0.5, 2.0])
B = np.array([0.5, 1.5, -2.5])


def both(f, a, b):
    """``[value, gradient in a, gradient in b]`` for variables."""
    v, w = jg.Variable(a), jg.Variable(b)
    with jg.GradientTape() as tape:
        y = f(v, w)
    return [y.numpy(), *(g.numpy() for g in tape.gradient(y, [v, w], unconnected_gradients="zero"))]


BINARY = {
    "+": (lambda x, y: x + y, lambda a, b: (1 + 0 * a, 1 + 0 * b)),
    "-": (lambda x, y: x - y, lambda a, b: (1 + 0 * a, -1 + 0 * b)),
    "*": (lambda x, y: x * y, lambda a, b: (b, a)),
    "/": (lambda x, y: x / y, lambda a, b: (1 / b, -a / b**2)),
    "//": (lambda x, y: x // y, lambda a, b: (0 * a, 0 * b)),
    "%": (lambda x, y: x % y, lambda a, b: (1 + 0 * a, -np.floor(a / b))),
    "**": (lambda x, y: (x * x) ** y, lambda a, b: (2 * b / a * (a * a) ** b, (a * a) ** b * np.log(a * a))),
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name):
    f, derivatives = BINARY[name]
    value, *slopes = both(f, A, B)
    np.testing.assert_array_equal(value, f(A, B))
    np.testing.assert_allclose(slopes, derivatives(A, B), rtol=1e-14)


OTHERS = [2.0, 3, True, np.float64(2.0), np.float32(0.5), np.int64(3), B, B.tolist(), tuple(B), jg.constant(B)]


@pytest.mark.parametrize("other", OTHERS, ids=lambda o: type(o).__name__)
@pytest.mark.parametrize("kind", [jg.Variable, jg.constant])
def test_other_operands_on_either_side(kind, other):
    x, plain = kind(A), other.numpy() if isinstance(other, jg.Tensor) else other
    with jg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        left, right = x * other, other - x
    assert type(left) is type(right) is jg.Tensor
    np.testing.assert_array_equal(left.numpy(), A * np.asarray(plain))
    np.testing.assert_array_equal(tape.gradient(left, x).numpy(), np.broadcast_to(plain, 3))
    np.testing.assert_array_equal(tape.gradient(right, x).numpy(), [-1.0, -1.0, -1.0])


def test_lists_with_values_in_them_are_recorded():
    x = jg.Variable(3.0)
    for f in (lambda c: c * [x * x, x], lambda c: [x * x, x] * c, lambda c: np.multiply([x * x, x], c)):
        with jg.GradientTape() as tape:
            y = f(jg.constant([1.0, 10.0]))
        assert float(tape.gradient(y, x)) == 16.0


def test_matmul_on_either_side():
    x, m = jg.Variable([1.0, 2.0]), np.array([[1.0, 2.0], [3.0, 4.0]])
    with jg.GradientTape(persistent=True) as tape:
        left, right = x @ m, m @ x
    assert tape.gradient(left, x).tolist() == [3.0, 7.0]
    assert tape.gradient(right, x).tolist() == [4.0, 6.0]


def test_comparisons_and_logic_carry_no_node():
    x = jg.Variable(A)
    with jg.GradientTape():
        tests = [x < B, x <= 1.5, x > [0.0, 0.0, 9.0], x >= B, x == A, x != A, ~(x > 0.0), (x > 0.0) & (x < 1.0)]
        tests += [(x > 0.0) | [True, True, True], (x > 0.0) ^ True, x // 1.0 > 0.0]
    assert {t.dtype.kind for t in tests} == {"b"}
    assert all(t.node is None for t in tests)


def test_float32_stays_float32():
    x = jg.Variable(A.astype(np.float32))
    with jg.GradientTape() as tape:
        y = (2.0 * x + 1) / 3 - x**2
    assert (y.dtype, tape.gradient(y, x).dtype) == (np.float32, np.float32)


def test_a_gradient_has_the_dtype_and_shape_of_its_source():
    _, a, b = both(lambda x, y: x * y, np.float32([[2.0]]), B)
    assert (a.dtype, a.shape, b.dtype) == (np.float32, (1, 1), np.float64)
    assert a == pytest.approx(B.sum())


def test_unary_operators_and_methods():
    x = jg.Variable(A)
    with jg.GradientTape(persistent=True) as tape:
        results = [
            -x,
            +x,
            abs(x),
            x.copy(),
            x.sum(),
            x.mean(),
            x.reshape(3, 1).T,
            x.max(),
            x.clip(0.0, 1.8),
            x.cumsum(),
        ]
    expected = [[-1] * 3, [1] * 3, [1, -1, 1], [1] * 3, [1] * 3, [1 / 3] * 3, [1] * 3, [0, 0, 1], [1, 0, 0], [3, 2, 1]]
    for y, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), want)


def test_what_is_no_operand_answers_itself():
    class Other:
        def __radd__(self, left):
            return "other"

    assert jg.constant(1.0) + Other() == "other"
    with pytest.raises(TypeError, match="unsupported operand"):
        jg.constant(1.0) + None


def test_values_are_immutable():
    with pytest.raises(UnsupportedError, match="immutable"):
        jg.constant([1.0])[0] = 2.0


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda x: np.add(x, 1.0, where=np.array([True, False, True])), "where="),
        (lambda x: np.add(x, 1.0, casting="no"), "casting"),
        (lambda x: np.sum(x, out=np.zeros(())), r"with out=: .* write a = np.sum\(...\) without it"),
        (lambda x: np.sin(x, out=np.zeros(3)), r"with out=: .* write a = np.sin\(...\) without it"),
        (lambda x: np.add.reduce(x, out=np.zeros(())), r"write a = np.add.reduce\(...\) without it"),
        (lambda x: operator.imul(np.ones(3), x), r"such as a \+= x would: .* write a = np.multiply\(a, x\)"),
        (lambda x: x * np.array([object()] * 3), "Python objects|unsupported operand"),
    ],
)
def test_what_cannot_be_recorded_is_refused(call, word):
    with pytest.raises((UnsupportedError, TypeError), match=word):
        call(jg.Variable(A))


def test_functions_without_a_rule_say_so():
    with pytest.raises(NoRuleError, match=r"np\.add\.reduceat of tape values has no derivative rule"):
        np.add.reduceat(jg.constant(A), [0])
    with pytest.raises(NoRuleError, match=r"^the ufunc twice .* of tape values has no derivative rule"):
        np.frompyfunc(twice, 1, 1)(jg.constant(A))
    with pytest.raises(NoRuleError, match=r"^scipy\.special\.gammainc of tape values has no derivative rule"):
        scipy.special.gammainc(jg.constant(A), 1.0)


def twice(x):
    return 2 * x


def test_dtype_of_a_ufunc():
    x = jg.Variable(A)
    with jg.GradientTape() as tape:
        y = np.multiply(x, 2.0, dtype="float32")
    assert y.dtype == np.float32
    assert tape.gradient(y, x).tolist() == [2.0, 2.0, 2.0]


def test_methods_of_ufuncs():
    x = jg.Variable(A)
    with jg.GradientTape(persistent=True) as tape:
        y = np.add.reduce(x * x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * A)
