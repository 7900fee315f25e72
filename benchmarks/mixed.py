"""Forward mode in several directions, and Hessians against gradients.

``directions`` prints the cost of one sweep with 1, 4, 8 and 16 directions over the cost of the function, and how long
each takes to compile; ``hessian`` the cost of a Hessian in 100 variables over that of one gradient. The exit status is
1 where a Hessian costs more than `HESSIAN_BAR` gradients.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import measure

measure.quiet_process()

import numpy as np  # noqa: E402

import jitgrad as jg  # noqa: E402
from benchmarks import programs  # noqa: E402
from jitgrad.backend import derivative  # noqa: E402
from jitgrad.transforms.request import JvpRequest  # noqa: E402

WIDTHS = (1, 4, 8, 16)
HESSIAN_BAR = 25.0  # n / 4 for n = 100


def _directions() -> list[list[str]]:
    rng = np.random.default_rng(0)
    rows = []
    cases = {
        "rosen": (rng.normal(size=1000),),
        "logsumexp": (rng.normal(size=1000),),
        "nbody": programs.inputs("nbody"),
        "heat": (rng.normal(size=200), 0.1, 20),
    }
    for name, args in cases.items():
        fun = getattr(programs, name)
        wrt = programs.WRT[name]
        primal = measure.median_time(lambda fun=fun, args=args: fun(*args))
        row = [name, measure.human(primal)]
        for width in WIDTHS:
            axis = (width,) if width > 1 else ()
            tangents = tuple(rng.normal(size=np.shape(args[k]) + axis) for k in wrt)
            tangents = tuple(t if t.ndim else float(t) for t in map(np.asarray, tangents))
            pushed = derivative(fun, JvpRequest(wrt, width=width))
            compiling = measure.seconds(lambda p=pushed, t=tangents, a=args: p(t, *a))
            cost = measure.median_time(lambda p=pushed, t=tangents, a=args: p(t, *a)) / primal
            row.append(f"{cost:.1f} ({compiling:.1f} s)")
        rows.append(row)
    return rows


def _hessians() -> tuple[list[list[str]], bool]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    rows, fine = [], True
    for name in ("rosen", "logsumexp"):
        fun = getattr(programs, name)
        gradient, hessian, plain = jg.grad(fun), jg.hessian(fun), jg.hessian(fun, chunk=1)
        np.testing.assert_allclose(hessian(x), plain(x), rtol=1e-12, atol=1e-12)
        one = measure.median_time(lambda g=gradient: g(x))
        costs = [measure.median_time(lambda h=h: h(x)) / one for h in (hessian, plain)]
        rows.append([name, measure.human(one), *(f"{cost:.1f}" for cost in costs)])
        fine &= costs[0] <= HESSIAN_BAR
    return rows, fine


PARTS = ("directions", "hessian")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mixed", description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; both by default")
    names = measure.chosen(parser, parser.parse_args(arguments).parts, PARTS, "parts")
    measure.warm_memory()
    fine = True
    if "directions" in names:
        header = ["program", "primal", *(f"{w} directions (compiling)" for w in WIDTHS)]
        measure.print_table("cost of a sweep over the function", header, _directions())
    if "hessian" in names:
        rows, fine = _hessians()
        header = ["program", "gradient", "Hessian / gradient", "one column to a sweep"]
        measure.print_table(f"Hessian in 100 variables (bar: {HESSIAN_BAR:g} gradients)", header, rows)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
