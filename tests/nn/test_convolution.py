"""Convolution against loops that follow TensorFlow's definition, its derivatives against differences."""

import math

import numpy as np
import pytest

import jitgrad
from jitgrad import nn
from tests.nn.checking import check, draw, gradients, keeps_float32


def paddings(padding, shape, extent, strides):
    """Rows and columns of zeros before and after, as TensorFlow documents them."""
    if padding == "VALID":
        return [(0, 0), (0, 0)]
    if padding != "SAME":
        return padding[1:3]
    found = []
    for length, span, step in zip(shape, extent, strides):
        total = max(span - step, 0) if length % step == 0 else max(span - length % step, 0)
        found.append((total // 2, total - total // 2))
    return found


def naive(x, w, strides, padding, dilations=(1, 1)):
    h, v, channels, outputs = w.shape
    extent = ((h - 1) * dilations[0] + 1, (v - 1) * dilations[1] + 1)
    (top, bottom), (left, right) = paddings(padding, x.shape[1:3], extent, strides)
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    rows = (x.shape[1] - extent[0]) // strides[0] + 1
    columns = (x.shape[2] - extent[1]) // strides[1] + 1
    if padding == "SAME":
        assert rows == math.ceil((x.shape[1] - top - bottom) / strides[0])
    out = np.zeros((len(x), rows, columns, outputs))
    for r in range(rows):
        for c in range(columns):
            for a in range(h):
                for b in range(v):
                    pixel = x[:, r * strides[0] + a * dilations[0], c * strides[1] + b * dilations[1]]
                    out[:, r, c] += pixel @ w[a, b]
    return out


EXPLICIT = [[0, 0], [2, 1], [0, 3], [0, 0]]
CASES = [
    ((2, 6, 5, 2), (3, 3, 2, 3), (1, 1), (1, 1)),
    ((1, 5, 7, 1), (2, 3, 1, 2), (2, 1), (1, 1)),
    ((2, 7, 6, 3), (3, 2, 3, 1), (2, 3), (1, 1)),
    ((1, 4, 4, 2), (1, 1, 2, 2), (2, 2), (1, 1)),
    ((1, 4, 5, 2), (2, 2, 2, 2), (3, 3), (1, 1)),
    ((1, 7, 8, 2), (3, 2, 2, 2), (1, 1), (2, 3)),
    ((1, 8, 7, 1), (2, 3, 1, 2), (2, 2), (3, 2)),
]


@pytest.mark.parametrize("padding", ["SAME", "VALID", EXPLICIT], ids=["same", "valid", "explicit"])
@pytest.mark.parametrize(("shape", "window", "strides", "dilations"), CASES)
def test_conv2d(shape, window, strides, dilations, padding):
    x, w = draw(*shape), draw(*window, seed=1)

    def f(x, w):
        return nn.conv2d(x, w, strides=strides, padding=padding, dilations=dilations)

    np.testing.assert_allclose(f(x, w), naive(x, w, strides, padding, dilations), rtol=1e-13, atol=1e-14)
    # Bilinear, so that gradients follow from the dot product alone, without differences.
    y = f(x, w)
    ct, dx, dw = draw(*y.shape, seed=2), draw(*shape, seed=3), draw(*window, seed=4)
    gx, gw = gradients(f, x, w, ct=ct)
    assert np.vdot(gx, dx) == pytest.approx(np.vdot(ct, naive(dx, w, strides, padding, dilations)), rel=1e-11)
    assert np.vdot(gw, dw) == pytest.approx(np.vdot(ct, naive(x, dw, strides, padding, dilations)), rel=1e-11)


@pytest.mark.parametrize(
    ("shape", "window", "strides", "padding", "dilations"),
    [
        ((1, 4, 3, 2), (2, 2, 2, 2), 1, "SAME", None),
        ((2, 4, 4, 1), (3, 2, 1, 2), (2, 1), "VALID", None),
        ((1, 5, 4, 1), (2, 2, 1, 2), 2, "SAME", 2),
        ((1, 3, 3, 1), (2, 2, 1, 1), 1, [[0, 0], [1, 0], [0, 2], [0, 0]], 1),
    ],
)
def test_derivatives_of_two_orders(shape, window, strides, padding, dilations):
    def f(x, w):
        return nn.conv2d(x, w, strides, padding, dilations=dilations) ** 2

    check(f, draw(*shape), draw(*window, seed=1), rtol=1e-6)


def test_third_order():
    x, w = jitgrad.constant(draw(1, 3, 3, 1)), jitgrad.constant(draw(2, 2, 1, 1, seed=1))
    direction = draw(2, 2, 1, 1, seed=2)

    def third(x):
        with jitgrad.GradientTape() as a:
            a.watch(x)
            with jitgrad.GradientTape() as b:
                b.watch(w)
                with jitgrad.GradientTape() as c:
                    c.watch(w)
                    y = np.sum(nn.conv2d(x, w, 1, "SAME") ** 3)
                s = np.sum(c.gradient(y, w) * direction)
            s = np.sum(b.gradient(s, w) * direction)
        return s, a.gradient(s, x)

    # the second derivative of sum((x * w) ** 3) along d is sum(6 (x * w) (x * d) ** 2)
    s, g = third(x)
    one, two = naive(x.numpy(), w.numpy(), (1, 1), "SAME"), naive(x.numpy(), direction, (1, 1), "SAME")
    assert float(s) == pytest.approx(np.sum(6 * one * two**2))
    moved = [float(third(jitgrad.constant(x.numpy() + h * np.ones(x.shape)))[0]) for h in (1e-6, -1e-6)]
    assert np.sum(g.numpy()) == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-7)


def test_float32():
    keeps_float32(lambda x, w: nn.conv2d(x, w, 2, "SAME"), draw(2, 5, 5, 3), draw(3, 3, 3, 2, seed=1))


def test_ways_to_write_strides():
    x, w = draw(1, 5, 6, 1), draw(2, 2, 1, 1)
    want = nn.conv2d(x, w, (2, 3), "SAME")
    np.testing.assert_array_equal(nn.conv2d(x, w, strides=[1, 2, 3, 1], padding="same"), want)
    np.testing.assert_array_equal(nn.conv2d(x, w, [2], "VALID"), nn.conv2d(x, w, 2, "VALID"))


def test_an_empty_batch():
    x, w = np.empty((0, 5, 5, 2)), draw(3, 3, 2, 4)
    assert nn.conv2d(x, w, 1, "SAME").shape == (0, 5, 5, 4)
    gx, gw = gradients(lambda x, w: nn.conv2d(x, w, 1, "SAME"), x, w)
    assert gx.shape == x.shape
    np.testing.assert_array_equal(gw, np.zeros(w.shape))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [1, 2, (2, 3)])
