"""Where the windows of a convolution or a pooling lie, with TensorFlow's arithmetic of strides and padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from jitgrad.errors import ArgumentError, ShapeError, UnsupportedError
from jitgrad.nn.kernels import add_patches

Pair = tuple[int, int]


@dataclass(frozen=True)
class Windows:
    """Windows on the rows and columns of arrays of shape (n, rows, columns, channels).

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    size, strides, dilations : (int, int)
        Of a window, from one to the next, and between the elements of one.
    counts : (int, int)
        How many windows there are, along rows and columns.
    before, after : (int, int)
        Rows and columns of padding.
    """

    shape: Pair
    size: Pair
    strides: Pair
    dilations: Pair
    counts: Pair
    before: Pair
    after: Pair

    def padded(self, x: np.ndarray) -> np.ndarray:
        """`x` with its padding, which is zero."""
        if not any(self.before + self.after):
            return x
        out = self.room(len(x), x.shape[3], x.dtype)
        self.inner(out)[:] = x
        return out

    def room(self, n: int, channels: int, dtype: Any) -> np.ndarray:
        """Zeros, as large as an array with its padding."""
        rows, columns = (b + s + a for b, s, a in zip(self.before, self.shape, self.after, strict=True))
        return np.zeros((n, rows, columns, channels), dtype)

    def inner(self, padded: np.ndarray) -> np.ndarray:
        """The view of `padded` without the padding."""
        (top, left), (rows, columns) = self.before, self.shape
        return padded[:, top : top + rows, left : left + columns]

    def patches(self, x: np.ndarray) -> np.ndarray:
        """All windows, as an array of shape (n, *counts, *size, channels)."""
        extent = tuple((s - 1) * d + 1 for s, d in zip(self.size, self.dilations, strict=True))
        (down, across), (skip, jump) = self.strides, self.dilations
        view = sliding_window_view(self.padded(x), extent, (1, 2))[:, ::down, ::across, :, ::skip, ::jump]
        return view.transpose(0, 1, 2, 4, 5, 3)

    def fold(self, patches: np.ndarray) -> np.ndarray:
        """The transpose of `patches`: each window added to its place."""
        out = self.room(len(patches), patches.shape[5], patches.dtype)
        add_patches(out, np.ascontiguousarray(patches), self.strides, self.dilations)
        return np.ascontiguousarray(self.inner(out))

    def members(self) -> np.ndarray:
        """How many elements of each window are not padding, as an array of shape (1, *counts, 1)."""
        rows, columns = (
            np.minimum(start + size, length) - np.maximum(start, 0)
            for start, size, length in (
                (np.arange(self.counts[k]) * self.strides[k] - self.before[k], self.size[k], self.shape[k])
                for k in (0, 1)
            )
        )
        return (rows[:, None] * columns)[None, :, :, None]


def windows(
    shape: Sequence[int], size: Pair, strides: Any, padding: Any, dilations: Any = None, what: str = "window"
) -> Windows:
    """The windows for the arguments of a TensorFlow function.

    Parameters
    ----------
    shape : sequence of four int
        Of the array.
    size : (int, int)
    strides, dilations : int, or sequence of one, two or four
    padding : "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]]
    what : str
        The name of a window in error messages.
    """
    if 0 in shape[1:3]:
        raise ShapeError(f"the input of shape {tuple(shape)} has no rows or no columns")
    steps = pair(strides, "strides")
    gaps = (1, 1) if dilations is None else pair(dilations, "dilations")
    extents = tuple((s - 1) * d + 1 for s, d in zip(size, gaps, strict=True))
    pads = [_pads(padding, k, shape[k + 1], extents[k], steps[k]) for k in (0, 1)]
    counts = []
    for k, name in enumerate(("rows", "columns")):
        room = sum(pads[k]) + shape[k + 1] - extents[k]
        if room < 0:
            raise ShapeError(
                f"the {what} spans {extents[k]} {name}, but the input has {shape[k + 1]}: with padding {padding!r} the "
                f"output size would be negative"
            )
        counts.append(room // steps[k] + 1)
    (top, bottom), (left, right) = pads
    return Windows((shape[1], shape[2]), size, steps, gaps, (counts[0], counts[1]), (top, left), (bottom, right))


def _pads(padding: Any, k: int, length: int, extent: int, step: int) -> Pair:
    """Padding before and after one axis of this length."""
    if isinstance(padding, str):
        if padding.upper() == "VALID":
            return 0, 0
        if padding.upper() == "SAME":
            total = max((-(-length // step) - 1) * step + extent - length, 0)
            return total // 2, total - total // 2
    elif np.shape(padding) == (4, 2):
        pads = np.asarray(padding)
        if pads.dtype.kind in "iu" and not pads[[0, 3]].any() and pads.min() >= 0:
            return int(pads[k + 1, 0]), int(pads[k + 1, 1])
    raise ArgumentError(
        f'padding must be "SAME", "VALID" or [[0, 0], [top, bottom], [left, right], [0, 0]], not {padding!r}'
    )


def pair(given: Any, name: str) -> Pair:
    """Rows and columns of an argument that may be one integer, or one, two or four of them."""
    numbers = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    if len(numbers) not in (1, 2, 4) or not all(isinstance(n, (int, np.integer)) and n > 0 for n in numbers):
        raise ArgumentError(f"{name} must be a positive integer, or one, two or four of them, not {given!r}")
    if len(numbers) == 4:
        if numbers[0] != 1 or numbers[3] != 1:
            raise UnsupportedError(f"{name} must be 1 along the batch and the channels, not {given!r}")
        numbers = numbers[1:3]
    return int(numbers[0]), int(numbers[-1])


def check_images(x: Any, name: str, data_format: str | None) -> None:
    """An error unless `x` has the axes (n, rows, columns, channels)."""
    if data_format not in (None, "NHWC"):
        raise UnsupportedError(
            f"data_format must be 'NHWC', not {data_format!r}; transpose the array with np.transpose(x, (0, 2, 3, 1))"
        )
    if x.ndim != 4:
        raise ShapeError(f"{name} must have the axes (n, rows, columns, channels), not the shape {x.shape}")
