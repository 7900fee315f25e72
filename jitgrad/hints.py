"""What to write for names that TensorFlow has and jitgrad has elsewhere, or leaves to NumPy.

This is imported when a name is missing, and not before.
"""

from __future__ import annotations

import difflib
from importlib import import_module

import numpy as np

_HINTS = {
    "Dataset": "a loop over slices of arrays",
    "Module": "a class of your own that holds jitgrad.Variable objects",
    "Session": "nothing: values are computed at once",
    "add_n": "np.sum(np.stack(values), axis=0)",
    "autodiff": "jitgrad.ForwardAccumulator",
    "batch_jacobian": "tape.batch_jacobian of a jitgrad.GradientTape",
    "boolean_mask": "x[mask]",
    "cast": "x.astype(dtype)",
    "clip_by_global_norm": "the option global_clipnorm of an optimizer",
    "clip_by_norm": "the option clipnorm of an optimizer",
    "clip_by_value": "np.clip",
    "compat": "jitgrad.optim for optimizers of tf.compat.v1.train, and np for operations",
    "concat": "np.concatenate",
    "cond": "np.where, or an ordinary if",
    "convert_to_tensor": "jitgrad.constant",
    "data": "a loop over slices of arrays",
    "device": "nothing: all is computed on the CPU",
    "executing_eagerly": "nothing: values are always computed at once",
    "fill": "np.full",
    "function": "numba.njit: a compiled function called with tape values is one operation",
    "gather": "np.take(x, indices, axis=axis)",
    "gather_nd": "x[tuple(np.moveaxis(indices, -1, 0))]",
    "global_variables_initializer": "nothing: a jitgrad.Variable has its value from the start",
    "identity": "x itself, or np.copy",
    "initializers": "jitgrad.nn.glorot_uniform, jitgrad.nn.he_normal",
    "io": "np.savez and np.load",
    "jit": "numba.njit",
    "keras": "jitgrad.optim for optimizers, jitgrad.nn for losses and layers",
    "losses": "jitgrad.nn: mse, mae, huber, categorical_crossentropy, ...",
    "map_fn": "np.stack of a list comprehension",
    "math": "np for tf.math: np.exp, np.sum, ...",
    "metrics": "NumPy functions",
    "no_gradient": "jitgrad.stop_gradient",
    "norm": "np.linalg.norm",
    "numpy": "numpy itself (import numpy as np): its functions take tape values",
    "placeholder": "a parameter of a function: values are computed at once",
    "print": "print",
    "range": "np.arange",
    "rank": "x.ndim",
    "reduce_euclidean_norm": "np.linalg.norm",
    "reduce_logsumexp": "np.logaddexp.reduce(x, axis=axis)",
    "reduce_variance": "np.var",
    "rsqrt": "1.0 / np.sqrt(x)",
    "scan": "an ordinary loop, or np.cumsum",
    "set_random_seed": "np.random.default_rng(seed)",
    "shape": "x.shape",
    "signal": "np.fft",
    "slice": "x[start:stop]",
    "squared_difference": "(x - y) ** 2",
    "strided_slice": "x[start:stop:step]",
    "tensor_scatter_nd_update": "np.where, or np.concatenate of the parts",
    "train": "jitgrad.optim",
    "vectorized_map": "jitgrad.batched of a compiled function, or NumPy functions with one axis more",
    "vmap": "jitgrad.batched of a compiled function, or NumPy functions with one axis more",
    "while_loop": "an ordinary while, or numba.njit where it is long",
}
"""What stands for a name, where it is not a function of NumPy that is called the same."""

_HINTS |= {f"{name}Optimizer": f"jitgrad.optim.{name}" for name in ("Adadelta", "Adagrad", "Adam", "Ftrl")}
_HINTS["RMSPropOptimizer"] = "jitgrad.optim.RMSprop"


class MissingName(AttributeError):
    """The error for a name that a module does not have, with what to write instead.

    That is found out when somebody reads it: most who ask for a name that is not there, `hasattr` and imports of
    submodules among them, do not.
    """

    def __init__(self, module: str, name: str):
        super().__init__(module, name)

    def __str__(self) -> str:
        module, name = self.args
        advice = "" if name.startswith("_") else _advice(module, name)
        return f"module {module!r} has no attribute {name!r}{advice}"


def _advice(module: str, name: str) -> str:
    if name in _HINTS:
        return f"; write {_HINTS[name]}"
    for other in ("jitgrad", "jitgrad.nn", "jitgrad.optim"):
        if other != module and name in import_module(other).__all__:
            return f"; write {other}.{name}"
    for package, function in ((np, name.removeprefix("reduce_")), (np.linalg, name)):
        if hasattr(package, function):
            return f"; write {package.__name__.replace('numpy', 'np')}.{function}"
    known = {each.lower(): each for each in import_module(module).__all__}
    close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(known[each] for each in close)}?" if close else ""
