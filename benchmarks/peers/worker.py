"""Measuring one library, by a Python that has it: ``python -m benchmarks.peers.worker REQUEST``.

The request is the arguments of `main` in JSON. The folder has ``NAME.npz`` for each program to measure: its arguments
in order, and which of them to differentiate. The answer is one JSON object a line, with the medians of a program that
the library has; the gradients go into ``NAME.LIBRARY.npz`` in the folder.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np

from benchmarks.measure import pair_times, pin, warm_memory
from benchmarks.peers.processes import LIBRARIES


def main(library: str, folder: str, names: list[str], repeats: int, least: float) -> None:
    place = Path(folder)
    module, build = LIBRARIES[library].build
    built_by = getattr(importlib.import_module(module), build)
    warm_memory()
    for name in names:
        args, wrt = load(place / f"{name}.npz")
        built = built_by(name, args, wrt)
        if built is None:
            continue
        np.savez(place / f"{name}.{library}.npz", *built.arrays(built.gradient()))
        pair = pair_times(built.primal, built.gradient, least=least, repeats=repeats)
        times = dict(zip(("primal", "gradient", "ratio"), pair, strict=True))
        print(json.dumps({"program": name, **times}), flush=True)


def save(path: Path, args: tuple, wrt: tuple[int, ...]) -> None:
    """Keep the arguments of a program for `load`."""
    np.savez(path, np.array(wrt), *args)


def load(path: Path) -> tuple[tuple, tuple[int, ...]]:
    """The arguments of a program, numbers as Python's, and which to differentiate."""
    with np.load(path) as saved:
        wrt, *args = (saved[f"arr_{k}"] for k in range(len(saved.files)))
    return tuple(a if a.ndim else a.item() for a in args), tuple(wrt.tolist())


if __name__ == "__main__":
    pin()
    main(**json.loads(sys.argv[1]))
