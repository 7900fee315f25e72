"""Exact derivatives of ordinary Numba code.

`grad`, `jvp`, `vjp`, `jacobian`, `hessian` and their relatives differentiate njit functions as they are. What
they return is nopython code again: callable from other njit functions, and differentiable again.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jitgrad.api import nopython  # noqa: F401  (jvp and hvp in compiled code)
from jitgrad.api.checking import check_grads
from jitgrad.api.custom import custom_jvp, custom_vjp, stop_gradient
from jitgrad.api.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from jitgrad.api.source import source
from jitgrad.api.transforms import grad, jvp, linearize, value_and_grad, vjp
from jitgrad.errors import ArgumentError, DifferentiationError, JitgradError, NoRuleError, ShapeError, UnsupportedError

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "DifferentiationError", "ForwardAccumulator", "GradientTape", "JitgradError", "NoRuleError",
    "RegisterGradient", "ShapeError", "TapeError", "Tensor", "UnconnectedGradientWarning", "UnconnectedGradients",
    "UnsupportedError", "Variable", "check_grads", "constant", "custom_gradient", "custom_jvp", "custom_vjp", "grad",
    "gradient_override_map", "gradients", "hessian", "hessians", "hvp", "jacfwd", "jacobian", "jacrev", "jvp",
    "linearize", "recompute_grad", "source", "stop_gradient", "value_and_grad", "vjp",
]  # fmt: skip

if TYPE_CHECKING:
    from jitgrad import nn as nn
    from jitgrad import optim as optim
    from jitgrad import tape as tape
    from jitgrad.tape import (
        ForwardAccumulator,
        GradientTape,
        RegisterGradient,
        TapeError,
        Tensor,
        UnconnectedGradients,
        UnconnectedGradientWarning,
        Variable,
        constant,
        custom_gradient,
        gradient_override_map,
        gradients,
        hessians,
        recompute_grad,
    )  # fmt: skip


def __getattr__(name: str) -> Any:
    # The tape brings the table of rules with it, which a compiled derivative from the disk cache does without.
    if name in ("nn", "optim", "tape"):
        return importlib.import_module(f"jitgrad.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'jitgrad' has no attribute {name!r}")
    found = getattr(importlib.import_module("jitgrad.tape"), name)
    globals()[name] = found  # the next access does not come here
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "nn", "optim", "tape"})
