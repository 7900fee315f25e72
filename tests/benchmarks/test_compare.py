"""Formulas of other libraries, in NumPy, against the programs; the record of measurements."""

from __future__ import annotations

import csv
import io
import json
import sys

import numpy as np
import pytest
from scipy.special import logsumexp

from benchmarks import compare
from benchmarks.peers import gradbench_worker, processes
from benchmarks.peers.formulas import formulas, heat_step
from benchmarks.programs import PROGRAMS, inputs

QUICK = compare.Effort(repeats=1, least=0.0)
FORMULAS = formulas(np, lambda x, axis: logsumexp(x, axis=axis))


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_are_the_programs(name):
    assert FORMULAS[name](*inputs(name)) == pytest.approx(PROGRAMS[name](*inputs(name)), rel=1e-12)


def test_a_formula_of_bodies_leaves_out_the_far_and_the_massless():
    pos, mass, _ = inputs("nbody")
    mass[2] = -1.0
    got = FORMULAS["nbody"](pos, mass, 1.5)
    assert got == pytest.approx(PROGRAMS["nbody"](pos, mass, 1.5), rel=1e-12)
    assert got != pytest.approx(FORMULAS["nbody"](pos, mass, 4.0), rel=1e-3)


def test_heat_step():
    a, kappa, steps = inputs("heat")
    for _ in range(steps):
        a = heat_step(np, a, kappa)
    assert (a**2).sum() == pytest.approx(PROGRAMS["heat"](*inputs("heat")), rel=1e-12)


@pytest.fixture(scope="module")
def measured():
    """A folder with the arguments of all programs, and jitgrad's gradients."""
    with compare.arguments(PROGRAMS, small=True) as folder:
        found = list(compare.programs("jitgrad", sys.executable, folder, [*PROGRAMS], True, QUICK))
        assert [each.program for each in found] == [*PROGRAMS]
        yield folder


@pytest.mark.slow
@pytest.mark.parametrize("library", processes.PEERS)
def test_peers_compute_the_same(library, request):
    python = processes.python_with(library, processes.pythons([]))
    if python is None:
        pytest.skip(f"no {library}; {processes.PYTHONS} names Pythons that have it")
    folder = request.getfixturevalue("measured")
    found = list(compare.programs(library, python, folder, [*PROGRAMS], True, QUICK))
    assert len(found) >= 4 and [each.program for each in found if each.wrong] == []


def test_gradbench_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(gradbench_worker.ratios, "jax_times", lambda *_: {"square": 1e-6, "double": 3e-6})
    gradbench_worker.main(["hello"], small=True, jax="python", repeats=1, least=0.0)
    ours, jax = map(json.loads, capsys.readouterr().out.splitlines())
    assert (ours["program"], ours["size"], ours["library"], ours["wrong"]) == ("hello.double", "S", "jitgrad", False)
    assert ours["primal"] > 0.0 and ours["gradient"] > 0.0 and ours["ratio"] > 0.0
    assert (jax["library"], jax["gradient"], jax["ratio"]) == ("jax", 3e-6, pytest.approx(3.0))


def test_gradients_that_differ(tmp_path):
    def file(name, *arrays):
        np.savez(tmp_path / f"{name}.npz", *map(np.asarray, arrays))
        return tmp_path / f"{name}.npz"

    one = file("one", [1.0, -1000.0], 2.0)
    assert not compare.differ(one, file("same", [1.0, -1000.0 + 1e-5], 2.0))
    for k, arrays in enumerate(
        [([1.0, -1000.01], 2.0), ([1.0, -1000.0], 2.001), ([1.0, np.nan], 2.0), ([[1.0, -1000.0]], 2.0), ([1.0, -1e3],)]
    ):
        assert compare.differ(one, file(f"other{k}", *arrays))


def test_csv():
    each = compare.Measurement("programs", "rosen", "small", "jax", 1.5e-6, 3e-6, 2.0, False)
    (row,) = csv.DictReader(io.StringIO(compare.as_csv([each])))
    assert row["library"] == "jax" and float(row["primal"]) == 1.5e-6 and float(row["ratio"]) == 2.0
