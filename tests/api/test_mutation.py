"""What a function does to its arguments."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, typeof

from jitgrad import frontend
from jitgrad.api import mutation

V = np.ones(3)


def stores(x, y):
    for i in range(x.size):
        y[i] = x[i]


def adds(x, y):
    for i in range(x.size):
        y[i] += x[i]


def stores_into_a_view(x, y):
    v = y[1:]
    v[0] = x[0]


def stores_and_reads(x, y):
    y[0] = x[0]
    y[1] = y[0]


def returns(x, y):
    y[0] = x[0]
    return y


def swaps(x, y):
    for _ in range(2):
        x, y = y, x
    y[0] = 1.0


@pytest.mark.parametrize(
    ("function", "writes", "depends"),
    [
        (stores, (False, True), (False, False)),
        (adds, (False, True), (False, True)),
        (stores_into_a_view, (False, True), (False, True)),
        (stores_and_reads, (False, True), (False, True)),
        (returns, (False, True), (False, False)),
        (swaps, (True, True), (True, True)),
    ],
)
def test_writes(function, writes, depends):
    program = frontend.read(njit(function), (typeof(V), typeof(V)))
    assert tuple(mutation.may_write(program, [p]) for p in program.params) == writes
    assert tuple(mutation.depends_on_before(program, p) for p in program.params) == depends
    assert mutation.writes_arguments(program)
