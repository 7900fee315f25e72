"""The binomial schedule: as few steps as any schedule needs."""

from __future__ import annotations

import functools
import math

from jitgrad.runtime import revolve


@functools.cache
def least(length: int, snapshots: int) -> int:
    """The fewest steps beside those that go backwards, by trying every place for the next state."""
    if length <= 1:
        return 0
    if snapshots == 1:
        return length * (length - 1) // 2
    return min(m + least(length - m, snapshots - 1) + least(m, snapshots) for m in range(1, length))


def needed(length: int, snapshots: int) -> int:
    """The steps that `split` leads to."""
    if length <= 1:
        return 0
    m = revolve.split.py_func(length, snapshots)
    assert 1 <= m < length
    if snapshots == 1:
        return m + needed(m, 1)
    return m + needed(length - m, snapshots - 1) + needed(m, snapshots)


def test_no_schedule_needs_fewer_steps():
    for snapshots in range(1, 9):
        for length in range(1, 60):
            assert needed(length, snapshots) == least(length, snapshots), (length, snapshots)


def closed_form(length: int, snapshots: int) -> int:
    repetitions = next(r for r in range(length + 1) if length <= math.comb(snapshots + r, snapshots))
    return repetitions * length - math.comb(snapshots + repetitions, repetitions - 1) if repetitions else 0


def test_the_number_of_steps_is_that_of_the_paper():
    for length, snapshots in ((1, 3), (56, 3), (1000, 10), (100_000, 17), (500, 500)):
        assert needed(length, snapshots) == closed_form(length, snapshots)


def test_the_numbers_of_states():
    assert [revolve.square_root(n) for n in (1, 2, 50, 5000)] == [2, 2, 10, 100]
    assert [revolve.logarithm(n) for n in (1, 3, 4, 1000, 10**6)] == [1, 2, 3, 10, 20]
    assert revolve.every(7) == 7
    for n in range(1, 2000):
        states = revolve.square_root.py_func(n)
        assert n <= math.comb(states + 2, 2)  # at most two repetitions
