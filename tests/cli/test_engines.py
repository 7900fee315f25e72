"""Both engines take the same steps, to rounding."""

import numpy as np
import pytest

from jitgrad.cli.engines import ENGINES
from jitgrad.cli.training import Run, Settings, train
from jitgrad.data import load_mnist
from jitgrad.nn.models import MODELS
from jitgrad.tape import Variable

STEPS = 4
TOLERANCE = {"float32": 2e-5, "float64": 1e-13}


def follow(data, **settings):
    """The sums of losses after each of some steps, and the weights after all."""
    run = Run.start(Settings(**settings), len(data.train_images))
    losses = []
    train(run, data, lambda run: losses.append(run.loss_sum), stop=lambda: len(losses) == STEPS)
    return losses, run.arrays


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("model", "optimizer"), [("softmax", "ftrl"), ("mlp", "sgd"), ("cnn", "adamax")])
def test_engines_agree(model, optimizer, dtype, digits):
    data = load_mnist(digits)
    settings = {"model": model, "optimizer": optimizer, "dtype": dtype, "batch_size": 20}
    (losses, weights), (others, same) = (follow(data, engine=engine, **settings) for engine in ENGINES)
    assert losses[-1] / STEPS != losses[0]
    np.testing.assert_allclose(losses, others, rtol=TOLERANCE[dtype])
    for one, other in zip(weights, same, strict=True):
        assert one.dtype == other.dtype == dtype
        # An element whose gradient is rounding noise may have any sign in an optimizer that looks at signs.
        np.testing.assert_allclose(one, other, atol=100 * TOLERANCE[dtype])


@pytest.mark.parametrize("model", MODELS)
def test_gradients_agree(model, digits):
    data = load_mnist(digits)
    images, labels = data.train_images[:5] / 255.0, data.train_labels[:5]
    generator = np.random.default_rng(1)
    arrays = [a + generator.normal(0, 0.05, a.shape) for a in MODELS[model].initialize(generator, 28, 10, np.float64)]
    results = []
    for engine in ENGINES.values():
        loss, gradient = engine.differentiate(model)(tuple(map(engine.parameter, arrays)), images, labels)
        assert isinstance(loss, float)
        results.append([loss, *map(np.asarray, gradient)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-13)


def test_the_tape_updates_variables(digits):
    run = Run.start(Settings(model="softmax", engine="tape", epochs=1), 330)
    before = run.params
    train(run, load_mnist(digits))
    assert all(isinstance(param, Variable) for param in run.params) and run.params is before
    assert np.any(run.arrays[0])
