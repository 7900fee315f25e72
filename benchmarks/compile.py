"""The first gradient of a process against the first call of its function, nothing cached.

    python -m benchmarks.compile [--repeat N] [names...]

Each figure is the CPU time of one call in a process of its own with an empty cache directory, after numba and jitgrad
were imported; with --repeat the median of several. The first call of a process also pays for what Numba and LLVM set
up once. Hence two pairs of columns: `first` includes that, on both sides; `later` is measured after a trivial function
was compiled, which is the harder comparison. The gradient always pays for the parts of jitgrad that are imported when
code is generated. Exit status 1 when a scalar loop is over the bar in either.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

from benchmarks.measure import chosen, human, print_table, quiet_process

if __name__ == "__main__":
    quiet_process()

BAR = 5.0
SCALAR_LOOPS = ("poly", "rosen", "logsumexp", "newton_sqrt", "heat", "logdet", "nbody", "early")
HEADER = ["program", "first: primal", "gradient", "x", "later: primal", "gradient", "x", "bar"]

# CPU time, as one thread compiles.
SCRIPT = """
import time
import numba, numpy, jitgrad
from benchmarks.programs import PROGRAMS, WRT, inputs
args, function = inputs({name!r}), PROGRAMS[{name!r}]
{before}
start = time.process_time()
{call}
print(time.process_time() - start)
"""
NOTHING, TRIVIAL = "", "numba.njit(lambda x: x[0] * 2.0)(numpy.ones(1))"
PRIMAL, GRADIENT = "function(*args)", "jitgrad.grad(function, argnums=WRT[{name!r}])(*args)"


def cpu_time(name: str, before: str, call: str, bytecode: str) -> float:
    """CPU seconds of one call, in a new process that finds Python's bytecode in a directory, as if installed."""
    with tempfile.TemporaryDirectory(prefix="jitgrad-compile-") as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        script = SCRIPT.format(name=name, before=before, call=call.format(name=name))
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise SystemExit(f"{name}: the measured process failed\n{done.stderr}")
    return float(done.stdout.splitlines()[-1])


def measure(names: list[str], repeat: int) -> bool:
    """Print the table; whether every scalar loop is within the bar."""
    rows, good = [], True
    with tempfile.TemporaryDirectory(prefix="jitgrad-bytecode-") as bytecode:
        cpu_time("poly", NOTHING, GRADIENT, bytecode)  # not counted: it writes the bytecode
        for name in names:
            bar = BAR if name in SCALAR_LOOPS else None
            row = [name]
            for before in (NOTHING, TRIVIAL):
                # one after the other, so that what else the machine does falls on both
                pairs = [[cpu_time(name, before, call, bytecode) for call in (PRIMAL, GRADIENT)] for _ in range(repeat)]
                primal, gradient = (statistics.median(times) for times in zip(*pairs, strict=True))
                good &= bar is None or gradient <= bar * primal
                row += [human(primal), human(gradient), f"{gradient / primal:.1f}"]
            rows.append([*row, "" if bar is None else f"{bar:g}"])
            print(" ".join(rows[-1]), file=sys.stderr, flush=True)
    print_table("first call in a new process, CPU time", HEADER, rows)
    return good


def main() -> int:
    from benchmarks.programs import PROGRAMS

    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="programs to compile, all by default")
    parser.add_argument("--repeat", type=int, default=1, help="pairs of processes per figure")
    options = parser.parse_args()
    names = chosen(parser, options.names, PROGRAMS, "programs")
    return 0 if measure(names, options.repeat) else 1


if __name__ == "__main__":
    sys.exit(main())
