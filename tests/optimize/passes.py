"""Running single passes and looking at what they leave."""

from __future__ import annotations

import re

import numba
import numpy as np
from numba import njit, typeof

from jitgrad import frontend
from jitgrad.frontend import print_program
from jitgrad.optimize import optimize, resolve_aliases
from jitgrad.program import ir
from jitgrad.program.dump import dump
from jitgrad.program.verify import verify
from tests.frontend.round_trip import copied, identical


def read(function, *args) -> ir.Program:
    """The program as the frontend gives it, without renamings."""
    program = frontend.read(njit(function), tuple(typeof(a) for a in args))
    resolve_aliases(program)
    return program


def after(passes, function, *args) -> str:
    """The dump of a program after some passes."""
    program = read(function, *args)
    for one in passes if isinstance(passes, (list, tuple)) else [passes]:
        one(program)
        verify(program)
    return dump(program)


def lines(text: str, pattern: str) -> list[str]:
    """The lines of a dump that a regular expression matches, stripped."""
    return [line.strip() for line in text.splitlines() if re.search(pattern, line)]


def check_bits(function, *args, passes=(optimize,), compiled: bool = False) -> None:
    """The optimized program, printed and run, gives the same bits and leaves the same arguments."""
    program = read(function, *args)
    for one in passes:
        one(program)
    verify(program)
    source, namespace = print_program(program)
    exec(source, namespace)
    original, printed = function, namespace[program.name]
    if compiled:
        original, printed = njit(function), numba.njit(printed)
    theirs, ours = copied(args), copied(args)
    with np.errstate(all="ignore"):
        expected, result = original(*theirs), printed(*ours)
    assert identical(expected, result), f"{result} instead of {expected}\n{source}"
    assert identical(theirs, ours), f"arguments differ afterwards\n{source}"
