"""Data sets: MNIST in its IDX format, with a part of the digits embedded in the package."""

from jitgrad.data.digits import Mnist, load_mnist
from jitgrad.data.idx import read_idx, write_idx

__all__ = ["Mnist", "load_mnist", "read_idx", "write_idx"]
