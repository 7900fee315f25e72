"""Measuring GradBench's problems: ``python -m benchmarks.peers.gradbench_worker REQUEST``.

The request is the arguments of `main` in JSON; the answer one JSON object a line for each derivative: jitgrad's, and
JAX's where a Python that has it is named.
"""

from __future__ import annotations

import json
import math
import sys

from benchmarks.gradbench import data, protocol, ratios
from benchmarks.measure import pair_times, pin, warm_memory


def main(names: list[str], small: bool, jax: str | None, repeats: int, least: float) -> None:
    for name in names:
        available = data.sizes(name)
        if not available:
            continue
        size = available[0 if small else -1]
        module = protocol.load(name)
        given = data.load_input(name, size)
        wrong = ratios.wrong(name, size)
        warm_memory()
        calls = {}
        for function, entry in module.FUNCTIONS.items():
            arguments = entry.prepare(given)
            calls[function] = lambda entry=entry, arguments=arguments: entry.run(*arguments)
        peer = ratios.jax_times(name, size, jax) if jax else {}
        primal = module.PRIMAL
        for function, call in calls.items():
            if function == primal:
                continue
            row = {"program": f"{name}.{function}", "size": size}
            # Where there is no function to compare with, the derivative is the whole problem.
            pair = pair_times(calls[primal] if primal else call, call, least=least, repeats=repeats)
            mine = dict(zip(("primal", "gradient", "ratio"), pair, strict=True))
            if primal is None:
                mine |= {"primal": math.nan, "ratio": math.nan}
            print(json.dumps({**row, "library": "jitgrad", **mine, "wrong": function in wrong}), flush=True)
            if function in peer:
                theirs = {"primal": peer[primal], "gradient": peer[function], "ratio": peer[function] / peer[primal]}
                print(json.dumps({**row, "library": "jax", **theirs, "wrong": False}), flush=True)


if __name__ == "__main__":
    pin()
    main(**json.loads(sys.argv[1]))
