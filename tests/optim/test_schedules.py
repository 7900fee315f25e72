"""Schedules against the formulas of their papers, at known points and on grids."""

import math

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError
from jitgrad.optim import SGD
from jitgrad.optim.schedules import (
    CosineDecay,
    CosineDecayRestarts,
    ExponentialDecay,
    InverseTimeDecay,
    LearningRateSchedule,
    PiecewiseConstantDecay,
    PolynomialDecay,
)

STEPS = [0, 1, 3, 9, 10, 11, 25, 30, 99]


def rates(schedule, steps=STEPS):
    return [schedule(step) for step in steps]


def test_exponential_decay():
    np.testing.assert_allclose(rates(ExponentialDecay(0.5, 10, 0.9)), [0.5 * 0.9 ** (s / 10) for s in STEPS])
    stairs = ExponentialDecay(0.5, 10, 0.9, staircase=True)
    np.testing.assert_allclose(rates(stairs), [0.5 * 0.9 ** (s // 10) for s in STEPS])


def test_inverse_time_decay():
    np.testing.assert_allclose(rates(InverseTimeDecay(0.5, 10, 0.9)), [0.5 / (1 + 0.9 * s / 10) for s in STEPS])
    stairs = InverseTimeDecay(0.5, 10, 0.9, staircase=True)
    np.testing.assert_allclose(rates(stairs), [0.5 / (1 + 0.9 * (s // 10)) for s in STEPS])


def test_piecewise_constant_decay():
    schedule = PiecewiseConstantDecay([3, 10], [1.0, 0.5, 0.25])
    assert rates(schedule) == [1.0, 1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25]


def test_polynomial_decay():
    def want(step):
        return (0.5 - 0.1) * (1 - min(step, 10) / 10) ** 2 + 0.1

    np.testing.assert_allclose(rates(PolynomialDecay(0.5, 10, 0.1, power=2.0)), [want(s) for s in STEPS])
    assert PolynomialDecay(0.5, 10)(10) == 0.0001


def test_polynomial_decay_in_cycles():
    schedule = PolynomialDecay(0.5, 10, 0.1, cycle=True)
    np.testing.assert_allclose(rates(schedule, [0, 5, 10, 15, 20]), [0.5, 0.3, 0.1, 0.2, 0.1])


def test_cosine_decay():
    def want(step):
        return 0.5 * ((1 - 0.2) * 0.5 * (1 + math.cos(math.pi * min(step, 10) / 10)) + 0.2)

    np.testing.assert_allclose(rates(CosineDecay(0.5, 10, alpha=0.2)), [want(s) for s in STEPS])


def test_cosine_decay_with_warmup():
    schedule = CosineDecay(0.1, 10, alpha=0.2, warmup_target=0.5, warmup_steps=4)
    np.testing.assert_allclose(rates(schedule, [0, 1, 3, 4, 9, 14, 99]), [0.1, 0.2, 0.4, 0.5, 0.3, 0.1, 0.1])
    # Without a target there is no rise.
    assert CosineDecay(0.5, 10, warmup_steps=4)(0) == 0.5


def test_cosine_decay_restarts():
    schedule = CosineDecayRestarts(0.5, 10, m_mul=0.5)
    # Restarts at 10 and at 30, halves of the waves at 5, 20 and 50.
    np.testing.assert_allclose(rates(schedule, [0, 5, 10, 20, 30, 50]), [0.5, 0.25, 0.25, 0.125, 0.125, 0.0625])
    steady = CosineDecayRestarts(0.5, 10, t_mul=1.0, alpha=0.2)
    np.testing.assert_allclose(rates(steady, [0, 5, 10, 15, 20]), [0.5, 0.3, 0.5, 0.3, 0.5])
    for restart in (10 * (2**k - 1) for k in range(1, 30)):
        assert CosineDecayRestarts(0.5, 10)(restart) == 0.5


def test_an_optimizer_asks_with_the_steps_made():
    optimizer = SGD(PiecewiseConstantDecay([0, 1], [0.5, 0.25, 0.125]))
    w, seen = np.array([4.0]), []
    for _ in range(3):
        seen.append(optimizer.learning_rate)
        optimizer.update([w], [np.ones(1)])
    assert seen == [0.5, 0.25, 0.125]
    assert w[0] == 4.0 - sum(seen)
    optimizer.learning_rate = 1.0
    assert optimizer.learning_rate == 1.0


def test_steps_may_be_tensors():
    assert ExponentialDecay(0.5, 10, 0.25)(jg.constant(5)) == 0.25


def test_a_schedule_must_be_called():
    with pytest.raises(NotImplementedError, match="Mine must define __call__"):
        type("Mine", (LearningRateSchedule,), {})()(0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ExponentialDecay(0.5, 0, 0.9), "decay_steps must be above 0, not 0"),
        (lambda: InverseTimeDecay(0.5, "ten", 0.9), "decay_steps must be a number, not 'ten'"),
        (lambda: PolynomialDecay(0.5, -1), "decay_steps must be at least 0"),
        (lambda: CosineDecay(0.5, 10, warmup_steps=-1), "warmup_steps must be at least 0"),
        (lambda: CosineDecayRestarts(0.5, 10, t_mul=0.5), "t_mul must be at least 1"),
        (lambda: PiecewiseConstantDecay([1], [1.0]), "values must be one more than boundaries, but there are 1 values"),
        (lambda: PiecewiseConstantDecay([2, 1], [1.0, 2.0, 3.0]), r"boundaries must increase, not be \[2, 1\]"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()
