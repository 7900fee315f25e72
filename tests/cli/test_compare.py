"""The record of one optimizer in a comparison."""

import numpy as np
import pytest

from jitgrad.cli.compare import Outcome, follow, ranked, subset
from jitgrad.cli.training import Run, Scores, Settings, train
from jitgrad.data import load_mnist


def test_follow_keeps_what_a_training_does(digits):
    data = load_mnist(digits)
    settings = Settings(model="softmax", epochs=2, batch_size=100)
    calls = []
    outcome = follow(settings, data, lambda: calls.append(None))
    run = Run.start(settings, 330)
    train(run, data)
    assert outcome.history == run.history and not outcome.diverged
    assert len(outcome.losses) == len(calls) == 8
    sizes = [100, 100, 100, 30]
    for epoch, scores in enumerate(run.history):
        assert scores.train_loss == pytest.approx(np.average(outcome.losses[4 * epoch :][:4], weights=sizes))
    assert outcome.seconds > 0


def test_follow_that_is_stopped_has_no_outcome(digits):
    calls = []
    settings = Settings(model="softmax", epochs=2)
    assert follow(settings, load_mnist(digits), lambda: calls.append(None), lambda: len(calls) == 3) is None
    assert len(calls) == 3


def test_divergence_is_an_outcome(digits):
    settings = Settings(optimizer="sgd", learning_rate=1e30, epochs=2)
    with np.errstate(all="ignore"):
        outcome = follow(settings, load_mnist(digits))
    assert outcome.diverged and np.isfinite(outcome.losses).all()


def test_ranked_by_training_loss():
    good, bad = Outcome(Settings(), history=[Scores(1.0, 0, 9.0, 0)]), Outcome(Settings(), history=[Scores(2, 1, 0, 1)])
    lost = Outcome(Settings(), history=[Scores(0.5, 0, 0, 0)], diverged=True)
    assert ranked([lost, bad, good]) == [good, bad, lost]


def test_subset(digits):
    data = load_mnist(digits)
    part = subset(data, 7)
    np.testing.assert_array_equal(part.train_images, data.train_images[:7])
    assert len(part.train_labels) == 7 and len(part.test_labels) == 100
    assert len(subset(data, None).train_labels) == 330
