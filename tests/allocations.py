"""Counting what Numba allocates."""

from __future__ import annotations

from typing import Any

from numba import njit
from numba.core.runtime import _nrt_python, rtsys


def of_each_call(derivative: Any, *args: Any) -> float:
    """How many pieces of memory one call in nopython code allocates.

    From Python every array that is passed costs a small record, so two loops of unequal length are compared.
    """

    @njit
    def loop(n, *args):
        for _ in range(n):
            derivative(*args)

    def count(n: int) -> int:
        before = rtsys.get_allocation_stats().alloc
        loop(n, *args)
        return rtsys.get_allocation_stats().alloc - before

    loop(1, *args)
    _nrt_python.memsys_enable_stats()
    return (count(11) - count(1)) / 10
