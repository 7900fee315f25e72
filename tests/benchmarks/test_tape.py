"""What the benchmark of the tape compares computes the same."""

from __future__ import annotations

import numpy as np

import jitgrad
from benchmarks.tape import RATE, by_hand, chain


def test_chain():
    x = np.array([0.1, 0.2, 0.3])
    expected = np.sin(x) + x * np.cos(x)
    np.testing.assert_allclose(chain(2)().numpy(), expected)


def test_step():
    generator = np.random.default_rng(3)
    images, labels = generator.random((6, 8)), np.eye(4)[[0, 3, 1, 2, 2, 0]]
    weights, bias = generator.normal(size=(8, 4)), generator.normal(size=4)
    w, b = jitgrad.Variable(weights), jitgrad.Variable(bias)
    with jitgrad.GradientTape() as tape:
        loss = np.mean(jitgrad.nn.softmax_cross_entropy_with_logits(labels=labels, logits=images @ w + b))
    slope_w, slope_b = tape.gradient(loss, [w, b])
    np.testing.assert_allclose(by_hand(weights, bias, images, labels), float(loss))
    np.testing.assert_allclose(weights, w.assign_sub(RATE * slope_w).numpy())
    np.testing.assert_allclose(bias, b.assign_sub(RATE * slope_b).numpy())
