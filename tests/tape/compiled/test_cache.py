"""When structures are compiled, and what that costs."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

from jitgrad import GradientTape, Variable, constant
from jitgrad.tape import compile_after, sweep
from jitgrad.tape.compiled import cache, clear, known, structure


@pytest.fixture(autouse=True)
def forgotten():
    clear()
    yield
    clear()


def slope(value, length=2):
    x = constant(value)
    with GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(length):
            y = np.sin(y)
    return tape.gradient(y, x).numpy()


def test_the_third_time():
    assert compile_after.current == 3
    for met in range(1, 5):
        slope([0.1, 0.2])
        assert len(known()) == (met >= 3)


def test_compiled_sweeps_do_without_pullbacks(monkeypatch):
    with compile_after(1):
        expected = slope([0.1, 0.2])
        monkeypatch.setattr(sweep, "backward", None)
        np.testing.assert_array_equal(slope([0.1, 0.2]), expected)


def test_the_setting():
    with compile_after(None):
        for _ in range(4):
            slope([0.1])
        assert not known()
        compile_after(2)
        slope([0.1])
        assert not known()
        slope([0.1])
        assert len(known()) == 1
    assert compile_after.current == 3
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ValueError, match="compile_after takes a positive integer or None"):
            compile_after(wrong)


def test_a_jacobian_counts_once():
    x = constant(np.linspace(0, 1, 8))
    for _ in range(2):
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        tape.jacobian(y, x)
    assert not known()


def test_long_programs_stay_with_numpy():
    with compile_after(1):
        for _ in range(3):
            slope([0.1, 0.2], structure.LARGEST + 1)
    assert not known()


def test_long_chains_do_not_grow():
    def run():
        slope([0.1, 0.2], 10_000)

    with compile_after(1):
        for _ in range(3):
            run()
        gc.collect()
        tracemalloc.start()
        try:
            run()
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(5):
                run()
            gc.collect()
            assert tracemalloc.get_traced_memory()[0] - before < 20_000
        finally:
            tracemalloc.stop()
    assert not known()


def test_compiled_programs_keep_nothing():
    class Array(np.ndarray):
        """Of which weak references can be made."""

    with compile_after(1):
        x = Variable(np.ones(3))
        kept = []
        for _ in range(3):
            weights = np.arange(3.0).view(Array)
            kept.append(weakref.ref(weights))
            with GradientTape() as tape:
                y = np.sum(np.asarray(weights) * x * x)
            tape.gradient(y, x)
            node = y.node
            del weights
        assert known()
        gc.collect()
        assert [k() for k in kept] == [None] * 3
        assert node.args == () and node.out == y.numpy() == 3.0  # only what the caller holds


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(cache, "STRUCTURES", 4)
    for length in range(1, 12):
        slope([0.1], length)
    assert len(cache._met) == 4


def test_threads():
    values = [np.linspace(0.1, 1.0, n) for n in (2, 3, 4, 5)]
    wrong = []

    def work(value):
        for _ in range(30):
            if not np.allclose(slope(value), np.cos(np.sin(value)) * np.cos(value), rtol=1e-13):
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(v,)) for v in values for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert any(isinstance(k, cache.Compiled) for k in known())


def test_the_source_can_be_read():
    with compile_after(1):
        slope([0.1, 0.2, 0.3], 1)
    (program,) = known()
    assert program.source.startswith("def backward(")
    assert "math.cos" in program.source
