"""Shapes: derivatives by tapes against central differences, and what is refused."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

(X,) = inputs((2, 3, 2))
(V,) = inputs(4, low=-1.5)
(M,) = inputs((2, 3), low=-1.5)
(S,) = inputs((3, 3), low=-1.5)
windows = np.lib.stride_tricks.sliding_window_view


@cases(
    {
        "reshape": (
            lambda a: (np.reshape(a, (3, -1)), np.reshape(a, -1, order="F"), a.reshape(6, 2), a.reshape((4, 3))),
            X,
        ),
        "reshape_a": (lambda a: (np.reshape(a, (3, 2), order="A"), np.ravel(a, "K")), M),
        "reshape_a_fortran": (lambda a: np.reshape(a, (3, 2), order="A"), np.asfortranarray(M)),
        "ravel": (lambda a: (np.ravel(a), np.ravel(a, order="F"), a.flatten(), a.ravel()), M),
        "transpose": (lambda a: (np.transpose(a), np.transpose(a, (1, 0, -1)), a.T, a.transpose(2, 0, 1)), X),
        "swapaxes": (lambda a: (np.swapaxes(a, 0, -1), a.swapaxes(1, 0), a.mT, np.matrix_transpose(a)), X),
        "moveaxis": (lambda a: (np.moveaxis(a, 0, -1), np.moveaxis(a, (0, 1), (-1, 0))), X),
        "rollaxis": (
            lambda a: (np.rollaxis(a, 2), np.rollaxis(a, 0, 3), np.rollaxis(a, -2, 1), np.rollaxis(a, 0, -1)),
            X,
        ),
        "expand_dims": (lambda a: (np.expand_dims(a, 0), np.expand_dims(a, (1, -1))), M),
        "squeeze": (lambda a: (np.squeeze(a), np.squeeze(a, axis=1), np.squeeze(a, (0, -1))), *inputs((1, 1, 3, 1))),
        "broadcast_to": (lambda a: (np.broadcast_to(a, (2, 3)), np.broadcast_to(a, (2, 2, 3))), M[:1]),
        "broadcast_arrays": (lambda a, b: np.broadcast_arrays(a, b, 2.0)[:2], *inputs((2, 1), 3)),
        "meshgrid": (lambda a, b: (*np.meshgrid(a, b), *np.meshgrid(a, b, indexing="ij", sparse=True)), *inputs(2, 3)),
        "tile": (lambda a: (np.tile(a, 2), np.tile(a, (2, 1)), np.tile(a, (2, 1, 2)), np.tile(a, (0, 1))), M),
        "tile_scalar": (lambda a: np.tile(a, 3), np.array(0.7)),
        "repeat": (
            lambda a: (np.repeat(a, 2), np.repeat(a, 2, axis=-1), np.repeat(a, [1, 0, 3], axis=1), a.repeat(2, 0)),
            M,
        ),
        "resize": (lambda a: (np.resize(a, (3, 5)), np.resize(a, 2)), M),
        "flip": (lambda a: (np.flip(a), np.flip(a, -1), np.flip(a, (0, 2)), np.flipud(a), np.fliplr(a)), X),
        "roll": (
            lambda a: (np.roll(a, 2), np.roll(a, -1, axis=1), np.roll(a, (1, 2), axis=(0, -1)), np.roll(a, 1, (0, 1))),
            M,
        ),
        "rot90": (lambda a: (np.rot90(a), np.rot90(a, 2, (1, 2)), np.rot90(a, -1, axes=(0, 2))), X),
        "pad_constant": (
            lambda a: (np.pad(a, 1), np.pad(a, ((1, 0), (2, 1))), np.pad(a, (1, 2), constant_values=3.0)),
            M,
        ),
        "pad_value": (
            lambda a, c: (np.pad(a, 1, constant_values=c), np.pad(a, (0, 2), "constant", constant_values=[c, c * c])),
            M,
            np.array(0.4),
        ),
        "pad_mirrors": (
            lambda a: [np.pad(a, ((0, 1), (2, 2)), m) for m in ("edge", "reflect", "symmetric", "wrap")],
            M,
        ),
        "pad_twice_around": (lambda a: [np.pad(a, 7, mode=m) for m in ("reflect", "wrap", "symmetric")], V),
        "diag": (lambda a: (np.diag(a), np.diag(a, 1), np.diag(a, -2), np.diagflat(a, 1)), V),
        "diag_of_matrix": (lambda a: (np.diag(a), np.diag(a, 1), np.diag(a, k=-1), np.diagflat(a)), M),
        "diagonal": (
            lambda a: (np.diagonal(a), np.diagonal(a, 1, 1, 2), np.diagonal(a, -1, axis1=-1, axis2=0), a.diagonal()),
            X,
        ),
        "trace": (lambda a: (np.trace(a), np.trace(a, 1, 1, 2), a.trace(offset=-1)), X),
        "triangles": (lambda a: (np.tril(a), np.triu(a, 1), np.tril(a, k=-1), np.triu(a, -1)), S),
        "triangles_of_stack": (lambda a: (np.tril(a), np.triu(a)), X),
        "at_least": (
            lambda a, b: (np.atleast_1d(b), np.atleast_2d(a), np.atleast_3d(a), *np.atleast_2d(a, b)),
            V,
            np.array(0.3),
        ),
        "at_least_3d": (np.atleast_3d, M),
        "copies": (lambda a: (np.copy(a), a.copy()), M),
        "along_axis": (
            lambda a: (
                np.apply_along_axis(np.sum, 1, a),
                np.apply_along_axis(lambda v: v[:, None] * v, 0, a),
                np.apply_along_axis(lambda v: np.append(v, v), -1, a),
            ),
            M,
        ),
        "keywords": (
            lambda x: (np.squeeze(a=x), np.tril(k=0, m=x), np.roll(shift=1, a=x), np.reshape(x, shape=-1)),
            M,
        ),
        "windows": (lambda a: (windows(a, 2, axis=1), windows(a, (2, 2))), M),
        "empty": (lambda a: (np.ravel(a), np.tile(a, 2), np.flip(a), np.roll(a, 1), np.pad(a, 1)), np.zeros((0,))),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.tile(a, 2),
        lambda a: np.pad(a, 1),
        lambda a: np.pad(a, 1, "edge"),
        np.diag,
        lambda a: np.repeat(a, 2),
    ],
)
def test_single_precision_stays(f):
    x = jg.constant(V, dtype=np.float32)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.dtype == np.float32
    assert tape.gradient(y, x).dtype == np.float32


def test_arguments_are_copied():
    x, counts, width = jg.constant([1.0, 2.0]), np.array([1, 2]), [[1, 0]]
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(np.repeat(x, counts) ** 2) + np.sum(np.pad(x, width, "edge") ** 2)
    counts[:], width[0][1] = 7, 5
    np.testing.assert_array_equal(tape.gradient(y, x), [6.0, 12.0])


def test_what_broadcast_arrays_made_of_an_array_does_not_change_with_it():
    x, a = jg.constant([1.0, 2.0]), np.array([3.0])
    with jg.GradientTape() as tape:
        tape.watch(x)
        b = np.broadcast_arrays(x, a)[1]
        y = np.sum(x * b)
    a[:] = 100.0
    np.testing.assert_array_equal(tape.gradient(y, x), [3.0, 3.0])


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda x: np.pad(x, 1, "mean"), "concatenate"),
        (lambda x: np.pad(x, 1, "reflect", reflect_type="odd"), "even"),
        (lambda x: np.pad(x, 1, "linear_ramp", end_values=2), "constant"),
        (lambda x: np.reshape(x, 2, copy=False), "copy"),
        (lambda x: np.ravel(jg.constant(M)[:, ::2], "K"), "contiguous"),
        (lambda x: np.copyto(np.zeros(2), x), "writes"),
        (lambda x: np.full(2, x[0], dtype=float), "broadcast_to"),
    ],
)
def test_refused(call, word):
    with pytest.raises(UnsupportedError, match=word):
        call(jg.constant([1.0, 2.0]))


def test_gradient_of_view_of_strided_memory():
    base = np.arange(12.0).reshape(3, 4)
    x = jg.constant(base)
    (gradient,) = taped_gradient(lambda v: np.sum(np.reshape(v.T[::2], -1) ** 2), [x])
    np.testing.assert_array_equal(gradient, 2 * base * [1, 0, 1, 0])
