"""Whether gradients still cost what they should over their functions: the programs, and functions with rules in loops.

    python -m benchmarks.gate [--tries N] [names...]

Only ratios are judged, never times. A ratio above its bar is measured again, up to ``--tries`` times in all, and the
lowest counts: one that is above it every time is no accident of a loud machine. The bars leave room for other machines;
they catch a tape where none was needed or a loop that no longer vectorises, not some percent. Exit status 1 when a bar
is missed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.measure import chosen, human, pair_times, pin, print_table, quiet_process, warm_memory

if __name__ == "__main__":
    quiet_process()

import numpy as np

import jitgrad
from benchmarks.programs import PROGRAMS, WRT, inputs
from benchmarks.rows import ROWS

BARS = {
    # programs
    "poly": 4.0,
    "rosen": 5.0,
    "logsumexp": 2.5,
    "newton_sqrt": 5.0,
    "rk4_lv": 4.5,
    "heat": 4.0,
    "gmm": 4.5,
    "logdet": 5.0,
    "mlp_loss": 3.5,
    "kalman": 6.0,
    "nbody": 4.0,
    "early": 8.0,
    # rows of rules
    "exp": 2.5,
    "tanh": 2.5,
    "sqrt": 4.5,
    "power": 5.5,
    "hypot": 3.5,
    "sum": 6.0,
    "cumsum": 6.0,
    "matmul": 5.0,
    "solve": 4.0,
}
"""The highest gradient / function that passes."""


@dataclass
class Result:
    """The lowest ratio of some tries."""

    name: str
    primal: float
    ratio: float
    tries: int

    @property
    def passes(self) -> bool:
        return self.ratio <= BARS[self.name]


def prepared(name: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """The function and its gradient as calls, compiled."""
    if name in PROGRAMS:
        function, wrt, args = PROGRAMS[name], WRT[name], inputs(name, big=True)
    else:
        function, args = ROWS[name]()
        wrt = tuple(k for k, a in enumerate(args) if isinstance(a, np.ndarray))
    gradient = jitgrad.value_and_grad(function, argnums=wrt)
    function(*args)
    gradient(*args)
    return lambda: function(*args), lambda: gradient(*args)


def judge(name: str, tries: int, least: float = 0.2) -> Result:
    """Measure until the ratio is within its bar, at most so many times."""
    primal, gradient = prepared(name)
    best = Result(name, float("nan"), float("inf"), 0)
    for count in range(1, tries + 1):
        pair = pair_times(primal, gradient, least=least, repeats=7)
        if pair.ratio < best.ratio:
            best.primal, best.ratio = pair.first, pair.ratio
        best.tries = count
        if best.passes:
            break
    return best


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="what to measure, all by default")
    parser.add_argument("--tries", type=int, default=4, help="measurements of a ratio before it fails")
    options = parser.parse_args(arguments)
    names = chosen(parser, options.names, BARS, "names")
    warm_memory()
    results = []
    for name in names:
        results.append(judge(name, options.tries))
        print(name, f"{results[-1].ratio:.2f}", file=sys.stderr, flush=True)
    header = ["name", "function", "ratio", "bar", "tries", ""]
    print_table(
        "gradient / function, one thread",
        header,
        [
            [r.name, human(r.primal), f"{r.ratio:.2f}", f"{BARS[r.name]:g}", f"{r.tries}", "" if r.passes else "over"]
            for r in results
        ],
    )
    failed = [f"{r.name} {r.ratio:.2f} (bar {BARS[r.name]:g})" for r in results if not r.passes]
    if failed:
        print("over the bar:", ", ".join(failed))
    return 1 if failed else 0


if __name__ == "__main__":
    pin()
    sys.exit(main())
