"""When compiling a structure pays.

Numba takes between a fraction of a second and minutes for a backward program, a sweep under NumPy often less than a
millisecond. So a structure is compiled when it is met for the third time, but not before the time that sweeps have
taken stands in a proportion to what compiling will take: a training loop gets its compiled sweep, a program whose
structures keep changing is never slowed down to more than about twice its time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from time import perf_counter

from jitgrad.tape.recording import Node

GRACE = 2.0
"""What compiling a structure may take, in seconds, without having been earned by its own sweeps."""

ADVANCE = 4.0
"""What all compilations together may take before sweeps have taken any time."""


class Met:
    """A structure that is not compiled: how often it was met, and the seconds that its sweeps took."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0


class Account:
    """What sweeps under NumPy and compilations have taken in this process, in seconds."""

    def __init__(self) -> None:
        self.swept = 0.0
        self.compiled = 0.0

    def sweep(self, met: Met, seconds: float) -> None:
        met.seconds += seconds
        self.swept += seconds

    @contextlib.contextmanager
    def sweeping(self, met: Met) -> Iterator[None]:
        """A context whose time is that of sweeps of a structure."""
        begin = perf_counter()
        yield
        self.sweep(met, perf_counter() - begin)

    def allows(self, met: Met, nodes: Sequence[Node]) -> bool:
        """Whether a structure is to be compiled now."""
        cost = estimate(nodes)
        return self.compiled + cost <= ADVANCE + self.swept and (cost <= GRACE or cost <= met.seconds)


def estimate(nodes: Sequence[Node]) -> float:
    """Seconds that compiling the backward sweep of `nodes` will take, roughly.

    Measured on two programs: chains of elementwise operations, and a recurrent network, whose products of matrices are
    what costs most.
    """
    size = len(nodes)
    products = sum(node.primitive.name in ("MatMul", "Einsum", "Tensordot") for node in nodes)
    return (0.2 + 0.005 * size + 0.2 * products) * (1.0 + size / 400.0)
