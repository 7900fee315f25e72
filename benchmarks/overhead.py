"""What a gradient costs besides its arithmetic: the call, the start of a process, the first compilation.

    python -m benchmarks.overhead [call] [warm] [cold]

call    a gradient of a function of two floats against a plain njit call; bar 3x
warm    the first gradient in a new process whose disk cache is filled, beyond Numba's import; bar 1.5 s
cold    the first gradient against the first call of the primal, scalar loops, nothing cached; bar 5x

Exit status 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

from benchmarks.measure import human, median_time, print_table, quiet_process

if __name__ == "__main__":
    quiet_process()

CALL_BAR, WARM_BAR, COLD_BAR = 3.0, 1.5, 5.0
COLD_PROGRAMS = ("poly", "rosen", "logsumexp", "newton_sqrt", "heat", "logdet", "nbody", "early")

# Run in a process of its own: {name} is a program of benchmarks.programs.
WARM_SCRIPT = """
import json, time
import numba
start = time.perf_counter()
import jitgrad
imported = time.perf_counter()
from benchmarks.programs import PROGRAMS, WRT, inputs
jitgrad.grad(PROGRAMS[{name!r}], argnums=WRT[{name!r}])(*inputs({name!r}))
print(json.dumps([imported - start, time.perf_counter() - start]))
"""

# CPU time, as one thread compiles. The trivial function pays for what Numba and LLVM set up at the
# first compilation of a process.
COLD_SCRIPT = """
import json, time
import numpy as np
from numba import njit
import jitgrad
from benchmarks.programs import PROGRAMS, WRT, inputs
njit(lambda x: x[0] * 2.0)(np.ones(1))
args = inputs({name!r})
start = time.process_time()
PROGRAMS[{name!r}](*args)
middle = time.process_time()
jitgrad.grad(PROGRAMS[{name!r}], argnums=WRT[{name!r}])(*args)
first = time.process_time() - middle
print(json.dumps([middle - start, first]))
"""


def _run(script: str, name: str, cache: str) -> list[float]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, "-c", script.format(name=name)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name}: the measured process failed\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def call() -> bool:
    from numba import njit

    import jitgrad

    @njit
    def function(x, y):
        return x * math.sin(y) + y / (1.0 + x * x)

    gradient = jitgrad.grad(function, argnums=(0, 1))
    single = jitgrad.grad(function)
    plain = median_time(lambda: function(0.7, 1.3), repeats=101)
    rows = [["plain njit call", human(plain), "1.00", ""]]
    good = True
    for label, derivative in (("grad, one float", single), ("grad, two floats", gradient)):
        cost = median_time(lambda derivative=derivative: derivative(0.7, 1.3), repeats=101)
        good &= cost <= CALL_BAR * plain
        rows.append([label, human(cost), f"{cost / plain:.2f}", f"{CALL_BAR:g}"])
    print_table("one call from Python", ["call", "time", "x plain", "bar"], rows)
    return good


def warm() -> bool:
    rows, good = [], True
    with tempfile.TemporaryDirectory(prefix="jitgrad-warm-") as cache:
        for name in ("rosen", "heat", "kalman"):
            _, cold_total = _run(WARM_SCRIPT, name, cache)
            runs = sorted(_run(WARM_SCRIPT, name, cache) for _ in range(3))
            imported, total = runs[1]
            good &= total <= WARM_BAR
            rows.append([name, human(cold_total), human(imported), human(total), f"{WARM_BAR:g} s"])
    header = ["program", "cache empty", "import jitgrad", "to the first gradient", "bar"]
    print_table("a new process, beyond Numba's import", header, rows)
    return good


def cold() -> bool:
    rows, good = [], True
    for name in COLD_PROGRAMS:
        with tempfile.TemporaryDirectory(prefix="jitgrad-cold-") as cache:
            primal, gradient = _run(COLD_SCRIPT, name, cache)
        good &= gradient <= COLD_BAR * primal
        rows.append([name, human(primal), human(gradient), f"{gradient / primal:.1f}", f"{COLD_BAR:g}"])
    print_table("first call in a new process", ["program", "primal", "gradient", "x", "bar"], rows)
    return good


def main() -> int:
    parts = {"call": call, "warm": warm, "cold": cold}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="call, warm, cold; all by default")
    chosen = parser.parse_args().parts or list(parts)
    unknown = set(chosen) - set(parts)
    if unknown:
        parser.error(f"unknown parts {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    good = [parts[part]() for part in chosen]  # every part runs, also after a missed bar
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
