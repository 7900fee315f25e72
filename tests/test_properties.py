"""Laws that every derivative obeys, on random data and random small programs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit

import jitgrad

# Compilation happens in the first example, so a deadline per example would measure that.
settings.register_profile("compiled", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("compiled")

SIZE = 4
numbers = st.floats(-2.0, 2.0, allow_subnormal=False, width=32)
vectors = arrays(np.float64, SIZE, elements=numbers)
sizes = st.integers(0, 6)


@njit
def vector_map(x):
    """A vector of another size, by loops and writes in place."""
    a = x.copy()
    for _ in range(2):
        for i in range(1, a.size):
            a[i] += math.sin(a[i - 1]) * a[i]
    out = np.zeros(3)
    for i in range(a.size):
        out[i % 3] += a[i] * math.tanh(a[i])
    return out


@njit
def outer_map(y):
    s = np.empty(2)
    s[0] = y[0] * y[1] + math.cos(y[2])
    s[1] = math.exp(-y[0] * y[0]) * y[2]
    return s


@njit
def composed(x):
    return outer_map(vector_map(x))


@njit
def scalar_map(x):
    y = vector_map(x)
    return y[0] * y[1] + math.sin(y[2])


@njit
def another_scalar_map(x):
    s = 1.0
    for v in x:
        if v > 0.25:
            s *= 1.0 + 0.1 * v
        else:
            s += v * v
    return s


@njit
def weighted_sum(x, alpha, beta):
    return alpha * scalar_map(x) + beta * another_scalar_map(x)


@njit
def product(x):
    return scalar_map(x) * another_scalar_map(x)


@njit
def quotient(x):
    return scalar_map(x) / (2.0 + another_scalar_map(x) ** 2)


def push(function, x, t):
    return jitgrad.jvp(function, (x,), (t,))[1]


def pull(function, x, ct):
    return jitgrad.vjp(function, x)[1](ct)[0]


def close(got, want, scale=1.0):
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10 * max(1.0, float(np.max(np.abs(scale)))))


@given(vectors, vectors, vectors, numbers, numbers)
def test_forward_is_linear(x, s, t, alpha, beta):
    got = push(vector_map, x, alpha * s + beta * t)
    one, other = push(vector_map, x, s), push(vector_map, x, t)
    close(got, alpha * one + beta * other, np.abs(one) + np.abs(other))


@given(vectors, arrays(np.float64, 3, elements=numbers), arrays(np.float64, 3, elements=numbers), numbers)
def test_reverse_is_linear(x, u, v, alpha):
    got = pull(vector_map, x, alpha * u + v)
    one, other = pull(vector_map, x, u), pull(vector_map, x, v)
    close(got, alpha * one + other, np.abs(one) + np.abs(other))


@given(vectors, vectors, arrays(np.float64, 3, elements=numbers))
def test_forward_and_reverse_are_adjoint(x, t, ct):
    """The product ``ct . J t`` is the same in both orders."""
    forward, reverse = push(vector_map, x, t), pull(vector_map, x, ct)
    close(ct @ forward, reverse @ t, np.abs(ct) @ np.abs(forward) + np.abs(reverse) @ np.abs(t))


@given(vectors, vectors)
def test_chain_rule(x, t):
    inner = push(vector_map, x, t)
    close(push(composed, x, t), push(outer_map, vector_map(x), inner), inner)
    ct = np.array([0.7, -1.3])
    middle = pull(outer_map, vector_map(x), ct)
    close(pull(composed, x, ct), pull(vector_map, x, middle), middle)


@given(vectors, numbers, numbers)
def test_sum_rule(x, alpha, beta):
    one, other = jitgrad.grad(scalar_map)(x), jitgrad.grad(another_scalar_map)(x)
    close(jitgrad.grad(weighted_sum)(x, alpha, beta), alpha * one + beta * other, np.abs(one) + np.abs(other))


@given(vectors)
def test_product_and_quotient_rules(x):
    f, g = scalar_map(x), another_scalar_map(x)
    df, dg = jitgrad.grad(scalar_map)(x), jitgrad.grad(another_scalar_map)(x)
    scale = np.abs(f * dg) + np.abs(g * df)
    close(jitgrad.grad(product)(x), f * dg + g * df, scale)
    h = 2.0 + g * g
    close(jitgrad.grad(quotient)(x), df / h - f * 2.0 * g * dg / h**2, scale)


@given(vectors)
def test_jacobian_modes_agree(x):
    forward, reverse = jitgrad.jacfwd(vector_map)(x), jitgrad.jacrev(vector_map)(x)
    assert forward.shape == reverse.shape == (3, SIZE)
    close(forward, reverse, forward)


@settings(max_examples=15)
@given(vectors, vectors)
def test_hessian_is_symmetric(x, t):
    hessian = jitgrad.hessian(scalar_map)(x)
    close(hessian, hessian.T, hessian)
    _, product_ = jitgrad.jvp(jitgrad.grad(scalar_map), (x,), (t,))
    close(product_, hessian @ t, np.abs(hessian) @ np.abs(t))


@njit
def polynomial(c, x):
    y = 0.0
    for k in range(c.size - 1, -1, -1):
        y = y * x + c[k]
    return y


@given(st.data(), sizes)
def test_polynomials_by_hand(data, size):
    """Loops of any length, none included: the derivatives of Horner's rule are known."""
    c = data.draw(arrays(np.float64, size, elements=numbers))
    x = data.draw(numbers)
    by_c, by_x = jitgrad.grad(polynomial, argnums=(0, 1))(c, x)
    powers = np.array([x**k for k in range(size)])
    close(by_c, powers)
    want = sum(k * c[k] * x ** (k - 1) for k in range(1, size))
    assert by_x == pytest.approx(want, rel=1e-9, abs=1e-9 * 2.0**size)


@njit
def rotated(x, shift):
    n = x.size
    y = np.empty(n)
    for i in range(n):
        y[i] = x[(i + shift) % n] * (i + 1.0)
    return y


@given(vectors, vectors, st.integers(-5, 5))
def test_a_permutation_is_its_own_derivative(x, t, shift):
    close(push(lambda_of(shift), x, t), rotated(t, shift))
    ct = np.arange(1.0, SIZE + 1.0)
    want = np.zeros(SIZE)
    for i in range(SIZE):
        want[(i + shift) % SIZE] += ct[i] * (i + 1.0)
    close(pull(lambda_of(shift), x, ct), want)


_rotations: dict = {}


def lambda_of(shift: int):
    """A closure per shift: derivatives of two closures must not be confused."""
    if shift not in _rotations:

        @njit
        def rotation(x):
            return rotated(x, shift)

        _rotations[shift] = rotation
    return _rotations[shift]
