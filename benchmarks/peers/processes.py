"""Finding a Python that has a library, and measuring there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import quiet_environment

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = "JITGRAD_BENCH_PYTHON"
"""Environment variable: Pythons to look for libraries in, separated as in PATH."""


class PeerError(Exception):
    """A library or a Python that cannot be used; the message is one line."""


@dataclass(frozen=True)
class Library:
    """A library to measure.

    Attributes
    ----------
    title : str
    package : str
        What must be importable, and is to be installed.
    build : tuple of str
        Module and name of the function that prepares a program.
    """

    title: str
    package: str
    build: tuple[str, str]

    @property
    def peer(self) -> bool:
        """Whether it needs a package that jitgrad does not."""
        return self.package != "numba"


LIBRARIES = {
    "jitgrad": Library("jitgrad", "numba", ("benchmarks.peers.with_numba", "build")),
    "hand": Library("by hand", "numba", ("benchmarks.peers.with_numba", "build_by_hand")),
    "jax": Library("JAX", "jax", ("benchmarks.peers.with_jax", "build")),
    "torch": Library("PyTorch", "torch", ("benchmarks.peers.with_torch", "build")),
    "autograd": Library("autograd", "autograd", ("benchmarks.peers.with_autograd", "build")),
    "casadi": Library("CasADi", "casadi", ("benchmarks.peers.with_casadi", "build")),
}
PEERS = [name for name, library in LIBRARIES.items() if library.peer]


def pythons(given: Sequence[str]) -> list[str]:
    """Where to look for libraries: what is given, what the environment names, this Python.

    Raises
    ------
    PeerError
        If one of those named is no program.
    """
    named = [*given, *filter(None, os.environ.get(PYTHONS, "").split(os.pathsep))]
    found = []
    for name in named:
        path = shutil.which(name)
        if path is None:
            raise PeerError(f"{name}: no such Python; --python and {PYTHONS} take the path of an interpreter")
        found.append(os.path.abspath(path))  # not resolved: a link tells which environment it is of
    return [*dict.fromkeys([*found, sys.executable])]


def python_with(library: str, candidates: Sequence[str]) -> str | None:
    """The first Python that has a library, or None."""
    if not LIBRARIES[library].peer:
        return sys.executable
    script = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({LIBRARIES[library].package!r}) is None)"
    for python in candidates:
        # where the worker will run: a folder of that name elsewhere is no package
        done = subprocess.run([python, "-c", script], cwd=ROOT, capture_output=True, check=False)
        if done.returncode == 0:
            return python
    return None


def environment() -> dict[str, str]:
    """Of a process that measures: one thread in every library."""
    return {
        **quiet_environment(),
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
        "JAX_PLATFORMS": "cpu",
    }


def measured(module: str, python: str, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The JSON objects that a worker prints, as they come.

    Raises
    ------
    PeerError
        If the process fails.
    """
    command = [python, "-m", module, json.dumps(request)]
    # Errors go to a file: a pipe that nobody reads would fill up and stop the worker.
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    yield json.loads(line)
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [f"exit status {process.returncode}"])[-1]
            raise PeerError(f"{module} in {python} failed: {last}")
