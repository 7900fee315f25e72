"""What the benchmarks share: a quiet process, timing, and the tables they print.

`quiet_process` must run before NumPy is imported; benchmark modules call it at their top.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable

SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MARK = "JITGRAD_BENCHMARK"


def quiet_process() -> None:
    """Start this command again with one thread, BLAS's own choice of kernel, and an empty Numba cache.

    BLAS and Numba read these settings from the environment while they load, so setting them from a
    running process would come too late.
    """
    if os.environ.get(MARK):
        return
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    environment.update(dict.fromkeys(SINGLE, "1"))
    environment["NUMBA_CACHE_DIR"] = tempfile.mkdtemp(prefix="jitgrad-benchmark-")
    environment[MARK] = "1"
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def warm_memory() -> None:
    """Touch and free a large array once, so that what is timed later does not fault its pages in."""
    import numpy as np

    array = np.empty(4_000_000)
    array.fill(1.0)
    del array


def median_time(call: Callable[[], object], *, least: float = 0.5, repeats: int = 15) -> float:
    """The median CPU seconds of one call, over at least `repeats` samples and about `least` seconds.

    A call shorter than a millisecond is repeated inside each sample, since the clock's own cost would count.
    """
    call()
    gc.collect()
    start = time.perf_counter()
    call()
    once = max(time.perf_counter() - start, 1e-7)
    inner = max(1, int(1e-3 / once))
    samples = max(repeats, min(200, int(least / (once * inner))))
    times = []
    gc.disable()
    try:
        for _ in range(samples):
            start = time.thread_time()
            for _ in range(inner):
                call()
            times.append((time.thread_time() - start) / inner)
    finally:
        gc.enable()
    return statistics.median(times)


def seconds(call: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def human(duration: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if duration >= scale:
            return f"{duration / scale:.3g} {unit}"
    return f"{duration * 1e9:.0f} ns"


def print_table(title: str, header: list[str], rows: Iterable[list[str]]) -> None:
    """Print with rich where it is installed (the `cli` extra), else as aligned text."""
    rows = list(rows)
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(row[k]) for row in [header, *rows]) for k in range(len(header))]
        print(title)
        for row in [header, *rows]:
            print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
        return
    table = Table(title=title, title_justify="left")
    for k, name in enumerate(header):
        table.add_column(name, justify="left" if k == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        console = Console(width=200)
    console.print(table)
