"""Pooling against loops over windows, its derivatives against differences, ties and NaN."""

import numpy as np
import pytest

import jitgrad
from jitgrad import nn
from tests.nn.checking import check, draw, gradients, keeps_float32
from tests.nn.test_convolution import paddings


def naive(x, size, strides, padding, reduce):
    (top, bottom), (left, right) = paddings(padding, x.shape[1:3], size, strides)
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=np.nan)
    rows = (padded.shape[1] - size[0]) // strides[0] + 1
    columns = (padded.shape[2] - size[1]) // strides[1] + 1
    out = np.empty((len(x), rows, columns, x.shape[3]))
    for r in range(rows):
        for c in range(columns):
            y, z = r * strides[0], c * strides[1]
            out[:, r, c] = reduce(padded[:, y : y + size[0], z : z + size[1]], axis=(1, 2))
    return out


CASES = [
    ((2, 4, 6, 3), (2, 2), (2, 2)),
    ((1, 5, 7, 2), (2, 3), (2, 2)),
    ((1, 5, 5, 1), (3, 3), (1, 1)),
    ((1, 6, 5, 2), (3, 2), (2, 1)),
    ((2, 3, 4, 1), (1, 2), (3, 3)),
]
EACH = pytest.mark.parametrize(("shape", "size", "strides"), CASES)
PADDING = pytest.mark.parametrize("padding", ["SAME", "VALID"])


@EACH
@PADDING
def test_max_pool(shape, size, strides, padding):
    x = draw(*shape)

    def f(x):
        return nn.max_pool(x, ksize=size, strides=strides, padding=padding)

    np.testing.assert_array_equal(f(x), naive(x, size, strides, padding, np.nanmax))
    np.testing.assert_array_equal(f(x - 100), naive(x - 100, size, strides, padding, np.nanmax))
    check(f, x)
    check(lambda x: f(x) ** 3, x, rtol=1e-6)


@EACH
@PADDING
def test_avg_pool(shape, size, strides, padding):
    x = draw(*shape)

    def f(x):
        return nn.avg_pool(x, ksize=size, strides=strides, padding=padding)

    np.testing.assert_allclose(f(x), naive(x, size, strides, padding, np.nanmean), rtol=1e-13)
    check(f, x)
    check(lambda x: f(x) ** 2, x, rtol=1e-6)


def test_max_pool_with_padding_of_its_own():
    x, padding = draw(1, 4, 5, 2), [[0, 0], [1, 0], [2, 1], [0, 0]]
    np.testing.assert_array_equal(nn.max_pool(x, 3, 2, padding), naive(x, (3, 3), (2, 2), padding, np.nanmax))
    check(lambda x: nn.max_pool(x, 3, 2, padding), x)


@pytest.mark.parametrize("f", [nn.max_pool, nn.avg_pool])
def test_float32(f):
    keeps_float32(lambda x: f(x, 2, 2, "SAME"), draw(2, 5, 5, 3))


def test_the_first_of_equals_has_the_derivative():
    x = np.array([[1.0, 3.0, 3.0], [3.0, 0.0, 3.0], [3.0, 3.0, 2.0]]).reshape(1, 3, 3, 1)
    g = gradients(lambda x: nn.max_pool(x, 2, 1, "VALID"), x)[0][0, :, :, 0]
    # windows row by row: (0, 1), (0, 1), (1, 0), (1, 2)
    np.testing.assert_array_equal(g, [[0, 2, 0], [1, 0, 1], [0, 0, 0]])
    g = gradients(lambda x: nn.max_pool(x, 2, 2, "SAME"), np.zeros((1, 3, 3, 1)))[0][0, :, :, 0]
    np.testing.assert_array_equal(g, [[1, 0, 1], [0, 0, 0], [1, 0, 1]])


def test_infinities_and_nan():
    x = np.array([[-np.inf, -np.inf, 1.0, np.nan], [-np.inf, -np.inf, 2.0, np.nan]]).reshape(1, 2, 4, 1)
    np.testing.assert_array_equal(nn.max_pool(x, 2, 2).ravel(), [-np.inf, np.nan])
    np.testing.assert_array_equal(gradients(lambda x: nn.max_pool(x, 2, 2), x)[0].ravel(), [1, 0, 0, 1, 0, 0, 0, 0])


def test_a_recorded_pool_does_not_see_later_writes():
    x = draw(1, 4, 4, 1)
    v = jitgrad.Variable(x)
    with jitgrad.GradientTape() as tape:
        y = nn.max_pool(v, 2, 2)
    v.assign(-x)
    want = gradients(lambda x: nn.max_pool(x, 2, 2), x)[0]
    np.testing.assert_array_equal(tape.gradient(y, v), want)


def test_names_and_windows_as_lists():
    x = draw(1, 4, 5, 2)
    assert nn.max_pool2d is nn.max_pool and nn.avg_pool2d is nn.avg_pool
    want = nn.max_pool(x, (2, 3), 2, "SAME")
    np.testing.assert_array_equal(nn.max_pool(x, [1, 2, 3, 1], [1, 2, 2, 1], "SAME", data_format="NHWC"), want)


def test_errors():
    x = draw(1, 4, 4, 2)
    with pytest.raises(jitgrad.ArgumentError, match="ksize must be a positive integer"):
        nn.max_pool(x, 0, 1, "SAME")
    with pytest.raises(jitgrad.ShapeError, match="the window spans 5 rows, but the input has 4"):
        nn.avg_pool(x, 5, 1, "VALID")
    with pytest.raises(jitgrad.ArgumentError, match="padding must be"):
        nn.avg_pool(x, 2, 2, "FULL")
    with pytest.raises(jitgrad.UnsupportedError, match="padding of avg_pool"):
        nn.avg_pool(x, 2, 2, [[0, 0], [1, 1], [1, 1], [0, 0]])
    with pytest.raises(jitgrad.ArgumentError, match="smaller than the window"):
        nn.max_pool(x, 2, 2, [[0, 0], [2, 0], [0, 0], [0, 0]])
    with pytest.raises(jitgrad.UnsupportedError, match="data_format must be 'NHWC'"):
        nn.max_pool(x, 2, 2, data_format="NCHW")
