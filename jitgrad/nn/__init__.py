"""Functions of neural networks, with the names, arguments and definitions of TensorFlow and Keras.

They take tape values and NumPy arrays alike: called with arrays only, they give arrays. Images have the axes (n, rows,
columns, channels). `jitgrad.nn.layers` and `jitgrad.nn.models` hold the same in compiled form, for `jitgrad.grad`;
`relu` and `dense` may be called in njit functions too.
"""

from typing import Any

from jitgrad.nn import nopython  # noqa: F401  (relu and dense in compiled code)
from jitgrad.nn.activations import (
    elu,
    gelu,
    leaky_relu,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softsign,
    swish,
    tanh,
)
from jitgrad.nn.convolution import conv2d, conv2d_transpose
from jitgrad.nn.cross_entropy import (
    log_softmax,
    sigmoid_cross_entropy_with_logits,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from jitgrad.nn.initializers import glorot_uniform, he_normal
from jitgrad.nn.linear import bias_add, dense, embedding_lookup, l2_loss, one_hot
from jitgrad.nn.losses import (
    binary_crossentropy,
    categorical_crossentropy,
    huber,
    mae,
    mean_absolute_error,
    mean_squared_error,
    mse,
    sparse_categorical_crossentropy,
)
from jitgrad.nn.models import MODELS, Model
from jitgrad.nn.normalization import batch_normalization, dropout, l2_normalize, layer_normalization, moments
from jitgrad.nn.pooling import avg_pool, avg_pool2d, max_pool, max_pool2d

__all__ = [
    "MODELS", "Model", "avg_pool", "avg_pool2d", "batch_normalization", "bias_add", "binary_crossentropy",
    "categorical_crossentropy", "conv2d", "conv2d_transpose", "dense", "dropout", "elu", "embedding_lookup", "gelu",
    "glorot_uniform", "he_normal", "huber", "l2_loss", "l2_normalize", "layer_normalization", "leaky_relu",
    "log_softmax", "mae", "max_pool", "max_pool2d", "mean_absolute_error", "mean_squared_error", "moments", "mse",
    "one_hot", "relu", "relu6", "selu", "sigmoid", "sigmoid_cross_entropy_with_logits", "silu", "softmax",
    "softmax_cross_entropy_with_logits", "softplus", "softsign", "sparse_categorical_crossentropy",
    "sparse_softmax_cross_entropy_with_logits", "swish", "tanh", "weighted_cross_entropy_with_logits",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from jitgrad.hints import MissingName

    raise MissingName(__name__, name)
