"""Adam and its relatives against trajectories of Keras 3.15 and against their definitions."""

import numpy as np
import pytest

from jitgrad.errors import ArgumentError
from jitgrad.optim import Adam, Adamax, AdamW, Lion, Nadam
from tests.optim.problem import after, check_definition

# Keras rounds beta_2 to float32, so its 1 - beta_2 is off by 1e-5.
GOLDEN = {
    "default": (
        lambda: Adam(),
        [0.461632075, -0.273717415, 0.741871665, -0.25809273, 0.504997839, -0.995000137, 2.995000517],
    ),
    "betas": (
        lambda: Adam(0.125, beta_1=0.5, beta_2=0.75),
        [-0.011239661, 0.250825638, 0.217567676, 0.287088133, 0.676280587, -0.381754437, 2.403609341],
    ),
    "epsilon": (
        lambda: Adam(0.125, epsilon=0.5),
        [0.176807823, 0.138398043, 0.418914893, 0.174161875, 0.521930416, -0.908959106, 2.610601845],
    ),
    "amsgrad": (
        lambda: Adam(0.125, amsgrad=True),
        [-0.080789335, 0.29710786, 0.170101109, 0.324913387, 0.783860861, -0.377345349, 2.387504061],
    ),
    "adamw": (
        lambda: AdamW(0.125),
        [-0.081191764, 0.29710695, 0.168983687, 0.324870476, 0.783332143, -0.375483555, 2.380830798],
    ),
    "adamw-decay": (
        lambda: AdamW(0.0625, weight_decay=0.25),
        [0.138809558, 0.038040689, 0.394818668, 0.053799396, 0.731810546, -0.621990264, 2.4750032],
    ),
    "adamax": (
        lambda: Adamax(0.125),
        [0.018603028, 0.20069922, 0.266974799, 0.233308438, 0.778792204, -0.395913432, 2.452685932],
    ),
    "nadam": (
        lambda: Nadam(0.125),
        [0.09115635, 0.127370048, 0.34160497, 0.156398992, 0.709383848, -0.51499437, 2.543875033],
    ),
}


def adam(w, grads, rate, b1=0.9, b2=0.999, eps=1e-7, amsgrad=False, decay=0.0):
    m, v, largest = (np.zeros_like(w) for _ in range(3))
    for t, g in enumerate(grads, 1):
        w = w - w * decay * rate
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        largest = np.maximum(largest, v)
        scale = np.sqrt(largest if amsgrad else v) + eps
        w = w - rate * np.sqrt(1 - b2**t) / (1 - b1**t) * m / scale
    return w


def adamax(w, grads, rate, b1, b2, eps):
    m, u = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(grads, 1):
        m = b1 * m + (1 - b1) * g
        u = np.maximum(b2 * u, np.abs(g))
        w = w - rate * m / ((1 - b1**t) * (u + eps))
    return w


def nadam(w, grads, rate, b1, b2, eps):
    m, v, product = np.zeros_like(w), np.zeros_like(w), 1.0
    for t, g in enumerate(grads, 1):
        now, following = (b1 * (1 - 0.5 * 0.96**k) for k in (t, t + 1))
        product *= now
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        direction = following * m / (1 - product * following) + (1 - now) * g / (1 - product)
        w = w - rate * direction / (np.sqrt(v / (1 - b2**t)) + eps)
    return w


def lion(w, grads, rate, b1=0.9, b2=0.99):
    m = np.zeros_like(w)
    for g in grads:
        w = w - rate * np.sign(b1 * m + (1 - b1) * g)
        m = b2 * m + (1 - b2) * g
    return w


DEFINITIONS = {
    "adam": (lambda: Adam(), lambda w, g: adam(w, g, 0.001)),
    "adam-all": (lambda: Adam(0.1, 0.5, 0.75, 1e-3), lambda w, g: adam(w, g, 0.1, 0.5, 0.75, 1e-3)),
    "amsgrad": (
        lambda: Adam(0.1, beta_2=0.5, amsgrad=True),
        lambda w, g: adam(w, g, 0.1, b2=0.5, amsgrad=True),
    ),
    "adamw": (
        lambda: AdamW(0.1, 0.25, amsgrad=True),
        lambda w, g: adam(w, g, 0.1, amsgrad=True, decay=0.25),
    ),
    "adamax": (lambda: Adamax(0.1, 0.5, 0.75, 1e-3), lambda w, g: adamax(w, g, 0.1, 0.5, 0.75, 1e-3)),
    "nadam": (lambda: Nadam(0.1, 0.5, 0.75, 1e-3), lambda w, g: nadam(w, g, 0.1, 0.5, 0.75, 1e-3)),
    "lion": (lambda: Lion(), lambda w, g: lion(w, g, 0.001)),
    "lion-all": (lambda: Lion(0.1, 0.5, 0.25), lambda w, g: lion(w, g, 0.1, 0.5, 0.25)),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_equals_keras(case):
    make, want = GOLDEN[case]
    np.testing.assert_allclose(after(make()), want, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", DEFINITIONS)
def test_equals_its_definition(case, dtype):
    check_definition(*DEFINITIONS[case], dtype)


def test_first_step_is_the_learning_rate_whatever_the_scale():
    w = np.array([1.0, 1.0])
    Adam(0.1, epsilon=0.0).update([w], [np.array([1e-6, 1e6])])
    np.testing.assert_allclose(w, 0.9, rtol=1e-12)


def test_adamw_needs_a_decay():
    with pytest.raises(ArgumentError, match="weight_decay of AdamW must be a number, not None; use Adam for none"):
        AdamW(weight_decay=None)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Adam(beta_1=1.0), "beta_1 must be at least 0 and below 1"),
        (lambda: Adamax(beta_2=-0.1), "beta_2 must be"),
        (lambda: Nadam(epsilon=-1e-9), "epsilon must be"),
        (lambda: Lion(beta_1=1.1), "beta_1 must be between 0 and 1"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()
