"""GradBench: the tool that the suite runs, checks of the answers, and measurements.

    python -m benchmarks.gradbench                           the suite's protocol on stdin and stdout
    python -m benchmarks.gradbench --check [names...]        every answer against the stored right one
    python -m benchmarks.gradbench --ratios [names...]       derivative / function, the bars, and JAX

``--size`` picks one of the sizes S and M (M for ratios, both for checks). ``--jax`` names the Python that has JAX, by
default this one. The inputs are in the directory that JITGRAD_GRADBENCH names, else in ``../shared/gradbench``. Exit
status 1 when an answer is wrong or a bar is missed.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.measure import quiet_process, warm_memory


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gradbench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true")
    what.add_argument("--ratios", action="store_true")
    parser.add_argument("--size", choices=("S", "M"))
    parser.add_argument("--jax", metavar="PYTHON", default=sys.executable)
    parser.add_argument("names", nargs="*", help="problems, all by default")
    options = parser.parse_args()
    if options.ratios:
        quiet_process()
    from benchmarks.gradbench import protocol, ratios

    names = options.names or list(protocol.PROBLEMS)
    if unknown := sorted(set(names) - set(protocol.PROBLEMS)):
        parser.error(f"unknown problems {', '.join(unknown)}; there are {', '.join(protocol.PROBLEMS)}")
    if options.ratios:
        return ratios.report(names, options.size or "M", options.jax)
    if options.check:
        return ratios.check(names, options.size)
    warm_memory()
    protocol.serve(sys.stdin, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
