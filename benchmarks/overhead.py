"""What a gradient costs besides its arithmetic: the call, and the start of a process.

    python -m benchmarks.overhead [call] [warm]

call    a gradient of a function of two floats against a plain njit call; bar 3x
warm    the first gradient in a new process whose disk cache is filled, beyond Numba's import; bar 1.5 s

Exit status 1 when a bar is missed. `benchmarks.compile` measures the first compilation.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

from benchmarks.measure import chosen, human, median_time, print_table, quiet_process

if __name__ == "__main__":
    quiet_process()

CALL_BAR, WARM_BAR = 3.0, 1.5

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


def main() -> int:
    parts = {"call": call, "warm": warm}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="call, warm; both by default")
    names = chosen(parser, parser.parse_args().parts, parts, "parts")
    good = [parts[part]() for part in names]  # every part runs, also after a missed bar
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
