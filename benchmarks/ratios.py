"""The cost of a gradient over its primal, program by program, beside adjoints written by hand.

    python -m benchmarks.ratios [--big] [--transform grad] [--math fast] [--repeats N] [names...]

Columns: CPU time of the primal, ratios of `value_and_grad` (or `grad`) and of the hand-written adjoints to it,
the bar the project has set itself, the first call of primal and gradient (compile time, nothing cached), and
the largest relative deviation from central differences on the small inputs. Exit status 1 when a gradient is wrong or,
with --big, a bar is missed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from benchmarks.measure import chosen, human, median_time, print_table, quiet_process, seconds, warm_memory

if __name__ == "__main__":
    quiet_process()

import numpy as np
from numba import njit

import jitgrad
from benchmarks import hand
from benchmarks.programs import PROGRAMS, WRT, central_differences, inputs

TOLERANCE = 1e-6
BARS = {
    "rosen": 3.3,
    "logsumexp": 1.6,
    "rk4_lv": 3.0,
    "heat": 2.5,
    "gmm": 3.0,
    "logdet": 3.5,
    "mlp_loss": 2.2,
    "kalman": 4.0,
    "nbody": 2.6,
}


@dataclass
class Row:
    name: str
    primal: float = float("nan")
    ratio: float = float("nan")
    two_sweeps: float | None = None
    fused: float | None = None
    compile_primal: float = float("nan")
    compile_gradient: float = float("nan")
    deviation: float = float("inf")
    error: str = ""

    @property
    def bar(self) -> float | None:
        return BARS.get(self.name)

    @property
    def within_bar(self) -> bool:
        return self.bar is None or self.ratio <= self.bar

    def cells(self, big: bool) -> list[str]:
        if self.error:
            return [self.name, *["-"] * 8, self.error]
        mark = "" if not big or self.bar is None else (" ok" if self.within_bar else " over")
        right = self.deviation <= TOLERANCE
        return [
            self.name,
            human(self.primal),
            f"{self.ratio:.2f}",
            _ratio(self.bar) + mark,
            _ratio(self.two_sweeps),
            _ratio(self.fused),
            human(self.compile_primal),
            human(self.compile_gradient),
            f"{self.compile_gradient / self.compile_primal:.1f}",
            f"{self.deviation:.0e}" + ("" if right else " WRONG"),
        ]


HEADER = ["program", "primal", "ratio", "bar", "hand", "fused", "compile", "gradient's", "x", "deviation"]


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def deviation(name: str, gradients: tuple) -> float:
    """The largest deviation from central differences, relative to each gradient's largest entry."""
    worst = 0.0
    for position, got in zip(WRT[name], gradients, strict=True):
        want = central_differences(PROGRAMS[name], inputs(name), position)
        scale = max(1.0, float(np.max(np.abs(want))))
        if np.shape(got) != np.shape(want):
            return float("inf")
        worst = max(worst, float(np.max(np.abs(got - want))) / scale)
    return worst if np.isfinite(worst) else float("inf")


def warm_compiler() -> None:
    """Compile one small function and gradient: LLVM and the engine start up once, outside what is timed."""

    @njit
    def small(x):
        s = 0.0
        for i in range(x.size):
            s += x[i] * x[i]
        return s

    jitgrad.value_and_grad(small)(np.ones(2))
    small(np.ones(2))


def measure(name: str, transform: str, math: str, big: bool, repeats: int) -> Row:
    row = Row(name)
    primal = PROGRAMS[name]
    with jitgrad.options(math=math):
        gradient = getattr(jitgrad, transform)(primal, argnums=WRT[name])
    row.compile_primal = seconds(lambda: primal(*inputs(name)))
    try:
        row.compile_gradient = seconds(lambda: gradient(*inputs(name)))
        result = gradient(*inputs(name))
        row.deviation = deviation(name, result if transform == "grad" else result[1])
    except jitgrad.JitgradError as error:
        row.error = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        return row
    args = inputs(name, big)  # no program writes into its arguments
    warm_memory()
    row.primal = median_time(lambda: primal(*args), repeats=repeats)
    row.ratio = median_time(lambda: gradient(*args), repeats=repeats) / row.primal
    if name in hand.TWO_SWEEPS:
        row.two_sweeps = median_time(lambda: hand.TWO_SWEEPS[name](*args), repeats=repeats) / row.primal
    if name in hand.FUSED:
        row.fused = median_time(lambda: hand.FUSED[name](*args), repeats=repeats) / row.primal
    return row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ratios", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs to run, all by default")
    parser.add_argument("--big", action="store_true", help="the large inputs, which the bars are about")
    parser.add_argument("--transform", choices=("value_and_grad", "grad"), default="value_and_grad")
    parser.add_argument("--math", choices=("partials", "libm", "fast"), default="partials", help="see jitgrad.options")
    parser.add_argument("--repeats", type=int, default=15, help="samples per timing")
    options = parser.parse_args()
    names = chosen(parser, options.names, PROGRAMS, "programs")
    warm_compiler()
    rows = []
    for name in names:
        rows.append(measure(name, options.transform, options.math, options.big, options.repeats))
        print(" ".join(cell for cell in rows[-1].cells(options.big) if cell), file=sys.stderr, flush=True)
    size = "large" if options.big else "small"
    print_table(f"gradient / primal, {size} inputs, one thread", HEADER, [r.cells(options.big) for r in rows])
    wrong = [row.name for row in rows if not row.deviation <= TOLERANCE]
    slow = [row.name for row in rows if options.big and not row.error and not row.within_bar]
    if wrong:
        print("wrong:", ", ".join(wrong))
    if slow:
        print("over the bar:", ", ".join(slow))
    return 1 if wrong or slow else 0


if __name__ == "__main__":
    sys.exit(main())
