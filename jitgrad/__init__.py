"""Exact derivatives of ordinary Numba code.

`grad`, `jvp`, `vjp`, `jacobian`, `hessian` and their relatives differentiate njit functions as they are. What
they return is nopython code again: callable from other njit functions, and differentiable again.
"""

from jitgrad.api import nopython  # noqa: F401  (jvp and hvp in compiled code)
from jitgrad.api.checking import check_grads
from jitgrad.api.custom import custom_jvp, custom_vjp, stop_gradient
from jitgrad.api.jacobians import hessian, hvp, jacfwd, jacobian, jacrev
from jitgrad.api.source import source
from jitgrad.api.transforms import grad, jvp, linearize, value_and_grad, vjp
from jitgrad.errors import ArgumentError, DifferentiationError, JitgradError, NoRuleError, ShapeError, UnsupportedError

__version__ = "0.1.0"

__all__ = [
    "ArgumentError", "DifferentiationError", "JitgradError", "NoRuleError", "ShapeError", "UnsupportedError",
    "check_grads", "custom_jvp", "custom_vjp", "grad", "hessian", "hvp", "jacfwd", "jacobian", "jacrev", "jvp",
    "linearize", "source", "stop_gradient", "value_and_grad", "vjp",
]  # fmt: skip
