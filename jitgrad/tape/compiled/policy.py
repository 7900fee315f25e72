"""When compiling a structure pays.

Numba takes between a fraction of a second and minutes for a backward program, a sweep under NumPy often less than a
millisecond. So a structure is compiled when it is met for the third time, but not before the time that sweeps have
taken stands in a proportion to what compiling will take: a training loop gets its compiled sweep, a program whose
structures keep changing is never slowed down to more than about twice its time.

Both times are estimated from what was recorded, not measured: the two kinds of sweep differ in rounding, and the same
program must give the same bits every time it runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitgrad.tape.recording import Node

GRACE = 2.0
"""What compiling a structure may take, in seconds, without having been earned by its own sweeps."""

ADVANCE = 4.0
"""What all compilations together may take before sweeps have taken any time."""


class Met:
    """How a structure was met.

    Attributes
    ----------
    count : int
        How often, as long as it was not compiled.
    seconds : float
        That its sweeps under NumPy take in all.
    kept : set of int
        The operations whose results were still in use when a recording was released.
    wholes : int
        How many whole programs were compiled for it.
    """

    __slots__ = ("count", "kept", "seconds", "wholes")

    def __init__(self) -> None:
        self.count = 0
        self.seconds = 0.0
        self.kept: set[int] = set()
        self.wholes = 0


class Account:
    """What sweeps under NumPy and compilations take in this process, in seconds."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.swept = self.compiled = 0.0

    def sweep(self, met: Met, nodes: Sequence[Node], times: int = 1) -> None:
        """`nodes` are swept so many times."""
        seconds = times * sweeping(nodes)
        met.seconds += seconds
        self.swept += seconds

    def compile(self, nodes: Sequence[Node]) -> None:
        """The sweep of `nodes` is compiled."""
        self.compiled += compiling(nodes)

    def allows(self, met: Met, nodes: Sequence[Node]) -> bool:
        """Whether a structure is to be compiled now."""
        cost = compiling(nodes)
        return self.compiled + cost <= ADVANCE + self.swept and (cost <= GRACE or cost <= met.seconds)


def compiling(nodes: Sequence[Node]) -> float:
    """Seconds that compiling the backward sweep of `nodes` will take, roughly.

    Measured on two programs: chains of elementwise operations, and a recurrent network, whose products of matrices are
    what costs most.
    """
    size = len(nodes)
    products = sum(node.primitive.name in ("MatMul", "Einsum", "Tensordot") for node in nodes)
    return (0.2 + 0.005 * size + 0.2 * products) * (1.0 + size / 400.0)


def sweeping(nodes: Sequence[Node]) -> float:
    """Seconds that a sweep of `nodes` under NumPy takes, roughly: for each operation, and for each number it made."""
    numbers = sum(out.size for node in nodes for out in (node.out if type(node.out) is tuple else (node.out,)))
    return 5e-6 * len(nodes) + 5e-9 * numbers
