"""Learning rates that depend on the number of steps made, with Keras's names, formulas and defaults.

Pass one as ``learning_rate``; or call it with a step to see what it gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jitgrad.errors import ArgumentError
from jitgrad.optim.checks import checked, positive


class LearningRateSchedule:
    """Base class: subclass it and define ``__call__``.

    Examples
    --------
    >>> from jitgrad.optim import SGD
    >>> from jitgrad.optim.schedules import LearningRateSchedule
    >>> class Halving(LearningRateSchedule):
    ...     def __call__(self, step):
    ...         return 0.5**step
    >>> SGD(Halving()).learning_rate
    1.0
    """

    def __call__(self, step: Any) -> float:
        """The learning rate of the step that follows `step` others."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(self, step)")


@dataclass(frozen=True)
class ExponentialDecay(LearningRateSchedule):
    """``initial_learning_rate * decay_rate ** (step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate, decay_steps, decay_rate : float
    staircase : bool
        Whether the exponent is rounded down.
    name : str
        Kept, not used.

    Examples
    --------
    >>> from jitgrad.optim.schedules import ExponentialDecay
    >>> ExponentialDecay(0.5, decay_steps=10, decay_rate=0.5)(20)
    0.125
    """

    initial_learning_rate: float
    decay_steps: float
    decay_rate: float
    staircase: bool = False
    name: str = "ExponentialDecay"

    def __post_init__(self) -> None:
        positive("decay_steps", self.decay_steps)

    def __call__(self, step: Any) -> float:
        return self.initial_learning_rate * self.decay_rate ** _periods(step, self.decay_steps, self.staircase)


@dataclass(frozen=True)
class InverseTimeDecay(LearningRateSchedule):
    """``initial_learning_rate / (1 + decay_rate * step / decay_steps)``.

    Parameters
    ----------
    initial_learning_rate, decay_steps, decay_rate : float
    staircase : bool
        Whether ``step / decay_steps`` is rounded down.
    name : str
        Kept, not used.

    Examples
    --------
    >>> from jitgrad.optim.schedules import InverseTimeDecay
    >>> InverseTimeDecay(0.5, decay_steps=10, decay_rate=1.0)(10)
    0.25
    """

    initial_learning_rate: float
    decay_steps: float
    decay_rate: float
    staircase: bool = False
    name: str = "InverseTimeDecay"

    def __post_init__(self) -> None:
        positive("decay_steps", self.decay_steps)

    def __call__(self, step: Any) -> float:
        return self.initial_learning_rate / (1.0 + self.decay_rate * _periods(step, self.decay_steps, self.staircase))


@dataclass(frozen=True)
class PiecewiseConstantDecay(LearningRateSchedule):
    """``values[0]`` up to and including step ``boundaries[0]``, ``values[1]`` up to ``boundaries[1]``, and so on.

    Parameters
    ----------
    boundaries : sequence of numbers that increase
    values : sequence of float
        One more than boundaries.
    name : str
        Kept, not used.

    Examples
    --------
    >>> from jitgrad.optim.schedules import PiecewiseConstantDecay
    >>> rate = PiecewiseConstantDecay([2, 5], [1.0, 0.5, 0.1])
    >>> [rate(step) for step in (0, 2, 3, 6)]
    [1.0, 1.0, 0.5, 0.1]
    """

    boundaries: Sequence[float]
    values: Sequence[float]
    name: str = "PiecewiseConstant"

    def __post_init__(self) -> None:
        if len(self.values) != len(self.boundaries) + 1:
            raise ArgumentError(
                f"values must be one more than boundaries, but there are {len(self.values)} values "
                f"and {len(self.boundaries)} boundaries"
            )
        if any(a >= b for a, b in zip(self.boundaries, self.boundaries[1:], strict=False)):
            raise ArgumentError(f"boundaries must increase, not be {[*self.boundaries]}")

    def __call__(self, step: Any) -> float:
        return float(self.values[sum(float(step) > boundary for boundary in self.boundaries)])


