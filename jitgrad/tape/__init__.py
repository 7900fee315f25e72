"""A gradient tape for NumPy code, with the names and the behaviour of TensorFlow's.

How it works, from the outside in
---------------------------------
`gradient_tape`, `forward`, `graph`, `custom`
    What users call: `GradientTape`, `ForwardAccumulator`, `gradients`, gradients of their own.
`tensor`, `operators`, `handlers`
    Values, and how NumPy functions reach a handler when they meet one.
`primitive`, `elementwise`, `functions`
    Operations with pullbacks: those of scalars from the engine's rules, those of arrays by family.
`compiled_calls`
    Calls of njit functions with values, each one operation.
`recording`, `signatures`, `sweep`
    The recorded graph, how its operations are told apart, and the backward sweep over it.
`compiled`, `deferred`
    What is recorded again and again: compiled, and not computed operation by operation any more.
"""

from jitgrad.tape import compiled_calls, functions, quick  # noqa: F401  (answer to Numba, and fill the table of handlers)
from jitgrad.tape.compiled import compile_after
from jitgrad.tape.custom import RegisterGradient, custom_gradient, gradient_override_map, recompute_grad
from jitgrad.tape.forward import ForwardAccumulator
from jitgrad.tape.gradient_tape import GradientTape, TapeError, UnconnectedGradients
from jitgrad.tape.graph import gradients, hessians
from jitgrad.tape.notices import UnconnectedGradientWarning
from jitgrad.tape.tensor import Tensor, Variable, constant

__all__ = [
    "ForwardAccumulator", "GradientTape", "RegisterGradient", "TapeError", "Tensor", "UnconnectedGradientWarning",
    "UnconnectedGradients", "Variable", "compile_after", "constant", "custom_gradient", "gradient_override_map",
    "gradients", "hessians", "recompute_grad",
]  # fmt: skip
