"""Adagrad, Adadelta, RMSprop and Ftrl against trajectories of Keras 3.15 and against their definitions."""

import numpy as np
import pytest

from jitgrad.errors import ArgumentError
from jitgrad.optim import Adadelta, Adagrad, Ftrl, RMSprop
from tests.optim.problem import after, check_definition

GOLDEN = {
    "adagrad-default": (
        lambda: Adagrad(),
        [0.463404462, -0.275488601, 0.743643155, -0.25986353, 0.502714917, -0.996801133, 2.996770693],
    ),
    "adagrad": (
        lambda: Adagrad(0.125),
        [0.153717981, 0.056190555, 0.412489885, 0.081735702, 0.685225268, -0.608063513, 2.628192993],
    ),
    "adadelta-default": (
        lambda: Adadelta(),
        [0.466623821, -0.278709344, 0.746863609, -0.263084768, 0.500007206, -0.999992794, 2.999992794],
    ),
    "adadelta": (
        lambda: Adadelta(0.5),
        [0.463035427, -0.275119645, 0.743273808, -0.259494293, 0.503587931, -0.996397781, 2.996400591],
    ),
    "rmsprop-default": (
        lambda: RMSprop(),
        [0.456029637, -0.268107294, 0.736260957, -0.252478061, 0.510554721, -0.989358989, 2.989375677],
    ),
    "rmsprop-rho": (
        lambda: RMSprop(0.0625, rho=0.75),
        [0.121373924, 0.094685979, 0.374359567, 0.12210235, 0.693148858, -0.559246842, 2.58348336],
    ),
    "rmsprop-momentum": (
        lambda: RMSprop(0.03125, momentum=0.5),
        [0.045507019, 0.177223351, 0.291051015, 0.208954108, 0.709738942, -0.451775554, 2.484859048],
    ),
    "rmsprop-centered": (
        lambda: RMSprop(0.03125, centered=True),
        [0.163642307, 0.043894637, 0.424562868, 0.068491419, 0.691207505, -0.623341649, 2.64457794],
    ),
    "ftrl-default": (
        lambda: Ftrl(),
        [0.44981994, -0.271981316, 0.726055098, -0.256979878, 0.168763113, -0.806624114, 2.944368908],
    ),
    "ftrl": (
        lambda: Ftrl(0.125),
        [0.143583157, 0.057641289, 0.397776497, 0.082681616, 0.522991197, -0.424840085, 2.581752667],
    ),
    "ftrl-l1-l2": (
        lambda: Ftrl(0.125, l1_regularization_strength=0.0625, l2_regularization_strength=0.125),
        [0.142644264, 0.057357088, 0.39640711, 0.082407943, 0.491892618, -0.411229309, 2.577331994],
    ),
}


def adagrad(w, grads, rate, start=0.1, eps=1e-7):
    total = np.full_like(w, start)
    for g in grads:
        total = total + g**2
        w = w - rate * g / np.sqrt(total + eps)
    return w


def adadelta(w, grads, rate, rho=0.95, eps=1e-7):
    square, square_step = np.zeros_like(w), np.zeros_like(w)
    for g in grads:
        square = rho * square + (1 - rho) * g**2
        step = np.sqrt(square_step + eps) / np.sqrt(square + eps) * g
        square_step = rho * square_step + (1 - rho) * step**2
        w = w - rate * step
    return w


def rmsprop(w, grads, rate, rho=0.9, momentum=0.0, eps=1e-7, centered=False):
    square, mean, velocity = (np.zeros_like(w) for _ in range(3))
    for g in grads:
        square = rho * square + (1 - rho) * g**2
        mean = rho * mean + (1 - rho) * g
        velocity = momentum * velocity + rate * g / np.sqrt(square - centered * mean**2 + eps)
        w = w - velocity
    return w


def ftrl(w, grads, rate, power=-0.5, start=0.1, l1=0.0, l2=0.0, shrinkage=0.0, beta=0.0):
    total, linear = np.full_like(w, start), np.zeros_like(w)
    l2 = l2 + beta / (2 * rate)
    for g in grads:
        new = total + g**2
        linear = linear + g + 2 * shrinkage * w - (new**-power - total**-power) / rate * w
        w = (np.clip(linear, -l1, l1) - linear) / (new**-power / rate + 2 * l2)
        total = new
    return w


DEFINITIONS = {
    "adagrad": (lambda: Adagrad(0.1, 0.25, 1e-3), lambda w, g: adagrad(w, g, 0.1, 0.25, 1e-3)),
    "adadelta": (lambda: Adadelta(1.0, 0.5, 1e-3), lambda w, g: adadelta(w, g, 1.0, 0.5, 1e-3)),
    "rmsprop": (lambda: RMSprop(0.1, 0.5, epsilon=1e-3), lambda w, g: rmsprop(w, g, 0.1, 0.5, eps=1e-3)),
    "rmsprop-momentum": (lambda: RMSprop(0.1, 0.5, 0.9), lambda w, g: rmsprop(w, g, 0.1, 0.5, 0.9)),
    "rmsprop-centered": (
        lambda: RMSprop(0.1, 0.5, epsilon=0.1, centered=True),
        lambda w, g: rmsprop(w, g, 0.1, 0.5, eps=0.1, centered=True),
    ),
    "rmsprop-all": (
        lambda: RMSprop(0.1, 0.5, 0.75, 0.1, True),
        lambda w, g: rmsprop(w, g, 0.1, 0.5, 0.75, 0.1, True),
    ),
    "ftrl": (lambda: Ftrl(0.1), lambda w, g: ftrl(w, g, 0.1)),
    "ftrl-all": (
        lambda: Ftrl(0.1, -0.75, 0.25, 0.5, 0.25, 0.125, 0.5),
        lambda w, g: ftrl(w, g, 0.1, -0.75, 0.25, 0.5, 0.25, 0.125, 0.5),
    ),
    "ftrl-fixed-rate": (
        lambda: Ftrl(0.1, learning_rate_power=0.0),
        lambda w, g: ftrl(w, g, 0.1, power=0.0),
    ),
}


@pytest.mark.parametrize("case", GOLDEN)
def test_equals_keras(case):
    make, want = GOLDEN[case]
    np.testing.assert_allclose(after(make()), want, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", DEFINITIONS)
def test_equals_its_definition(case, dtype):
    check_definition(*DEFINITIONS[case], dtype)


def test_ftrl_makes_weights_within_the_penalty_exactly_zero():
    w = np.array([0.5, 0.5])
    optimizer = Ftrl(0.5, initial_accumulator_value=0.0, l1_regularization_strength=1.0)
    for _ in range(20):
        optimizer.update([w], [w - np.array([0.01, 3.0])])
    assert w[0] == 0.0 and w[1] > 1.0


def test_rmsprop_keeps_only_the_slots_it_needs():
    names = ["velocity", "momentum", "average_gradient"]
    for momentum, centered in [(0, False), (0.5, False), (0, True), (0.5, True)]:
        kept = [name for name, k in zip(names, (True, momentum, centered)) if k]
        assert RMSprop(momentum=momentum, centered=centered).get_slot_names() == kept


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Adagrad(initial_accumulator_value=-1.0), "initial_accumulator_value must be at least 0"),
        (lambda: Adadelta(rho=1.5), "rho must be between 0 and 1"),
        (lambda: RMSprop(momentum=-0.5), "momentum must be between 0 and 1"),
        (lambda: Ftrl(learning_rate_power=0.5), "learning_rate_power must be between -inf and 0, not 0.5"),
        (lambda: Ftrl(l1_regularization_strength="much"), "l1_regularization_strength must be a number, not 'much'"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()
