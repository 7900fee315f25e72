"""Two ways to the loss of a batch and its gradient: a compiled function, or a tape that records NumPy code.

Both compute the same numbers, to rounding, from the same parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitgrad import GradientTape, Variable, nn, value_and_grad
from jitgrad.nn.models import MODELS
from jitgrad.optim.parameters import Parameter
from jitgrad.tape import compile_after

LossAndGradient = Callable[[Sequence[Parameter], np.ndarray, np.ndarray], tuple[float, Sequence[Any]]]


def flat(images: np.ndarray) -> np.ndarray:
    """Each image as a row."""
    return images.reshape(len(images), -1)


def softmax_logits(params, images):
    weight, bias = params
    return flat(images) @ weight + bias


def mlp_logits(params, images):
    weight1, bias1, weight2, bias2 = params
    hidden = nn.relu(flat(images) @ weight1 + bias1)
    return hidden @ weight2 + bias2


def cnn_logits(params, images):
    kernel1, bias1, kernel2, bias2, weight, bias = params
    first = _convolution(images[..., np.newaxis], kernel1, bias1)
    second = _convolution(first, kernel2, bias2)
    return np.reshape(second, (len(images), -1)) @ weight + bias


def _convolution(x, kernel, bias):
    product = nn.conv2d(x, kernel, strides=1, padding="VALID") + bias
    return nn.relu(nn.max_pool(product, ksize=2, strides=2, padding="VALID"))


EAGER: dict[str, Callable[..., Any]] = {"softmax": softmax_logits, "mlp": mlp_logits, "cnn": cnn_logits}
"""The models of `MODELS` for tape values; the parameters are the same."""


def compiled(model: str) -> LossAndGradient:
    """The Numba function of `jitgrad.nn`, and its derivative."""
    return value_and_grad(MODELS[model].loss)


def taped(model: str) -> LossAndGradient:
    """A loss that is computed operation by operation, and differentiated as it ran."""
    logits = EAGER[model]
    known: set[tuple[int, ...]] = set()

    # A loss that overflows is the training's to report, not a warning of each operation.
    @np.errstate(all="ignore")
    def loss_and_gradient(params, images, labels):
        with compile_after(1):
            if images.shape not in known:
                # The first time operations run under NumPy, which rounds differently. Done twice, a training that is
                # stopped and resumed gives the same bits as one that is not.
                known.add(images.shape)
                differentiate(params, images, labels)
            return differentiate(params, images, labels)

    def differentiate(params, images, labels):
        with GradientTape() as tape:
            loss = np.mean(nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits(params, images)))
        gradient = tape.gradient(loss, params)  # before somebody looks at the loss: both are computed in one go
        return float(loss), gradient

    return loss_and_gradient


@dataclass(frozen=True)
class Engine:
    """How a training gets its gradients.

    Attributes
    ----------
    parameter : function
        From an initial array to what the optimizer updates.
    differentiate : function
        From the name of a model to a function of (parameters, images, labels) that returns loss and gradient.
    """

    parameter: Callable[[np.ndarray], Parameter]
    differentiate: Callable[[str], LossAndGradient]


ENGINES = {
    "compiled": Engine(lambda array: array, compiled),
    "tape": Engine(Variable, taped),
}