@dataclass(frozen=True)
class PolynomialDecay(LearningRateSchedule):
    """From `initial_learning_rate` to `end_learning_rate` in `decay_steps`, along a power of what is left.

    Parameters
    ----------
    initial_learning_rate, decay_steps, end_learning_rate : float
    power : float
        1 for a straight line.
    cycle : bool
        Whether it starts again, over a stretch longer by `decay_steps`, each time it has come to the end.
    name : str
        Kept, not used.

    Examples
    --------
    >>> from jitgrad.optim.schedules import PolynomialDecay
    >>> rate = PolynomialDecay(1.0, decay_steps=4, end_learning_rate=0.5)
    >>> [rate(step) for step in (0, 2, 4, 8)]
    [1.0, 0.75, 0.5, 0.5]
    """

    initial_learning_rate: float
    decay_steps: float
    end_learning_rate: float = 0.0001
    power: float = 1.0
    cycle: bool = False
    name: str = "PolynomialDecay"

    def __post_init__(self) -> None:
        positive("decay_steps", self.decay_steps)

    def __call__(self, step: Any) -> float:
        done = float(step) / self.decay_steps
        done = done / max(1, math.ceil(done)) if self.cycle else min(done, 1.0)
        height = self.initial_learning_rate - self.end_learning_rate
        return height * (1.0 - done) ** self.power + self.end_learning_rate


@dataclass(frozen=True)
class CosineDecay(LearningRateSchedule):
    """Half a wave of the cosine, after a linear rise if `warmup_target` is given.

    Parameters
    ----------
    initial_learning_rate : float
        Where it starts; with a `warmup_target`, where the rise starts.
    decay_steps : float
        How long the decay takes, without the rise.
    alpha : float
        What it ends at, as a share of what it decays from.
    name : str
        Kept, not used.
    warmup_target : float, optional
        Where the rise ends and the decay starts.
    warmup_steps : float
        How long the rise takes.

    Examples
    --------
    >>> from jitgrad.optim.schedules import CosineDecay
    >>> rate = CosineDecay(0.0, decay_steps=10, warmup_target=1.0, warmup_steps=4)
    >>> [round(rate(step), 6) for step in (0, 2, 4, 9, 14, 20)]
    [0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    """

    initial_learning_rate: float
    decay_steps: float
    alpha: float = 0.0
    name: str = "CosineDecay"
    warmup_target: float | None = None
    warmup_steps: float = 0

    def __post_init__(self) -> None:
        positive("decay_steps", self.decay_steps)
        checked("warmup_steps", self.warmup_steps)

    def __call__(self, step: Any) -> float:
        step = float(step)
        if self.warmup_target is None:
            return self.initial_learning_rate * self._share(step)
        if step < self.warmup_steps:
            rise = self.warmup_target - self.initial_learning_rate
            return self.initial_learning_rate + rise * (step / self.warmup_steps)
        return self.warmup_target * self._share(step - self.warmup_steps)

    def _share(self, step: float) -> float:
        return (1.0 - self.alpha) * _half_wave(min(step / self.decay_steps, 1.0)) + self.alpha


@dataclass(frozen=True)
class CosineDecayRestarts(LearningRateSchedule):
    """Half waves of the cosine, one after the other (SGDR).

    Parameters
    ----------
    initial_learning_rate : float
    first_decay_steps : float
        The length of the first half wave.
    t_mul, m_mul : float
        How much longer, and how much higher, each is than the one before.
    alpha : float
        What each ends at, as a share of `initial_learning_rate`.
    name : str
        Kept, not used.

    Examples
    --------
    >>> from jitgrad.optim.schedules import CosineDecayRestarts
    >>> rate = CosineDecayRestarts(1.0, first_decay_steps=2, m_mul=0.5)
    >>> [round(rate(step), 6) for step in (0, 1, 2, 4, 6)]
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    initial_learning_rate: float
    first_decay_steps: float
    t_mul: float = 2.0
    m_mul: float = 1.0
    alpha: float = 0.0
    name: str = "SGDRDecay"

    def __post_init__(self) -> None:
        positive("first_decay_steps", self.first_decay_steps)
        checked("t_mul", self.t_mul, 1.0)

    def __call__(self, step: Any) -> float:
        restarts, done = self._position(float(step) / self.first_decay_steps)
        share = (1.0 - self.alpha) * self.m_mul**restarts * _half_wave(done) + self.alpha
        return self.initial_learning_rate * share

    def _position(self, waves: float) -> tuple[int, float]:
        """How many half waves are over, and how much of the present one; `waves` is measured in first half waves."""
        if self.t_mul == 1.0:
            return math.floor(waves), waves % 1.0
        # Counted, not solved for with a logarithm: at a restart that would be off by one through rounding.
        restarts, length = 0, 1.0
        while waves >= length:
            waves -= length
            length *= self.t_mul
            restarts += 1
        return restarts, waves / length


def _periods(step: Any, length: float, staircase: bool) -> float:
    periods = float(step) / length
    return math.floor(periods) if staircase else periods


def _half_wave(done: float) -> float:
    return 0.5 * (1.0 + math.cos(math.pi * done))
