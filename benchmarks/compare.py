"""What a gradient costs over its function, here and in other libraries: the measurements of `jitgrad bench`.

Each library is measured in a process of its own, one after the other, on one core and one thread; the figures are
medians of CPU time. A gradient that differs from jitgrad's is marked as wrong.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.gradbench import data, protocol
from benchmarks.peers.processes import measured
from benchmarks.peers.worker import save
from benchmarks.programs import PROGRAMS, WRT, inputs

SUITES = {"programs": list(PROGRAMS), "gradbench": list(protocol.PROBLEMS)}
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Effort:
    """How long to measure: samples of each figure, and seconds for them all."""

    repeats: int = 15
    least: float = 0.5


@dataclass(frozen=True)
class Measurement:
    """One gradient in one library.

    Attributes
    ----------
    suite, program, size, library : str
    primal, gradient : float
        Seconds; `primal` is nan where a problem has no function of its own to compare with.
    ratio : float
        The median of ``gradient / primal``.
    wrong : bool
        Whether the gradient differs from jitgrad's (of GradBench, from the suite's answer).
    """

    suite: str
    program: str
    size: str
    library: str
    primal: float
    gradient: float
    ratio: float
    wrong: bool


@contextmanager
def arguments(names: Iterable[str], small: bool) -> Iterator[Path]:
    """A folder with the arguments of programs, for workers."""
    with tempfile.TemporaryDirectory(prefix="jitgrad-bench-") as folder:
        for name in names:
            save(Path(folder) / f"{name}.npz", inputs(name, big=not small), WRT[name])
        yield Path(folder)


def programs(
    library: str, python: str, folder: Path, names: Sequence[str], small: bool, effort: Effort
) -> Iterator[Measurement]:
    """Measure a library on programs whose `arguments` are in a folder.

    jitgrad must come first: the gradients of the others are compared with its.
    """
    request = {"library": library, "folder": str(folder), "names": [*names], **asdict(effort)}
    for row in measured("benchmarks.peers.worker", python, request):
        mine, theirs = (folder / f"{row['program']}.{each}.npz" for each in ("jitgrad", library))
        yield Measurement(
            suite="programs", size="small" if small else "large", library=library, wrong=differ(mine, theirs), **row
        )


def gradbench(python: str, jax: str | None, names: Sequence[str], small: bool, effort: Effort) -> Iterator[Measurement]:
    """Measure jitgrad on problems of GradBench, and JAX if `jax` is a Python that has it."""
    request = {"names": [*names], "small": small, "jax": jax, **asdict(effort)}
    for row in measured("benchmarks.peers.gradbench_worker", python, request):
        yield Measurement(suite="gradbench", **row)


def gradbench_is_there() -> bool:
    """Whether the suite's inputs are."""
    return any(data.sizes(name) for name in protocol.PROBLEMS if name != "hello")


def differ(mine: Path, theirs: Path) -> bool:
    """Whether two files of gradients differ in shape, or by more than rounding of the largest entry."""
    with np.load(mine) as one, np.load(theirs) as other:
        if one.files != other.files:
            return True
        for key in one.files:
            a, b = one[key], other[key]
            if a.shape != b.shape or not np.max(np.abs(a - b)) <= TOLERANCE * max(1.0, np.max(np.abs(a))):
                return True
    return False


def as_csv(measurements: Iterable[Measurement]) -> str:
    """One line for each, times in seconds."""
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Measurement)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(map(asdict, measurements))
    return text.getvalue()
