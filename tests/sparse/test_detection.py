"""Detected patterns are those known: of the branch that ran, structural, exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

import jitgrad as jg
from jitgrad.sparse.detection import Detection

X = np.array([0.3, -0.7, 1.1, 2.0, 0.5])


def detected(fun, *args, argnums=(0,)):
    return Detection(fun, argnums, None)(args, {}).toarray().astype(int)


@njit
def grid(u):
    """Two species on a periodic square, each with its four neighbours and the other species."""
    n = u.shape[1]
    out = np.empty_like(u)
    for s in range(2):
        for i in range(n):
            for k in range(n):
                around = u[s, (i - 1) % n, k] + u[s, (i + 1) % n, k] + u[s, i, (k - 1) % n] + u[s, i, (k + 1) % n]
                out[s, i, k] = around + u[s, i, k] ** 2 * u[1 - s, i, k]
    return out


def grid_by_hand(n):
    index = np.arange(2 * n * n).reshape(2, n, n)
    pattern = np.zeros((2 * n * n, 2 * n * n), bool)
    for shift, axis in ((0, 1), (1, 1), (-1, 1), (1, 2), (-1, 2), (1, 0)):
        pattern[index.ravel(), np.roll(index, shift, axis).ravel()] = True
    return pattern


def test_a_grid_is_exact_in_few_sweeps():
    detect = Detection(grid, (0,), None)
    for n in (3, 5, 20):
        pattern = detect((np.ones((2, n, n)),), {})
        np.testing.assert_array_equal(pattern.toarray(), grid_by_hand(n))
    assert detect.sweeps <= 8


def test_a_dense_row_and_a_pattern_wider_than_a_set():
    @njit
    def fun(x):
        out = x * 2.0
        for i in range(x.size):
            out[7] += x[i] * x[0]
        return out

    by_hand = np.eye(300, dtype=bool)
    by_hand[7] = True
    np.testing.assert_array_equal(Detection(fun, (0,), None)((np.ones(300),), {}).toarray(), by_hand)


@njit
def language(x, y, n):
    """Rows: a branch; an array born in a loop, after an overwritten element; a swap of arrays; a cancelled entry; zero
    derivatives; an early end; a view.
    """
    out = np.zeros(7)
    out[0] = x[0] * x[1] if x[0] > 0.0 else x[2]
    out[1] = x[3]
    out[1] = 2.0
    a, b = x[1:].copy(), x[:-1].copy()
    for _ in range(n):
        a, b = b, a
    out[2] = a[0]
    out[3] = (x[4] - x[4]) ** 2
    out[4] = math.floor(x[0]) + jg.stop_gradient(x[1]) + int(x[2])
    s, i = 0.0, 0
    while s < 1.0:
        s += x[i] ** 2
        i += 1
    out[5] = s
    view = out[5:]
    view[1] = y[0] * x[4]
    for _ in range(n):
        late = a * 1.0
        a = late + view[1]
    out[1] = late[3]
    return out


def test_the_language():
    found = detected(language, X, np.ones(2), 3, argnums=(0, 1))
    by_hand = [
        [1, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 1, 0],
        [1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0],
    ]
    np.testing.assert_array_equal(found, by_hand)


@njit
def moves(x):
    return np.concatenate((np.roll(x, 1)[:2], np.sort(x)[:1], x[x > 1.0], np.where(x[:1] > 0.0, x[1:2], x[4:])))


@pytest.mark.slow
def test_functions_that_move_elements():
    rows = [[4], [0], [1], [2], [3], [1, 4]]
    by_hand = np.array([[j in row for j in range(5)] for row in rows]).astype(int)
    np.testing.assert_array_equal(detected(moves, X), by_hand)


@njit
def products(a, b):
    bins = np.bincount(np.array([1, 0, 1]), b)
    return a @ b, np.cumsum(b), np.sum(a, axis=1), np.linalg.norm(b[:2]), bins, np.interp(b[:2], b, a[0])


@pytest.mark.slow
def test_functions_of_whole_arrays():
    a = np.zeros((2, 3))
    found = detected(products, a, np.ones(3), argnums=(0, 1))
    row = np.kron(np.eye(2), np.ones(3))
    by_hand = np.vstack(
        [
            np.hstack([row, np.ones((2, 3))]),
            np.hstack([np.zeros((3, 6)), np.tri(3)]),
            np.hstack([row, np.zeros((2, 3))]),
            [[0, 0, 0, 0, 0, 0, 1, 1, 0]],
            [[0, 0, 0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 1, 0, 1]],
            np.repeat([[1, 1, 1, 0, 0, 0, 1, 1, 1]], 2, axis=0),
        ]
    )
    np.testing.assert_array_equal(found, by_hand)


@njit
def upwind(u, v):
    out = np.zeros(u.size)
    for i in range(1, u.size - 1):
        out[i] = v * (u[i] - u[i - 1]) ** 2 if v > 0.0 else v * (u[i + 1] - u[i])
    return out


def upwind_by_hand(u, v):
    steps = np.arange(1, u.size - 1)
    matrix = np.zeros((u.size, u.size))
    matrix[steps, steps] = 2.0 * v * (u[steps] - u[steps - 1]) if v > 0.0 else -v
    matrix[steps, steps - 1 if v > 0.0 else steps + 1] = -matrix[steps, steps]
    return matrix


def test_another_branch_and_another_shape_are_detected_again():
    derivative = jg.jacobian(upwind, sparsity="detect")
    for u, v, entries in ((X, 1.0, 6), (X, -1.0, 9), (X, 1.0, 9), (X[:4], 1.0, 4)):
        np.testing.assert_allclose(derivative(u, v).toarray(), upwind_by_hand(u, v), rtol=1e-14)
        assert derivative.pattern.nnz == entries


def test_the_generated_code_reads_like_forward_mode():
    source = jg.source(jg.sparse.sets_of(upwind), (np.zeros(5, np.uint64),), X, 1.0)
    assert "out_dot = np.zeros_like(out, np.uint64)" in source
    assert "t_2_dot = " in source


def test_no_columns_and_no_rows():
    assert Detection(upwind, (0,), None)((np.zeros(0), 1.0), {}).shape == (0, 0)


def test_what_is_not_followed_is_refused():
    particle = np.dtype([("mass", np.float64)])

    @njit
    def masses(p):
        return p[0].mass * np.ones(2)

    with pytest.raises(jg.UnsupportedError, match="detection does not follow structured arrays .* pass the pattern"):
        jg.sparse.sets_of(masses)((np.ones(2, particle),), np.ones(2, particle))
