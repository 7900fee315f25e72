"""When a structure is compiled: at the third meeting if that is cheap, else when its sweeps have earned it."""

from __future__ import annotations

import numpy as np
import pytest

import jitgrad
from jitgrad.tape.compiled import cache
from jitgrad.tape.compiled.policy import ADVANCE, GRACE, Account, Met, compiling, sweeping

_tapes = []  # a tape that is gone releases its nodes


def nodes(operations: int, products: int = 0):
    tape = jitgrad.GradientTape(persistent=True)
    _tapes.append(tape)
    with tape:
        y = jitgrad.Variable(np.eye(2))
        for _ in range(operations):
            y = np.sin(y)
        for _ in range(products):
            y = y @ y
    return tape._recording.nodes


def test_estimates_grow():
    assert compiling(nodes(10)) < compiling(nodes(50)) < GRACE < compiling(nodes(400))
    assert compiling(nodes(10)) < compiling(nodes(10, products=1)) < compiling(nodes(10, products=5))


def test_a_cheap_structure_needs_nothing():
    assert Account().allows(Met(), nodes(20))


def test_an_expensive_structure_has_to_earn_it():
    account, met, recorded = Account(), Met(), nodes(100, products=20)
    cost = compiling(recorded)
    assert not account.allows(met, recorded)
    enough = int(cost / sweeping(recorded)) + 1
    account.sweep(met, recorded, enough - 1)
    assert not account.allows(met, recorded)
    account.sweep(met, recorded)
    assert account.allows(met, recorded)


def test_many_structures_are_compiled_only_as_time_goes_by():
    account, recorded = Account(), nodes(20)
    account.compiled = ADVANCE
    assert not account.allows(Met(), recorded)
    account.swept = compiling(recorded)
    assert account.allows(Met(), recorded)


@pytest.fixture
def fresh(monkeypatch):
    cache.clear()
    monkeypatch.setattr(cache, "account", Account())
    monkeypatch.setattr(cache.compile_after, "current", 3)
    monkeypatch.setattr(cache.compile_after, "patient", True)
    yield cache
    cache.clear()


def gradient(operations: int):
    x = jitgrad.Variable(np.array([0.1, 0.2]))
    with jitgrad.GradientTape() as tape:
        y = x
        for _ in range(operations):
            y = np.sin(y) * x
    return tape.gradient(y, x).numpy()


def test_the_third_meeting_by_default(fresh):
    results = [gradient(3) for _ in range(4)]
    assert len(fresh.known()) == 1
    assert fresh.account.compiled > 0.0 and fresh.account.swept > 0.0
    np.testing.assert_allclose(results, [results[0]] * 4, rtol=1e-14)


def test_a_long_recording_waits(fresh):
    for _ in range(5):
        gradient(190)
    assert fresh.known() == []
    assert [met.count for met in fresh._met.values()] == [5]
    assert 0.0 < fresh.account.swept == sum(met.seconds for met in fresh._met.values())


def test_the_same_program_is_compiled_at_the_same_meeting(fresh):
    """Nothing that is timed has a say, since compiled sweeps round differently."""
    counts = []
    for _ in range(2):
        fresh.clear()
        fresh.account.swept = 0.0
        fresh.account.compiled = ADVANCE
        meetings = 0
        while not fresh.known():
            gradient(40)
            meetings += 1
        counts.append(meetings)
    assert counts[0] == counts[1] > 100


def test_a_count_that_is_set_holds_whatever_it_costs(fresh, monkeypatch):
    monkeypatch.setattr(fresh.account, "compiled", 1e6)
    with fresh.compile_after(1):
        gradient(2)
    assert len(fresh.known()) == 1
