"""Cost against size, and the memory of the tape: one program of each kind.

    python -m benchmarks.scaling [--small] [--plot FILE] [names...]

elementwise   logsumexp of n numbers
stencil       heat on n cells, 20 steps
dense         logdet, an elimination of an n x n matrix
recurrence    rk4_lv, n steps of which each needs the one before

Columns: CPU time of the function and of `value_and_grad`; their ratio; how many bytes the gradient takes at its peak
beyond what the function takes (tape, shadows and results) for each operation of the function, arithmetic or elementary,
where that is enough memory to be seen; and the power of n with which the gradient's time grows between the two largest
sizes.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import (
    chosen,
    human,
    pair_times,
    peak,
    pin,
    print_table,
    quiet_process,
    release_memory,
    warm_memory,
)

if __name__ == "__main__":
    quiet_process()

import numpy as np

import jitgrad
from benchmarks.programs import PROGRAMS, WRT
from jitgrad.runtime import arena

SIZE = (9.0, 3.2)
STEPS = 20
SEEN = 1_000_000
"""Bytes below which the memory of a call drowns in that of the process."""


@dataclass(frozen=True)
class Kind:
    """A program at several sizes.

    Attributes
    ----------
    program : str
    sizes : tuple of int
    arguments : function
        Of n.
    operations : function
        How many operations the function does, of n; counted in its source.
    """

    program: str
    sizes: tuple[int, ...]
    arguments: Callable[[int], tuple]
    operations: Callable[[int], float]


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(11).normal(size=shape)


KINDS = {
    "elementwise": Kind("logsumexp", (1_000, 10_000, 100_000, 1_000_000), lambda n: (_random(n),), lambda n: 4.0 * n),
    "stencil": Kind(
        "heat", (1_000, 10_000, 100_000, 400_000), lambda n: (_random(n), 0.2, STEPS), lambda n: 9.0 * n * STEPS
    ),
    "dense": Kind(
        "logdet", (50, 100, 200, 400), lambda n: (_random(n, n) + n * np.eye(n),), lambda n: 2.0 / 3.0 * n**3
    ),
    "recurrence": Kind(
        "rk4_lv",
        (100, 1_000, 10_000, 100_000),
        lambda n: (np.array([1.5, 1.0, 3.0, 1.0]), np.array([1.0, 1.1]), n),
        lambda n: 65.0 * n,
    ),
}


@dataclass(frozen=True)
class Point:
    """What was measured at one size; `bytes_per_operation` is None where the memory is too little to be seen."""

    kind: str
    n: int
    primal: float
    gradient: float
    ratio: float
    bytes_per_operation: float | None


def measure(name: str, n: int, least: float = 0.3) -> Point:
    """Times and memory of one kind at one size."""
    kind = KINDS[name]
    function, args = PROGRAMS[kind.program], kind.arguments(n)
    gradient = jitgrad.value_and_grad(function, argnums=WRT[kind.program])
    small = kind.arguments(kind.sizes[0])
    function(*small)
    gradient(*small)  # compiled
    taken = []
    for call in (function, gradient):
        arena.drain()
        release_memory()
        taken.append(peak(lambda call=call: call(*args)))  # type: ignore[misc]
    extra = None if None in taken else taken[1] - taken[0]
    pair = pair_times(lambda: function(*args), lambda: gradient(*args), least=least, repeats=5)
    memory = extra / kind.operations(n) if extra is not None and extra >= SEEN else None
    return Point(name, n, pair.first, pair.second, pair.ratio, memory)


def growth(points: Sequence[Point]) -> float:
    """The power of n with which the gradient's time grows between the last two points."""
    one, two = points[-2:]
    return math.log(two.gradient / one.gradient) / math.log(two.n / one.n)


def rows(points: Sequence[Point]) -> list[list[str]]:
    """The lines of the table."""
    lines = []
    for name in dict.fromkeys(p.kind for p in points):
        own = [p for p in points if p.kind == name]
        for p in own:
            last = p is own[-1] and len(own) > 1
            lines.append(
                [
                    name,
                    f"{p.n:,}",
                    human(p.primal),
                    human(p.gradient),
                    f"{p.ratio:.2f}",
                    "" if p.bytes_per_operation is None else f"{p.bytes_per_operation:.2f}",
                    f"{growth(own):.2f}" if last else "",
                ]
            )
    return lines


def draw(figure: Any, points: Sequence[Point]) -> None:
    """Three panels over n: the gradient's time, its ratio, its memory."""
    panels = figure.subplots(1, 3)
    what: tuple[tuple[str, Callable[[Point], float | None]], ...] = (
        ("CPU time of the gradient in s", lambda p: p.gradient),
        ("gradient / function", lambda p: p.ratio),
        ("bytes per operation", lambda p: p.bytes_per_operation),
    )
    for axes, (label, value) in zip(panels, what, strict=True):
        for k, name in enumerate(KINDS):
            shown = [(p.n, value(p)) for p in points if p.kind == name and value(p) is not None]
            axes.plot([n for n, _ in shown], [y for _, y in shown], marker="os^D"[k], color=f"C{k}", label=name)
        axes.set(xscale="log", xlabel="n", ylabel=label)
        axes.grid(alpha=0.3)
    panels[0].set_yscale("log")
    for axes in panels[1:]:
        axes.set_ylim(bottom=0.0)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(KINDS))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="kinds, all by default")
    parser.add_argument("--small", action="store_true", help="the two smallest sizes only")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a PNG, SVG or PDF file for a picture")
    options = parser.parse_args(arguments)
    names = chosen(parser, options.names, KINDS, "kinds")
    if options.plot:
        from jitgrad.cli import plots

        try:
            kind = plots.kind_of(options.plot)
        except jitgrad.JitgradError as error:
            parser.error(str(error))
    warm_memory()
    points = []
    for name in names:
        for n in KINDS[name].sizes[: 2 if options.small else None]:
            points.append(measure(name, n))
            print(name, n, human(points[-1].gradient), file=sys.stderr, flush=True)
    header = ["kind", "n", "function", "gradient", "ratio", "bytes / operation", "growth"]
    print_table("cost against size, one thread", header, rows(points))
    if options.plot:
        figure = plots.new_figure(figsize=SIZE)
        draw(figure, points)
        plots.save(figure, options.plot, kind)
        print("the picture is", options.plot)
    return 0


if __name__ == "__main__":
    pin()
    sys.exit(main())
