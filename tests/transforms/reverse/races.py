"""Runs generated code in Python and watches which iterations of its `prange` loops touch which memory."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numba
import numpy as np
from numba import njit

from jitgrad import frontend
from jitgrad.optimize import optimize
from jitgrad.transforms import reverse
from jitgrad.transforms.request import Generated, VjpRequest
from tests.transforms.reverse.harness import floats, in_python, types_of


class Race(AssertionError):
    """Two iterations touched the same memory, and one of them wrote."""


class _Log:
    """The accesses of one parallel loop."""

    def __init__(self):
        self.iteration: int | None = None
        self.alive: list[np.ndarray] = []  # so that no memory is used again
        self.writers: dict[int, set[int]] = defaultdict(set)
        self.readers: dict[int, set[int]] = defaultdict(set)

    def note(self, array: np.ndarray, kind: str) -> None:
        if self.iteration is None:
            return
        start, strides = array.__array_interface__["data"][0], array.strides
        for index in np.ndindex(array.shape):
            place = start + sum(k * s for k, s in zip(index, strides, strict=True))
            (self.writers if kind == "w" else self.readers)[place].add(self.iteration)

    def check(self) -> None:
        for place, writers in self.writers.items():
            if len(writers) > 1 or self.readers.get(place, set()) - writers:
                raise Race(f"iterations {sorted(writers)} write what {sorted(self.readers[place])} read")


class Watched(np.ndarray):
    """An array that notes what is read and written through it."""

    log: _Log = _Log()

    def _part(self, index: Any) -> np.ndarray:
        index = index if isinstance(index, tuple) else (index,)
        return super().__getitem__((*index, ...)) if ... not in index else super().__getitem__(index)

    def __getitem__(self, index):
        found = super().__getitem__(index)
        if not isinstance(found, np.ndarray) or not np.may_share_memory(found, self):
            Watched.log.note(self._part(index), "r")
        return found

    def __setitem__(self, index, value):
        Watched.log.note(self._part(index), "w")
        super().__setitem__(index, value)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        for x in inputs:
            if isinstance(x, Watched):
                Watched.log.note(x, "r")
        for x in out or ():
            if isinstance(x, Watched):
                Watched.log.note(x, "w")
        plain = [x.view(np.ndarray) if isinstance(x, Watched) else x for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(x.view(np.ndarray) for x in out)
        found = getattr(ufunc, method)(*plain, **kwargs)
        return out[0] if out is not None else found


def watched_prange(*bounds: int):
    """`prange` that notes the iteration, runs them in another order than a serial loop, and checks at the end."""
    log = Watched.log = _Log()
    for k in reversed(range(*bounds)):
        log.iteration = k
        yield k
    log.iteration = None
    log.check()


def parallel(function: Any, *args: Any, wrt: tuple[int, ...] | None = None, **options: Any) -> Generated:
    """The generated gradient of a function that is compiled with ``parallel=True``."""
    program = optimize(frontend.read(njit(parallel=True)(function), types_of(args)))
    return reverse.emit(program, VjpRequest(floats(args) if wrt is None else wrt, **options))


class _Numpy:
    """NumPy, whose new arrays are watched."""

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype=float):
        return self._new(np.full(shape, np.nan if np.dtype(dtype).kind == "f" else 1, dtype))

    def zeros(self, shape, dtype=float):
        return self._new(np.zeros(shape, dtype))

    def zeros_like(self, array):
        return self._new(np.zeros(array.shape, array.dtype))

    def _new(self, array):
        Watched.log.alive.append(array)
        return array.view(Watched)


def watching(made: Generated) -> Any:
    """The generated function in Python, on watched memory.

    Raises
    ------
    Race
        When it is called and two iterations of a parallel loop meet.
    """
    namespace = dict(made.namespace)
    for name, value in namespace.items():
        if value is numba.prange:
            namespace[name] = watched_prange
        elif value is np:
            namespace[name] = _Numpy()
        elif value in (np.empty, np.zeros) if callable(value) else False:
            namespace[name] = getattr(_Numpy(), value.__name__)
    run = in_python(Generated(made.source, namespace, made.name))

    def watched(*args):
        return run(*(a.view(Watched) if isinstance(a, np.ndarray) else a for a in args))

    return watched


def loops(made: Generated) -> int:
    """How many loops of the generated source run in parallel."""
    return sum(f"in {name}(" in line for line in made.source.splitlines() for name, value in made.namespace.items()
               if value is numba.prange)  # fmt: skip
