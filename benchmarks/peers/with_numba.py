"""jitgrad itself, and the adjoints written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jitgrad
from benchmarks import hand
from benchmarks.peers import Built
from benchmarks.programs import PROGRAMS


def build(name: str, args: tuple, wrt: tuple[int, ...]) -> Built | None:
    """The program under `jitgrad.value_and_grad`."""
    gradient = jitgrad.value_and_grad(PROGRAMS[name], argnums=wrt)
    return _built(name, args, lambda: gradient(*args), lambda result: result[1])


def build_by_hand(name: str, args: tuple, wrt: tuple[int, ...]) -> Built | None:
    """The program with its hand-written adjoint: in one sweep where there is such a version, else in two."""
    function = hand.FUSED.get(name) or hand.TWO_SWEEPS.get(name)
    return function and _built(name, args, lambda: function(*args), lambda result: result[1:])


def _built(name: str, args: tuple, gradient: Callable[[], Any], parts: Callable[[Any], Any]) -> Built:
    return Built(lambda: PROGRAMS[name](*args), gradient, lambda result: [np.asarray(g) for g in parts(result)])