def test_transpose_is_the_gradient_of_conv2d(strides, padding):
    x, w = draw(2, 7, 8, 3), draw(3, 2, 3, 4, seed=1)
    y = nn.conv2d(x, w, strides, padding)
    ct = draw(*y.shape, seed=2)
    got = nn.conv2d_transpose(ct, w, x.shape, strides, padding)
    np.testing.assert_array_equal(got, gradients(lambda x: nn.conv2d(x, w, strides, padding), x, ct=ct)[0])


def test_derivatives_of_the_transpose():
    y, w = draw(1, 2, 2, 2), draw(3, 2, 1, 2, seed=1)
    check(lambda y, w: nn.conv2d_transpose(y, w, (1, 4, 3, 1), 2, "SAME") ** 2, y, w, rtol=1e-6)


def test_errors():
    x, w = draw(1, 4, 4, 2), draw(3, 3, 2, 1)
    with pytest.raises(jitgrad.ShapeError, match="has 2 channels, but the filters .* are for 3"):
        nn.conv2d(x, draw(3, 3, 3, 1), 1, "SAME")
    with pytest.raises(jitgrad.ShapeError, match="spans 5 rows, but the input has 4.*negative"):
        nn.conv2d(x, draw(5, 3, 2, 1), 1, "VALID")
    with pytest.raises(jitgrad.ShapeError, match=r"axes \(n, rows, columns, channels\), not the shape \(4, 4, 2\)"):
        nn.conv2d(x[0], w, 1, "SAME")
    with pytest.raises(jitgrad.ShapeError, match="filters must have four axes"):
        nn.conv2d(x, w[0], 1, "SAME")
    with pytest.raises(jitgrad.ShapeError, match="has no rows or no columns"):
        nn.conv2d(x[:, :0], w, 1, "SAME")
    for padding in ("FULL", None, 1, [[0, 0], [-1, 0], [0, 0], [0, 0]], [[1, 0], [0, 0], [0, 0], [0, 0]]):
        with pytest.raises(jitgrad.ArgumentError, match='padding must be "SAME", "VALID" or'):
            nn.conv2d(x, w, 1, padding)
    for strides in (0, -1, 1.5, (1, 2, 3), "1"):
        with pytest.raises(jitgrad.ArgumentError, match="strides must be a positive integer"):
            nn.conv2d(x, w, strides, "SAME")
    with pytest.raises(jitgrad.UnsupportedError, match="1 along the batch and the channels"):
        nn.conv2d(x, w, (2, 1, 1, 1), "SAME")
    with pytest.raises(jitgrad.UnsupportedError, match="data_format must be 'NHWC'"):
        nn.conv2d(x, w, 1, "SAME", data_format="NCHW")
    with pytest.raises(jitgrad.ShapeError, match=r"gives 3 rows and 3 columns, but .* has 4 and 4"):
        nn.conv2d_transpose(x, draw(2, 2, 1, 2), (1, 5, 6, 1), 2, "SAME")
    with pytest.raises(jitgrad.ShapeError, match="n = 1 and outputs = 1"):
        nn.conv2d_transpose(x, draw(2, 2, 1, 2), (2, 8, 8, 1), 2, "SAME")
