"""`relu` and `dense` in compiled code: njit functions call the layers of the models under the same names."""

from __future__ import annotations

from numba.extending import overload

from jitgrad.nn import activations, layers, linear


@overload(activations.relu)
def _relu(features):
    return lambda features: layers.relu(features)


@overload(linear.dense)
def _dense(x, weight, bias):
    return lambda x, weight, bias: layers.dense(x, weight, bias)
