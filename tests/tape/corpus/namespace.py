"""The namespace T of the programs on jitgrad. Nothing here may repair a value."""

import logging
import warnings as _warnings

import numpy as onp

import jitgrad as jg

name = "jitgrad"

np = onp  # tape values answer NumPy's own protocols


def __getattr__(n):
    """Everything else is 1:1 jitgrad's: GradientTape, Variable, constant, ForwardAccumulator, UnconnectedGradients, gradients,
    stop_gradient, custom_gradient, recompute_grad, RegisterGradient, gradient_override_map, nn, optim.  A name that is not
    there yet fails only the programs that use it."""
    return getattr(jg, n)


def graph(fn, *arrays):
    with jg.GradientTape(persistent=True) as tape:
        xs = [jg.constant(a) for a in arrays]
        tape.watch(xs)
        return fn(*xs)


def identity(x):
    return np.positive(x)


def cast(x, dtype):
    return x.astype(dtype)


def is_value(v):
    return isinstance(v, (onp.ndarray, onp.generic)) or hasattr(v, "__array__")


def numpy(v):
    return None if v is None else onp.asarray(v)


def warnings(fn):
    texts = []

    class Catch(logging.Handler):
        def emit(self, record):
            texts.append(record.getMessage())

    catch, root = Catch(level=logging.WARNING), logging.getLogger()
    root.addHandler(catch)
    try:
        with _warnings.catch_warnings(record=True) as seen:
            _warnings.simplefilter("always")
            result = fn()
    finally:
        root.removeHandler(catch)
    return result, texts + [str(w.message) for w in seen]
