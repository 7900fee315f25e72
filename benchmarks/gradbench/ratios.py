"""The cost of each derivative over its function, beside the project's bars and JAX; whether the answers are right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.gradbench import data, protocol
from benchmarks.measure import SINGLE, human, median_time, print_table, warm_memory

# Derivative over function on the inputs of size M.
BARS = {"gmm": 3, "lstm": 4, "ode": 3, "llsq": 3, "lse": 3, "kmeans": 2, "det": 8, "ht": 8, "ba": 9}


@dataclass
class Row:
    """Median seconds by function: ours, and JAX's where it runs."""

    name: str
    primal: str | None
    ours: dict[str, float] = field(default_factory=dict)
    jax: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def missed(self, function: str, size: str) -> bool:
        """Whether a derivative costs more than its bar or than JAX's; the bars are for size M."""
        if function == self.primal or size != "M":
            return False
        over = self.name in BARS and self.ratio(function) > BARS[self.name]
        return over or self.ours[function] > self.jax.get(function, float("inf"))

    def ratio(self, function: str) -> float:
        return self.ours[function] / self.ours[self.primal] if self.primal else float("nan")

    def cells(self, function: str, size: str) -> list[str]:
        derivative = self.primal is not None and function != self.primal
        jax = self.jax.get(function)
        return [
            self.name,
            function,
            human(self.ours[function]),
            f"{self.ratio(function):.2f}" if derivative else "",
            f"{BARS[self.name]}" if derivative and self.name in BARS else "",
            human(jax) if jax else "",
            f"{jax / self.ours[function]:.1f}" if jax else "",
            "WRONG" if function in self.wrong else "over" if self.missed(function, size) else "ok",
        ]


HEADER = ["problem", "function", "time", "ratio", "bar", "JAX", "JAX / ours", ""]


def wrong(name: str, size: str) -> dict[str, str]:
    """The functions of a problem whose answer is wrong, and where."""
    given = data.load_input(name, size)
    found = {}
    for function, entry in protocol.load(name).FUNCTIONS.items():
        got = entry.finish(entry.run(*entry.prepare(given)))
        if (problem := data.difference(got, data.load_answer(name, size, function))) is not None:
            found[function] = problem
    return found


def check(names: list[str], size: str | None) -> int:
    """Compare every answer with the stored one."""
    good = True
    for name in names:
        sizes = [s for s in data.sizes(name) if size in (None, s)]
        if not sizes:
            print(f"{name}: no input in {data.directory()}")
            good = False
        for each in sizes:
            problems = wrong(name, each)
            good &= not problems
            for function in protocol.load(name).FUNCTIONS:
                print(f"{name} {each} {function}: {problems.get(function, 'right')}", flush=True)
    return 0 if good else 1


def jax_times(name: str, size: str, python: str) -> dict[str, float]:
    """Median seconds of the JAX version by function; empty where there is none, or no JAX."""
    script = Path(__file__).parent / "peers" / "jax_peer.py"
    environment = {
        **os.environ,
        **dict.fromkeys(SINGLE, "1"),
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    done = subprocess.run(
        [python, str(script), name, size], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"{name}: JAX failed\n{done.stderr}", file=sys.stderr)
        return {}
    return json.loads(done.stdout.splitlines()[-1])


def measure(name: str, size: str, jax_python: str) -> Row:
    module = protocol.load(name)
    row = Row(name, module.PRIMAL, wrong=list(wrong(name, size)))
    given = data.load_input(name, size)
    warm_memory()
    for function, entry in module.FUNCTIONS.items():
        arguments = entry.prepare(given)
        row.ours[function] = median_time(lambda: entry.run(*arguments))  # noqa: B023  (called at once)
    row.jax = jax_times(name, size, jax_python)
    return row


def report(names: list[str], size: str, jax_python: str) -> int:
    """Measure, and print the table."""
    rows = []
    for name in names:
        own = size if size in data.sizes(name) else "S"
        if own not in data.sizes(name):
            raise SystemExit(f"{name}: no input in {data.directory()}")
        row = measure(name, own, jax_python)
        rows += [(row, function, own) for function in row.ours]
        for function in row.ours:
            print(" ".join(cell for cell in row.cells(function, own) if cell), file=sys.stderr, flush=True)
    print_table(
        f"GradBench, size {size}, one thread", HEADER, [row.cells(function, own) for row, function, own in rows]
    )
    bad = [
        f"{row.name} {function}" for row, function, own in rows if function in row.wrong or row.missed(function, own)
    ]
    if bad:
        print("wrong or over the bar:", ", ".join(bad))
    return 1 if bad else 0
