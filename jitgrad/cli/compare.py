"""Several optimizers on one problem: the same model, initial weights and batches for each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from jitgrad.cli.training import DivergenceError, Run, Scores, Settings, train
from jitgrad.data import Mnist


@dataclass
class Outcome:
    """What one optimizer made of it.

    Attributes
    ----------
    losses : list of float
        Of each batch, before its step.
    seconds : float
        Spent in training, without compilation and evaluation.
    diverged : bool
        Whether the loss ceased to be finite, which ended the training.
    """

    settings: Settings
    losses: list[float] = field(default_factory=list)
    history: list[Scores] = field(default_factory=list)
    seconds: float = 0.0
    diverged: bool = False

    @property
    def name(self) -> str:
        return self.settings.optimizer


def subset(data: Mnist, examples: int | None) -> Mnist:
    """The data with the first `examples` training digits only (`None`: all)."""
    return data._replace(train_images=data.train_images[:examples], train_labels=data.train_labels[:examples])


def follow(
    settings: Settings,
    data: Mnist,
    on_batch: Callable[[], None] = lambda: None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome | None:
    """Train and keep a record; None if `stop` ended it."""
    run, trial = (Run.start(settings, len(data.train_images)) for _ in range(2))
    outcome = Outcome(settings, history=run.history)
    mark, before = 0.0, 0.0

    def after_batch(run: Run) -> None:
        nonlocal mark, before
        outcome.seconds += time.perf_counter() - mark
        start = (run.batch - 1) * settings.batch_size
        outcome.losses.append((run.loss_sum - before) / min(settings.batch_size, run.examples - start))
        on_batch()
        mark, before = time.perf_counter(), run.loss_sum

    def after_epoch(run: Run) -> None:
        nonlocal mark, before
        mark, before = time.perf_counter(), 0.0

    try:
        # A run that is thrown away compiles what is needed, so that it does not count as training.
        train(trial, data, stop=lambda: trial.batch > 0 or trial.epoch > 0)
        mark = time.perf_counter()
        finished = train(run, data, after_batch, after_epoch, stop)
    except DivergenceError:
        outcome.diverged = finished = True
    return outcome if finished else None


def ranked(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The lowest final training loss first, those that diverged last."""
    return sorted(outcomes, key=lambda o: float("inf") if o.diverged else o.history[-1].train_loss)
