"""A zoo of small programs, one for each thing a loop, a branch, a write or an alias can do to a derivative.

Each is an ordinary njit function under ``@program``; its name says what it is about. The derivatives are
known by hand (`expected`) or found by differences of the program itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

CAGES = ("loops", "branches", "mutation", "aliases", "layouts", "functions")


@dataclass
class Animal:
    """One program of the zoo.

    Attributes
    ----------
    args : callable
        Fresh arguments.
    wrt : tuple of int
        The positions to differentiate, every float argument unless given.
    outs : tuple of int
        Positions of the arguments whose content after the call is the result.
    expected : tuple or None
        The gradient by hand, one entry per position in `wrt`.
    rtol : float
        Relative to the largest entry of the derivative.
    loud_is_fine : bool
        An error of jitgrad is accepted in place of a derivative.
    """

    name: str
    function: Any
    args: Callable[[], tuple]
    wrt: tuple[int, ...]
    outs: tuple[int, ...] = ()
    expected: tuple | None = None
    rtol: float = 1e-8
    loud_is_fine: bool = False


animals: list[Animal] = []


def program(args: Callable[[], tuple], wrt: tuple[int, ...] | None = None, **options):
    """Put a function into the zoo."""

    def decorate(function):
        positions = wrt
        if positions is None:
            positions = tuple(i for i, arg in enumerate(args()) if _is_float(arg))
        name = getattr(function, "__name__", None) or function.py_func.__name__
        animals.append(Animal(name, function, args, positions, **options))
        return function

    return decorate


def _is_float(arg) -> bool:
    return isinstance(arg, (float, np.floating)) or (isinstance(arg, np.ndarray) and arg.dtype.kind == "f")


def zoo() -> list[Animal]:
    """Every animal."""
    if not animals:
        for cage in CAGES:
            importlib.import_module(f"tests.transforms.zoo.{cage}")
    names = [animal.name for animal in animals]
    assert len(names) == len(set(names)), "two animals have one name"
    return animals
