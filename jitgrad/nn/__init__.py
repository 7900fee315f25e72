"""Layers, losses and models as plain nopython functions, for jitgrad or anything else to differentiate.

Arrays are batches: examples along the first axis, channels along the last. Nothing here keeps state; the parameters
of a model are a tuple of arrays.
"""

from jitgrad.nn.initializers import glorot_uniform, he_normal
from jitgrad.nn.layers import conv2d, dense, max_pool2d, relu
from jitgrad.nn.losses import softmax_cross_entropy
from jitgrad.nn.models import MODELS, Model

__all__ = [
    "MODELS",
    "Model",
    "conv2d",
    "dense",
    "glorot_uniform",
    "he_normal",
    "max_pool2d",
    "relu",
    "softmax_cross_entropy",
]
