"""Functions element by element that are no ufuncs: derivatives and conventions."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

(M,) = inputs((2, 3), low=-1.5)
U, V = inputs(3, 3, low=-1.5, seed=5)
S = np.array(0.4)


@cases(
    {
        "where": (
            lambda a, b: (np.where(a > 0, a * b, b), np.where(U > 0, a, 2.0), np.where([[True], [False]], 1, b)),
            M,
            V,
        ),
        "clip": (
            lambda a: (np.clip(a, -0.5, 0.9), np.clip(a, -0.5, None), np.clip(a, None, 0.3), np.clip(a, None, None)),
            M,
        ),
        "clip_names": (
            lambda a: (np.clip(a, min=-0.5, max=0.6), np.clip(a, a_min=0.1, a_max=0.6), a.clip(0.1), a.clip(max=0.01)),
            M,
        ),
        "clip_bounds": (lambda a, lo, hi: np.clip(a, lo, lo + 2 * hi * hi), M, V, S),
        "clip_constant": (lambda lo, hi: np.clip(np.linspace(-2, 2, 7), lo, hi), np.array(-0.7), S),
        "nan_to_num": (lambda a: (np.nan_to_num(a), np.nan_to_num(a, nan=3.0)), M),
        "real": (lambda a: (np.real(a), a.real, np.real_if_close(a) if isinstance(a, np.ndarray) else np.real(a)), M),
        "sinc": (lambda a: np.sinc(a), M),
        "unwrap": (lambda a: np.unwrap(5.0 * a), M),
        "full_like": (lambda a, s: (np.full_like(a, s), np.full_like(a, s, shape=(2, 2)), np.full_like(a, a[0])), M, S),
        "linspace": (
            lambda a, b: (np.linspace(a, b, 4), np.linspace(0.0, b, num=3, endpoint=False), np.linspace(a, b, 1)),
            S,
            np.array(2.0),
        ),
        "linspace_arrays": (lambda a, b: (np.linspace(a, b, 4), np.linspace(a, 1.0, 3, axis=-1)), M, V),
        "linspace_step": (lambda a, b: np.linspace(a, b, 5, retstep=True), S, np.array(2.0)),
        "bincount": (lambda w: (np.bincount([0, 2, 0], w), np.bincount([1, 1, 0], weights=w, minlength=4)), U),
        "logspace": (lambda a, b: (np.logspace(a, 0.3 * b, 3), np.logspace(a, 1.0, 4, base=b)), S, np.array(2.0)),
        "vander": (lambda a: (np.vander(a, 3), np.vander(a, increasing=True)), U),
        "frexp": (lambda a: np.frexp(a)[0], 5.0 * M),
        "divmod": (lambda a, b: np.divmod(a, b)[1], *inputs((2, 3), 3)),
        "modf": (lambda a: np.modf(a)[0], 3.0 * M),
        "heaviside": (lambda a, b: np.heaviside([-1.0, 0.0, 2.0], b), U, V),
        "astype": (lambda a: np.astype(a, np.float64), M),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (lambda v: np.clip(v, -1.0, 1.0), [-1.0, 0.0, 1.0], [0.5, 1, 0.5]),
        (lambda v: np.where(v > 0, np.log(v), 0.0), [-1.0, 0.0, 2.0], [0, 0, 0.5]),
        (lambda v: np.clip(np.sqrt(v), 1.0, 9.0), [0.0, 4.0], [0, 0.25]),
        (lambda v: np.nan_to_num(v), [np.nan, np.inf, 2.0], [0, 0, 1]),
        (lambda v: np.round(v) * v, [1.2, -0.6], [1, -1]),
        (lambda v: v.round(1) + v, [1.23], [1]),
        (lambda v: np.fix(v) * v, [1.7, -1.7], [1, -1]),
        (lambda v: np.trunc(v) * np.sign(v) * v, [1.7, -1.7], [1, 1]),
        (lambda v: np.heaviside(v, 0.5) * v, [-1.0, 2.0], [0, 1]),
        (lambda v: np.heaviside(v, v + 0.5), [-1.0, 0.0, 2.0], [0, 1, 0]),
        (lambda v: np.heaviside(v, 0.5), [-1.0, 0.0, 2.0], [0, 0, 0]),
        (lambda v: np.imag(v) + v, [2.0], [1]),
        (lambda v: np.angle(v) + v, [2.0], [1]),
    ],
)
def test_conventions(f, x, expected):
    with np.errstate(all="ignore"):
        (gradient,) = taped_gradient(lambda v: np.sum(f(v)), [jg.constant(x)])
    np.testing.assert_allclose(gradient, expected, atol=1e-15)


def test_where_keeps_single_precision():
    x = jg.constant(M, dtype=np.float32)
    assert np.where(x > 0, x, 0.0).dtype == np.float32
    assert np.clip(x, 0.0, 1.0).dtype == np.float32
    assert np.full_like(x, 2).dtype == np.float32


def test_where_with_one_argument_finds_indices():
    (index,) = np.where(jg.constant([0.0, 2.0, 0.0, 1.0]))
    np.testing.assert_array_equal(index, [1, 3])


@pytest.mark.parametrize(
    "f", [np.real, np.imag, np.angle, lambda z: np.angle(z, deg=True), np.abs, lambda z: np.real(np.conj(z) * 1j)]
)
def test_complex_parts(f):
    z = np.array([1.0 + 2.0j, -0.5 - 1.0j])
    weights = np.array([1.0, -2.0])
    (gradient,) = taped_gradient(lambda v: np.sum(f(v) * weights), [jg.constant(z)])
    for move in (1e-6, 1e-6j):
        slopes = (f(z + move) - f(z - move)) * weights / 2e-6
        np.testing.assert_allclose(np.real(np.conj(np.asarray(gradient)) * (move / 1e-6)), slopes, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: np.clip(x, 0.0, 1.0, np.zeros(2)), UnsupportedError),
        (lambda x: np.clip(x, 0.0, min=1.0), ValueError),
        (lambda x: np.histogram([1, 2], weights=x), UnsupportedError),
        (lambda x: np.histogram(x, weights=x), UnsupportedError),
    ],
)
def test_refused(call, error):
    with pytest.raises(error):
        call(jg.constant([1.0, 2.0]))
