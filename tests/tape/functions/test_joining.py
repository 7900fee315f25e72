"""Joining and splitting: derivatives by tapes against central differences."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

A, B = inputs((2, 3), (1, 3), low=-1.5)
U, V = inputs(3, 3, low=-1.5)
(X,) = inputs((2, 4, 2))
S = np.array(0.7)


@cases(
    {
        "concatenate": (
            lambda a, b: (np.concatenate([a, b, a]), np.concatenate((a, a), axis=-1), np.concat([b, b])),
            A,
            B,
        ),
        "concatenate_flat": (lambda a, b: np.concatenate([a, b], axis=None), A, B),
        "concatenate_plain": (lambda a: np.concatenate([a, np.ones((1, 3)), [[1.0, 2.0, 3.0]]]), A),
        "concatenate_nested": (lambda s, v: np.concatenate([v, [s, 1.0, s * s]]), S, V),
        "concatenate_rows": (np.concatenate, A),
        "stack": (lambda a, b: (np.stack([a, b]), np.stack([a, b, a * b], axis=-1), np.stack((a, b), 1)), U, V),
        "stack_scalars": (lambda s: np.stack([s, 2.0, s * s]), S),
        "hstack": (lambda a, b: (np.hstack([a, b]), np.hstack([a[0], 1.0]), np.hstack([a[:, None], b[:, None]])), U, V),
        "vstack": (lambda a, b: (np.vstack([a, b]), np.vstack([a[None], b])), U, V),
        "dstack": (lambda a, b: (np.dstack([a, b]), np.dstack([a[None], b[None]])), U, V),
        "column_stack": (lambda a, b: np.column_stack([a, b, a[:, None]]), U, V),
        "append": (lambda a, b: (np.append(a, b), np.append(a, b, axis=0), np.append(a, 5.0)), A, B),
        "block": (lambda a, b: np.block([[a, b.T @ b[:, :2]], [np.zeros((1, 3)), b[:, :2]]]), A.T[:, :1] @ B, B),
        "block_flat": (lambda a, b: np.block([a, b, 1.0]), U, V),
        "split": (lambda a: np.split(a, 2, axis=1), X),
        "split_at": (lambda a: np.split(a, [1, 3], axis=1), X),
        "split_beyond": (lambda a: np.split(a, [1, 9], axis=-2), X),
        "split_overlap": (lambda a: np.split(a, [3, 1], axis=1), X),
        "split_some": (lambda a: np.split(a, 4, axis=1)[2], X),
        "array_split": (lambda a: (np.array_split(a, 3), np.array_split(a, 5)), U),
        "hvdsplit": (lambda a: (np.hsplit(a, 2), np.vsplit(a, 2), np.dsplit(a, [1])), X),
        "hsplit_vector": (lambda a: np.hsplit(a, 3), U),
        "unstack": (lambda a: (np.unstack(a, axis=1)[1:], np.unstack(a)[0]), X),
        "empty": (lambda a: (np.concatenate([a, a]), np.stack([a, a]), np.array_split(a, 2)), np.zeros(0)),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


def test_one_of_many_parts_has_zeros_for_the_rest():
    (gradient,) = taped_gradient(lambda a: np.sum(np.split(a, 4, axis=1)[1] * 3.0), [jg.constant(X)])
    expected = np.zeros(X.shape)
    expected[:, 1] = 3
    np.testing.assert_array_equal(gradient, expected)


def test_operands_of_other_types_keep_theirs():
    x = jg.constant([1.0], dtype=np.float32)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.concatenate([x, np.array([2.0]), np.array([3])])
    assert y.dtype == np.float64
    assert tape.gradient(y, x).dtype == np.float32


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.split(x, 3),
        lambda x: np.split(x, 0),
        lambda x: np.array_split(x, -1),
        lambda x: np.vsplit(x, 2),
        lambda x: np.dsplit(x, 2),
        lambda x: np.unstack(x[0]),
    ],
)
def test_numpys_own_errors(call):
    with pytest.raises((ValueError, ZeroDivisionError)):
        call(jg.constant([1.0, 2.0]))


def test_casting_is_refused():
    with pytest.raises(UnsupportedError, match="casting"):
        np.concatenate([jg.constant([1.0])], casting="unsafe")
