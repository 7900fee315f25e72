"""Load the corpus: every case with its reference attached. Independent of jitgrad.

from tests.corpus.loader import load
for case in load("case", "edge"):
    case.fn, case.args(), case.wrt, case.ref_jac, ...
"""

from __future__ import annotations

import importlib
import json
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from tests.corpus import corpuslib
from tests.corpus.corpuslib import Case, flat

HERE = Path(__file__).parent
KINDS = ("case", "edge", "error")


@cache
def _all() -> tuple[Case, ...]:
    reference = json.loads((HERE / "reference.json").read_text())
    names = sorted(p.stem for p in (HERE / "cases").glob("*.py") if p.stem != "__init__")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Numba's, about the options of some cases, which compile at import
        for name in names:
            importlib.import_module(f"tests.corpus.cases.{name}")
    for case in corpuslib.REG:
        _attach(case, reference)
    return tuple(corpuslib.REG)


def _attach(case: Case, reference: dict) -> None:
    if case.kind == "case":
        row = reference[case.name]
        case.ref_value, case.ref_jac = np.array(row["value"]), np.array(row["jac"])
        case.ref_hess = np.array(row["hess"]) if "hess" in row else None
    elif case.kind == "edge":
        n = flat(tuple(case.args()[i] for i in case.wrt)).size
        case.ref_jac = np.asarray(case.expected, float).reshape(-1, n) if n else np.zeros((1, 0))
        if case.value is not None:
            case.ref_value = np.atleast_1d(np.asarray(case.value, float)).ravel()


def load(*kinds: str) -> list[Case]:
    """The cases of the given kinds (``"case"``, ``"edge"``, ``"error"``), all of them by default."""
    wanted = kinds or KINDS
    unknown = set(wanted) - set(KINDS)
    if unknown:
        raise ValueError(f"unknown kinds {sorted(unknown)}, there are {KINDS}")
    return [case for case in _all() if case.kind in wanted]


def find(name: str) -> Case:
    """The case of this name."""
    return next(case for case in _all() if case.name == name)
