"""Activation functions, of TensorFlow's names, arguments and derivatives at their kinks.

Each keeps float32, and is exact where its textbook formula would overflow or cancel.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from jitgrad.nn.operands import operand, real
from jitgrad.tape.elementwise import Special
from jitgrad.tape.primitive import Primitive

# Constants of Klambauer et al., Self-Normalizing Neural Networks (2017).
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


# ----- piecewise linear -----------------------------------------------------------------------------
_RELU = Primitive("Relu", lambda x: np.maximum(x, 0), (lambda ct, out, x: np.where(x > 0, ct, 0.0),))
_RELU6 = Primitive(
    "Relu6",
    lambda x: np.minimum(np.maximum(x, 0), 6),
    (lambda ct, out, x: np.where(np.logical_and(x > 0, x < 6), ct, 0.0),),
)
_LEAKY_RELU = Primitive(
    "LeakyRelu",
    lambda x, alpha: np.where(x > 0, x, alpha * x),
    (
        lambda ct, out, x, alpha: np.where(x > 0, ct, alpha * ct),
        lambda ct, out, x, alpha: np.where(x > 0, 0.0, ct * x),
    ),
)


def relu(features: Any) -> Any:
    """The positive part, ``max(features, 0)``; its derivative at 0 is 0."""
    return _RELU(real(features))


def relu6(features: Any) -> Any:
    """``min(max(features, 0), 6)``; its derivative at 0 and at 6 is 0."""
    return _RELU6(real(features))


def leaky_relu(features: Any, alpha: Any = 0.2) -> Any:
    """`features` where they are positive, else ``alpha * features``; its derivative at 0 is `alpha`."""
    return _LEAKY_RELU(real(features), alpha)


# ----- exponential ----------------------------------------------------------------------------------
def _exponential_unit(x, alpha, scale):
    # the minimum: exp of a large x, which is not used, would overflow
    return np.where(x < 0, (scale * alpha) * np.expm1(np.minimum(x, 0)), scale * x)


def _exponential_unit_x(ct, out, x, alpha, scale):
    return ct * np.where(x < 0, (scale * alpha) * np.exp(np.minimum(x, 0)), scale)


_ELU = Primitive("Elu", _exponential_unit, (_exponential_unit_x,))
_SELU = Primitive("Selu", _exponential_unit, (_exponential_unit_x,))


def elu(features: Any) -> Any:
    """``exp(features) - 1`` where they are negative, else `features`."""
    return _ELU(real(features), 1.0, 1.0)


def selu(features: Any) -> Any:
    """The scaled `elu` that keeps mean 0 and variance 1; its derivative at 0 is that from above."""
    return _SELU(real(features), SELU_ALPHA, SELU_SCALE)


# ----- sigmoids -------------------------------------------------------------------------------------
def _logistic(x):
    with np.errstate(over="ignore"):  # 1 / (1 + inf) is the right 0
        return 1 / (1 + np.exp(-x))


_SIGMOID = Primitive("Sigmoid", _logistic, (lambda ct, out, x: ct * (out * (1 - out)),))
_SOFTPLUS = Primitive("Softplus", lambda x: np.logaddexp(x, 0), (lambda ct, out, x: ct * _SIGMOID(x),))
_SOFTSIGN = Primitive("Softsign", lambda x: x / (1 + np.abs(x)), (lambda ct, out, x: ct / np.square(1 + np.abs(x)),))


def sigmoid(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    return _SIGMOID(real(x))


def softplus(features: Any) -> Any:
    """``log(1 + exp(features))``, also where ``exp`` would overflow."""
    return _SOFTPLUS(real(features))


def softsign(features: Any) -> Any:
    """``features / (1 + abs(features))``."""
    return _SOFTSIGN(real(features))


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return np.tanh(operand(x))


# ----- gated by a sigmoid ---------------------------------------------------------------------------
def silu(features: Any, beta: Any = 1.0) -> Any:
    """``features * sigmoid(beta * features)``, also called swish."""
    x = real(features)
    return x * sigmoid(beta * x)


swish = silu

_erfc = functools.cache(lambda: Special("erfc"))  # on demand: it imports scipy.special


def gelu(features: Any, approximate: bool = False) -> Any:
    """The Gaussian error linear unit: `features` times the normal distribution function of them.

    Parameters
    ----------
    features : array_like or tape value
    approximate : bool
        The formula with ``tanh`` of Hendrycks & Gimpel, Gaussian Error Linear Units (2016).
    """
    x = real(features)
    if approximate:
        # (1 + tanh(u)) / 2, without its cancellation for negative u
        return x * sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * (x * x * x)))
    return (0.5 * x) * _erfc()(x * -math.sqrt(0.5))
