"""Where the inputs and right answers of the suite are, and whether an answer is right."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

PLACE = "JITGRAD_GRADBENCH"
SIZES = ("S", "M")
TOLERANCE = 1e-4

# Problems of one size, whose functions have one answer.
ANSWERS = {"particle": 0.2071918746486116, "saddle": [8.246324826140356e-06] * 4}


def directory() -> Path:
    """The directory in the environment variable, else beside the project."""
    return Path(os.environ.get(PLACE) or Path(__file__).parents[3] / "shared" / "gradbench")


def _load(name: str) -> Any:
    with gzip.open(directory() / f"{name}.json.gz", "rt") as file:
        return json.load(file)


def sizes(problem: str) -> tuple[str, ...]:
    """The sizes of a problem whose input is there."""
    if problem == "hello":
        return ("S",)
    return tuple(size for size in SIZES if (directory() / f"{problem}.{size}.input.json.gz").exists())


def load_input(problem: str, size: str) -> Any:
    """The JSON input of a problem."""
    return 3.0 if problem == "hello" else _load(f"{problem}.{size}.input")


def load_answer(problem: str, size: str, function: str) -> Any:
    """The right JSON output of a function."""
    if problem == "hello":
        return {"square": 9.0, "double": 6.0}[function]
    return ANSWERS[problem] if problem in ANSWERS else _load(f"{problem}.{size}.{function}")


def difference(got: Any, want: Any, path: str = "output") -> str | None:
    """Where two JSON values differ in type, length, or by more than ``TOLERANCE * max(1, |a| + |b|)``."""
    if isinstance(want, dict):
        if not isinstance(got, dict) or got.keys() != want.keys():
            return f"{path}: other keys"
        pairs = [(got[key], want[key], f"{path}.{key}") for key in want]
    elif isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"{path}: other length"
        pairs = [(one, other, f"{path}[{k}]") for k, (one, other) in enumerate(zip(got, want, strict=True))]
    elif isinstance(got, bool) or not isinstance(got, (int, float)):
        return f"{path}: not a number"
    else:
        near = abs(got - want) <= TOLERANCE * max(1.0, abs(got) + abs(want))
        return None if near else f"{path}: {got!r}, not {want!r}"
    return next((found for item in pairs if (found := difference(*item))), None)
