"""Exact derivatives of ordinary Numba code.

`grad`, `jvp`, `vjp`, `jacobian`, `hessian` and their relatives differentiate njit functions as they are. What
they return is nopython code again: callable from other njit functions, and differentiable again.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from jitgrad.api import nopython  # noqa: F401  (jvp, hvp and into in compiled code)
from jitgrad.api.checking import check_grads
from jitgrad.api.custom import custom_jvp, custom_vjp, stop_gradient
from jitgrad.api.duals import Dual
from jitgrad.api.jacobians import chosen_mode, hessian, hvp, jacfwd, jacobian, jacrev
from jitgrad.api.pushforward import pushforward
from jitgrad.api.source import source
from jitgrad.api.transforms import grad, jvp, linearize, value_and_grad, vjp
from jitgrad.errors import ArgumentError, DifferentiationError, JitgradError, NoRuleError, ShapeError, UnsupportedError
from jitgrad.native.cfunction import cfunc
from jitgrad.settings import options

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "DifferentiationError", "Dual", "ForwardAccumulator", "GradientTape", "JitgradError",
    "NoRuleError", "RegisterGradient", "ShapeError", "TapeError", "Tensor", "UnconnectedGradientWarning",
    "UnconnectedGradients", "UnsupportedError", "Variable", "batched", "cfunc", "check_grads", "checkpoint",
    "chosen_mode", "constant", "custom_gradient", "custom_jvp", "custom_vjp", "grad", "gradient_override_map",
    "gradients", "hessian", "hessians", "hvp", "jacfwd", "jacobian", "jacrev", "jvp", "linearize", "options",
    "pushforward", "recompute_grad", "repeat", "source", "stop_gradient", "value_and_grad", "vjp",
]  # fmt: skip

# These bring the table of rules with them, as the tape does; compiled derivatives from the disk cache do without.
_LATER = {
    "batched": "jitgrad.api.batching",
    "checkpoint": "jitgrad.api.checkpointing",
    "repeat": "jitgrad.api.repeating",
}
_MODULES = ("fastmath", "implicit", "nn", "optim", "sparse", "tape")

if TYPE_CHECKING:
    from jitgrad import fastmath as fastmath
    from jitgrad import implicit as implicit
    from jitgrad import nn as nn
    from jitgrad import optim as optim
    from jitgrad import sparse as sparse
    from jitgrad import tape as tape
    from jitgrad.api.batching import batched
    from jitgrad.api.checkpointing import checkpoint
    from jitgrad.api.repeating import repeat
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
    if name in _MODULES:
        return importlib.import_module(f"jitgrad.{name}")
    if name not in __all__:
        from jitgrad.hints import MissingName

        raise MissingName("jitgrad", name)
    found = getattr(importlib.import_module(_LATER.get(name, "jitgrad.tape")), name)
    globals()[name] = found  # the next access does not come here
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
