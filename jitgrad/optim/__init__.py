"""Optimizers with Keras's definitions and defaults; each update is one nopython pass over all parameters."""

from jitgrad.optim.adam import Adam
from jitgrad.optim.base import Optimizer
from jitgrad.optim.sgd import SGD

OPTIMIZERS: dict[str, type[Optimizer]] = {"sgd": SGD, "adam": Adam}

__all__ = ["OPTIMIZERS", "SGD", "Adam", "Optimizer"]
