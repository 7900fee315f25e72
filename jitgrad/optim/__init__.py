"""Optimizers with Keras's definitions and defaults; each update is one nopython pass over all parameters."""

from typing import Any

from jitgrad.optim import schedules
from jitgrad.optim.adam import Adam, Adamax, AdamW, Lion, Nadam
from jitgrad.optim.adaptive import Adadelta, Adagrad, Ftrl, RMSprop
from jitgrad.optim.base import NoGradientError, Optimizer
from jitgrad.optim.scipy_ import ScipyOptimizer
from jitgrad.optim.sgd import SGD
from jitgrad.optim.v1 import GradientDescentOptimizer, MomentumOptimizer

OPTIMIZERS: dict[str, type[Optimizer]] = {
    "sgd": SGD, "adam": Adam, "adamw": AdamW, "adamax": Adamax, "nadam": Nadam, "lion": Lion,
    "adagrad": Adagrad, "adadelta": Adadelta, "rmsprop": RMSprop, "ftrl": Ftrl,
}  # fmt: skip
"""By the names that the command line uses."""

__all__ = [
    "OPTIMIZERS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "GradientDescentOptimizer", "Lion",
    "MomentumOptimizer", "Nadam", "NoGradientError", "Optimizer", "RMSprop", "ScipyOptimizer", "schedules",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from jitgrad.hints import MissingName

    raise MissingName(__name__, name)
