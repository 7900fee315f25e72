"""What the benchmarks share: a quiet process, timing, and the tables they print.

`quiet_process` must run before NumPy is imported; benchmark modules call it at their top.
"""

from __future__ import annotations

import argparse
import atexit
import ctypes
import gc
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

SINGLE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MARK = "JITGRAD_BENCHMARK"


def quiet_environment() -> dict[str, str]:
    """The environment of a process with one thread, and BLAS's own choice of kernel."""
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    return {**environment, **dict.fromkeys(SINGLE, "1"), MARK: str(os.getpid())}


def quiet_process() -> None:
    """Start this command again with one thread, BLAS's own choice of kernel, and an empty Numba cache.

    BLAS and Numba read these settings from the environment while they load, so setting them from a
    running process would come too late. The cache is removed when the command ends.
    """
    if mark := os.environ.get(MARK):
        if mark == str(os.getpid()):  # not a child, whose cache is the parent's
            atexit.register(shutil.rmtree, os.environ["NUMBA_CACHE_DIR"], ignore_errors=True)
        return
    environment = {**quiet_environment(), "NUMBA_CACHE_DIR": tempfile.mkdtemp(prefix="jitgrad-benchmark-")}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def pin() -> None:
    """Keep this process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


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


class Pair(NamedTuple):
    """CPU seconds of two calls, and the cost of the second over the first."""

    first: float
    second: float
    ratio: float


def pair_times(
    first: Callable[[], object], second: Callable[[], object], *, least: float = 0.5, repeats: int = 15
) -> Pair:
    """Medians of two calls in turns, and of the ratios of neighbours.

    What disturbs the machine for a while falls on both. The CPU time is that of all threads of the process. Both calls
    are made once before, so that nothing is compiled while it is timed.

    Examples
    --------
    >>> from benchmarks.measure import pair_times
    >>> pair = pair_times(lambda: sum(range(100)), lambda: sum(range(10_000)), least=0.0, repeats=3)
    >>> bool(pair.second > pair.first and pair.ratio > 1.0)
    True
    """
    calls = first, second
    inner, once = [], 0.0
    for call in calls:
        call()
        took = max(seconds(call), 1e-7)
        inner.append(max(1, int(1e-3 / took)))
        once += took * inner[-1]
    samples = max(repeats, min(200, int(0.5 * least / once)))
    times: list[list[float]] = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(samples):
            row = []
            for call, count in zip(calls, inner, strict=True):
                call()  # the caches are its own again
                start = time.process_time()
                for _ in range(count):
                    call()
                row.append((time.process_time() - start) / count)
            times.append(row)
    finally:
        gc.enable()
    each = zip(*times, strict=True)
    ratio = statistics.median(two / max(one, 1e-12) for one, two in times)
    return Pair(*map(statistics.median, each), ratio)


def seconds(call: Callable[[], object]) -> float:
    """Wall seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _kilobytes(name: str) -> int:
    return next(int(line.split()[1]) for line in STATUS.read_text().splitlines() if line.startswith(name + ":"))


def peak(call: Callable[[], object]) -> int | None:
    """Bytes of resident memory that one call adds at its peak; None where the system does not tell (not Linux)."""
    try:
        CLEAR.write_text("5")  # the peak starts over
        before = _kilobytes("VmRSS")
    except OSError:
        return None
    call()
    return 1024 * (_kilobytes("VmHWM") - before)


def release_memory() -> None:
    """Give what is freed back to the system, so that `peak` sees it being taken again; only with glibc."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def chosen(parser: argparse.ArgumentParser, names: Sequence[str], known: Collection[str], what: str) -> list[str]:
    """The names of a command line, all that are known where it has none; an error of the parser for others."""
    unknown = set(names) - set(known)
    if unknown:
        parser.error(f"unknown {what} {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return list(names or known)


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
