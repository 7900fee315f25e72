"""The models: shapes, seeds, and gradients against finite differences."""

import numpy as np
import pytest

import jitgrad
from jitgrad import nn

SIDE, CLASSES = 16, 10
EACH = pytest.mark.parametrize("name", nn.MODELS)


def batch(dtype=np.float64, n=6):
    rng = np.random.default_rng(1)
    return rng.random((n, SIDE, SIDE)).astype(dtype), rng.integers(0, CLASSES, n).astype(np.uint8)


def start(name, dtype=np.float64):
    params = nn.MODELS[name].initialize(np.random.default_rng(0), SIDE, CLASSES, dtype)
    # Away from the zeros that biases and the softmax model start from.
    rng = np.random.default_rng(2)
    return tuple((p + 0.05 * rng.normal(size=p.shape)).astype(dtype) for p in params)


@EACH
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept_everywhere(name, dtype):
    model, params, (x, y) = nn.MODELS[name], start(name, dtype), batch(dtype)
    logits = model.logits(params, x)
    assert logits.dtype == dtype and logits.shape == (len(x), CLASSES)
    value, gradient = jitgrad.value_and_grad(model.loss)(params, x, y)
    assert value == pytest.approx(model.loss(params, x, y), rel=1e-6)
    assert isinstance(gradient, tuple)
    assert [(g.dtype, g.shape) for g in gradient] == [(dtype, p.shape) for p in params]


@EACH
def test_seed_determines_the_start(name):
    def draw(seed):
        return nn.MODELS[name].initialize(np.random.default_rng(seed), SIDE, CLASSES, np.float32)

    for one, two in zip(draw(3), draw(3), strict=True):
        assert one.dtype == np.float32 and one.flags.c_contiguous
        np.testing.assert_array_equal(one, two)
    if name != "softmax":
        assert any((one != two).any() for one, two in zip(draw(3), draw(4), strict=True))


@EACH
def test_gradient_equals_finite_differences(name):
    model, params, (x, y) = nn.MODELS[name], start(name), batch()
    _, gradient = jitgrad.value_and_grad(model.loss)(params, x, y)
    rng = np.random.default_rng(3)
    for k in range(len(params)):
        direction = rng.normal(size=params[k].shape)
        h = 1e-6

        def moved(step):
            return model.loss((*params[:k], params[k] + step * direction, *params[k + 1 :]), x, y)

        difference = (moved(h) - moved(-h)) / (2 * h)
        assert np.vdot(gradient[k], direction) == pytest.approx(difference, rel=1e-5, abs=1e-8), f"parameter {k}"


@EACH
def test_gradient_leaves_parameters_and_batch_alone(name):
    model, params, (x, y) = nn.MODELS[name], start(name), batch()
    before = [a.copy() for a in (*params, x, y)]
    jitgrad.value_and_grad(model.loss)(params, x, y)
    for now, then in zip((*params, x, y), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_initial_scales():
    rng = np.random.default_rng(0)
    assert nn.he_normal(rng, (1000, 500)).std() == pytest.approx((2 / 1000) ** 0.5, rel=0.01)
    assert nn.he_normal(rng, (5, 5, 40, 300)).std() == pytest.approx((2 / 1000) ** 0.5, rel=0.01)
    drawn = nn.glorot_uniform(rng, (1000, 500))
    assert abs(drawn).max() <= (6 / 1500) ** 0.5 and drawn.std() == pytest.approx((2 / 1500) ** 0.5, rel=0.01)
