"""The arrays that an optimizer keeps for each parameter, in one buffer per dtype.

A buffer has a row for each slot, and each parameter owns some of its columns. So what a kernel needs for all parameters
is one array, whatever their number and shapes, and it is compiled once per dtype.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitgrad.errors import DataError


@dataclass(frozen=True)
class Place:
    """A parameter, as its slots know it: which columns of the buffer of its dtype belong to it."""

    dtype: np.dtype
    shape: tuple[int, ...]
    columns: slice

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}"


class Slots:
    """Slots of all parameters that an optimizer has met.

    Parameters
    ----------
    initial : mapping of names to numbers
        The slots that each parameter gets, and what they are filled with.

    Attributes
    ----------
    names : list of str
    places : list of Place
        In the order in which the parameters were met.
    """

    def __init__(self, initial: Mapping[str, float]) -> None:
        self.names = list(initial)
        self.places: list[Place] = []
        self._fill = np.array([*initial.values()])[:, None]
        self._buffers: dict[np.dtype, np.ndarray] = {}
        self._counts: collections.Counter[np.dtype] = collections.Counter()  # places of a dtype

    def add(self, params: Sequence[np.ndarray]) -> None:
        """Make slots for further parameters."""
        ends = {dtype: buffer.shape[1] for dtype, buffer in self._buffers.items()}
        for param in params:
            start = ends.get(param.dtype, 0)
            ends[param.dtype] = start + param.size
            self.places.append(Place(param.dtype, param.shape, slice(start, ends[param.dtype])))
            self._counts[param.dtype] += 1
        for dtype, end in ends.items():
            grown = np.empty((len(self.names), end), dtype)
            grown[:] = self._fill
            if dtype in self._buffers:
                grown[:, : self._buffers[dtype].shape[1]] = self._buffers[dtype]
            self._buffers[dtype] = grown

    @contextmanager
    def rows(self, dtype: np.dtype, chosen: Sequence[int]) -> Iterator[np.ndarray]:
        """All slots of some parameters of one dtype, as a C-contiguous array that may be written.

        Parameters
        ----------
        dtype : dtype
        chosen : sequence of int
            Positions in `places`.
        """
        buffer = self._buffers[dtype]
        if len(chosen) == self._counts[dtype] and all(map(operator.lt, chosen, chosen[1:])):
            yield buffer  # all of them, in order
            return
        columns = np.concatenate([np.arange(c.start, c.stop) for c in (self.places[k].columns for k in chosen)])
        part = np.take(buffer, columns, axis=1)
        yield part
        buffer[:, columns] = part

    def view(self, k: int, name: str) -> np.ndarray:
        """One slot of the parameter at position `k`, in its shape."""
        place = self.places[k]
        return self._buffers[place.dtype][self.names.index(name), place.columns].reshape(place.shape)

    def state(self) -> dict[str, np.ndarray]:
        """Copies of all slots, under names like ``velocity.0``."""
        return {f"{name}.{k}": self.view(k, name).copy() for k in range(len(self.places)) for name in self.names}

    def load(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        for name in self.names:
            for k, place in enumerate(self.places):
                key = f"{name}.{k}"
                values = entry(state, key)
                if values.shape != place.shape or values.dtype != place.dtype:
                    raise DataError(
                        f"optimizer state: {key} is {values.dtype} of shape {values.shape}, the parameter needs {place}"
                    )
                self.view(k, name)[...] = values
            key = f"{name}.{len(self.places)}"
            if key in state:
                raise DataError(f"optimizer state: there is {key}, but only {len(self.places)} parameters were given")


def entry(state: Mapping[str, Any], name: str) -> np.ndarray:
    """An array of a saved state, or an error that it is missing."""
    if name not in state:
        raise DataError(f"optimizer state: {name} is missing; was it saved by another optimizer?")
    return np.asarray(state[name])
