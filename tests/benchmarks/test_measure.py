"""Timing, memory, and the processes in which libraries are measured."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from benchmarks import measure
from benchmarks.peers import processes, worker
from benchmarks.programs import WRT, inputs
from tests.peak import peak


def work(n):
    return lambda: sum(range(n))


def test_pair_times_orders_calls_by_cost():
    pair = measure.pair_times(work(200), work(200_000), least=0.0, repeats=3)
    assert 0.0 < pair.first < pair.second
    assert pair.ratio == pytest.approx(pair.second / pair.first, rel=2.0) and pair.ratio > 50.0


def test_pair_times_compiles_before_it_times():
    calls = []
    measure.pair_times(lambda: calls.append("one"), lambda: calls.append("other"), least=0.0, repeats=1)
    assert calls[0] == "one" and "other" in calls[1:]


def test_peak_is_what_a_call_touches():
    measure.release_memory()
    assert 30e6 < peak(lambda: np.ones(5_000_000)) < 60e6


def test_quiet_environment(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    environment = measure.quiet_environment()
    assert environment["OMP_NUM_THREADS"] == environment["NUMBA_NUM_THREADS"] == "1"
    assert "OPENBLAS_CORETYPE" not in environment


def test_arguments_survive_the_way_to_a_worker(tmp_path):
    for name in ("mlp_loss", "heat", "poly"):
        worker.save(tmp_path / "saved.npz", inputs(name), WRT[name])
        args, wrt = worker.load(tmp_path / "saved.npz")
        assert wrt == WRT[name]
        for got, want in zip(args, inputs(name), strict=True):
            assert type(got) is type(want)
            np.testing.assert_array_equal(got, want)


def test_pythons_are_those_given_then_those_of_the_environment_then_this(monkeypatch, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    one, two = str(tmp_path / "one"), str(tmp_path / "two")
    monkeypatch.setenv(processes.PYTHONS, os.pathsep.join([two, one]))
    assert processes.pythons([one]) == [one, two, sys.executable]
    with pytest.raises(processes.PeerError, match="three: no such Python; --python"):
        processes.pythons([str(tmp_path / "three")])


def test_a_python_without_a_library_is_passed_over():
    assert processes.python_with("jitgrad", []) == sys.executable
    assert processes.python_with("jax", ["/bin/false"]) is None
    assert processes.python_with("jax", ["/bin/false", "/bin/true"]) == "/bin/true"


def test_a_worker_that_fails_tells_its_last_line():
    with pytest.raises(processes.PeerError, match=r"benchmarks\.nothing in .* failed: .*No module named"):
        list(processes.measured("benchmarks.nothing", sys.executable, {}))
