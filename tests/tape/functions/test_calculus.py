"""Differences, interpolation, convolution: derivatives by tapes against central differences."""

import numpy as np
import pytest

import jitgrad as jg
from tests.tape.functions.derivatives import cases, check, inputs, taped_gradient

(M,) = inputs((4, 5), low=-1.5)
U, V, W = inputs(5, 3, 4, low=-1.5)
KNOTS = np.array([0.0, 0.5, 1.1, 2.0])
AT = np.array([[0.3, 0.7, 1.9], [-0.4, 2.6, 1.2]])
STEPS = np.array([0.0, 0.5, 1.1, 2.0, 2.2])


@cases(
    {
        "diff": (
            lambda a: (np.diff(a), np.diff(a, axis=0), np.diff(a, n=2), np.diff(a, n=3, axis=-2), np.diff(a, 0)),
            M,
        ),
        "diff_ends": (lambda a, p: (np.diff(a, prepend=p, append=1.0), np.diff(a, 2, 0, a[:1])), M, np.array(0.3)),
        "ediff1d": (lambda a: (np.ediff1d(a), np.ediff1d(a, to_begin=2.0, to_end=[1.0, 3.0])), M),
        "ediff1d_tape": (lambda a, e: np.ediff1d(a, to_end=e), U, np.array(0.4)),
        "gradient": (np.gradient, M),
        "gradient_spacing": (lambda a: (np.gradient(a, 0.3), np.gradient(a, 0.3, 2.0), np.gradient(a, 0.3, axis=1)), M),
        "gradient_coordinates": (lambda a: (np.gradient(a, STEPS, axis=1), np.gradient(a, KNOTS, STEPS)), M),
        "gradient_edges": (lambda a: (np.gradient(a, edge_order=2), np.gradient(a, STEPS, axis=-1, edge_order=2)), M),
        "gradient_in_coordinates": (lambda a, x: np.gradient(a, np.cumsum(x), edge_order=2), *inputs(5, 5)),
        "gradient_axes": (lambda a: np.gradient(a, axis=(1, 0)), M),
        "trapezoid": (lambda a: (np.trapezoid(a), np.trapezoid(a, dx=0.3, axis=0), np.trapezoid(a, STEPS)), M),
        "trapezoid_in_coordinates": (lambda a, x: np.trapezoid(a, np.cumsum(x), axis=0), M, *inputs(4)),
        "trapezoid_of_coordinates": (lambda x: np.trapezoid(np.ones(4), x), W),
        "interp": (lambda x, f: np.interp(x, KNOTS, f), AT, W),
        "interp_knots": (lambda x, k, f: np.interp(x, np.cumsum(k), f), AT, *inputs(4, 4)),
        "interp_ends": (
            lambda x, f: (np.interp(x, KNOTS, f, left=-1.0), np.interp(x, KNOTS, f, right=f[0] ** 2)),
            AT,
            W,
        ),
        "interp_period": (lambda x, f: np.interp(x, [0.8, 5.2, 1.15, 2.2], f, period=2.5), AT, W),
        "interp_scalar": (lambda x, f: np.interp(x, KNOTS, f), np.array(0.6), W),
        "interp_one_knot": (lambda x, f: np.interp(x, [0.5], f), AT, W[:1]),
        "convolve": (lambda a, b: [np.convolve(a, b, m) for m in ("full", "same", "valid")], U, V),
        "convolve_short_first": (lambda a, b: [np.convolve(a, b, m) for m in ("full", "same", "valid")], V, W),
        "convolve_even": (lambda a, b: [np.convolve(a, b, m) for m in ("full", "same", "valid")], U, W),
        "correlate": (lambda a, b: [np.correlate(a, b, m) for m in ("full", "same", "valid")], U, V),
        "correlate_short_first": (lambda a, b: [np.correlate(a, b, m) for m in ("full", "same", "valid")], V, W),
        "correlate_even": (lambda a, b: [np.correlate(a, b, m) for m in ("full", "same", "valid")], W, U),
        "convolve_ones": (lambda a, b: np.convolve(a, b[0]), U, V),
        "polyval": (lambda p, x: (np.polyval(p, x), np.polyval([1.0, 2.0], x), np.polyval(p, 0.5)), V, U),
    }
)
def test_derivatives(f, xs):
    check(f, xs)


def test_interpolation_at_knots_and_outside():
    x, f = jg.constant([0.0, 0.5, 2.0, 3.0, -1.0]), jg.constant(W)
    with jg.GradientTape() as tape:
        tape.watch([x, f])
        y = np.interp(x, KNOTS, f)
    in_x, in_f = tape.gradient(y, [x, f])
    right = np.diff(W) / np.diff(KNOTS)
    np.testing.assert_allclose(in_x, [right[0], right[1], 0, 0, 0])  # the piece on the right
    np.testing.assert_allclose(in_f, [2, 1, 0, 2])


def test_interpolation_of_nan_is_nan():
    assert np.isnan(float(np.interp(jg.constant(np.nan), KNOTS, W)))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("function", [np.convolve, np.correlate])
def test_complex(function, mode):
    a, b = U[:4] + 1j * W, V - 0.5j
    z, w = jg.constant(a), jg.constant(b)
    with jg.GradientTape() as tape:
        tape.watch([z, w])
        y = function(z, w, mode)
        total = np.sum(np.real(y * np.conj(y)))
    np.testing.assert_allclose(y, function(a, b, mode))
    gradients = tape.gradient(total, [z, w])
    rng = np.random.default_rng(1)
    for k in range(2):
        move = rng.normal(size=(a, b)[k].shape) + 1j * rng.normal(size=(a, b)[k].shape)

        def at(t):
            moved = [a, b]
            moved[k] = moved[k] + t * move
            return np.sum(np.abs(function(*moved, mode)) ** 2)

        slope = (at(1e-5) - at(-1e-5)) / 2e-5
        assert np.sum(np.real(np.conj(np.asarray(gradients[k])) * move)) == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize(
    "f", [np.diff, np.gradient, np.trapezoid, lambda a: np.convolve(a, a), lambda a: np.ediff1d(a, to_end=1.0)]
)
def test_single_precision_stays(f):
    x = jg.constant(U, dtype=np.float32)
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.dtype == f(U.astype(np.float32)).dtype == np.float32
    assert tape.gradient(y, x).dtype == np.float32


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.diff(x, -1),
        lambda x: np.gradient(x[:1]),
        lambda x: np.gradient(x, [1.0, 2.0]),
        lambda x: np.gradient(x, edge_order=3),
        lambda x: np.interp(x, [0.0, 1.0], [1.0]),
        lambda x: np.convolve(x, x, "some"),
    ],
)
def test_numpys_own_errors(call):
    with pytest.raises(ValueError):
        call(jg.constant(U))


def test_linear_functions_agree_with_their_transposes():
    rng = np.random.default_rng(0)
    for f in (
        np.gradient,
        np.diff,
        lambda a: np.interp(AT.ravel(), np.arange(5.0), a),
        lambda a: np.convolve(a, V, "same"),
    ):
        x, seed = rng.normal(size=5), rng.normal(size=f(U).shape)
        (pulled,) = taped_gradient(lambda a: np.sum(f(a) * seed), [jg.constant(U)])
        assert np.sum(np.asarray(pulled) * x) == pytest.approx(np.sum(f(x) * seed), rel=1e-12)
