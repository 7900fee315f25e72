"""`jitgrad bench`."""

from __future__ import annotations

import csv

import pytest

from benchmarks import compare
from benchmarks.peers import processes
from jitgrad.cli import bench
from tests.cli.calling import picture, run

QUICK = ("--small", "--repeats", "1", "--seconds", "0")


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.delenv(processes.PYTHONS, raising=False)


def test_table_csv_and_picture(tmp_path, capsys):
    figures, drawn = tmp_path / "new" / "figures.csv", tmp_path / "ratios.png"
    options = ["--suite", "programs", "--peer", "none", *QUICK, "--csv", figures, "--plot", drawn]
    assert run("bench", "rosen", "poly", *options) == 0
    printed = capsys.readouterr()
    assert "rosen" in printed.out and "jitgrad" in printed.out and "by hand" in printed.out
    assert "WRONG" not in printed.out and "without" not in printed.err
    with open(figures) as file:
        rows = list(csv.DictReader(file))
    measured = [(row["program"], row["library"]) for row in rows]
    assert measured == [("poly", "jitgrad"), ("rosen", "jitgrad"), ("rosen", "hand")]
    for row in rows:
        assert all(float(row[column]) > 0.0 for column in ("primal", "gradient", "ratio"))
        assert (row["suite"], row["size"], row["wrong"]) == ("programs", "small", "False")
    picture(drawn)


def measurement(library, gradient, wrong=False, ratio=2.0, program="heat", suite="programs", primal=1e-3):
    return compare.Measurement(suite, program, "S", library, primal, gradient, ratio, wrong)


def test_rows_stand_program_by_program():
    titles = {name: library.title for name, library in processes.LIBRARIES.items()}
    nan = float("nan")
    found = [
        measurement("jitgrad", 2e-3),
        measurement("jitgrad", 2.5, ratio=nan, program="saddle.rr", suite="gradbench", primal=nan),
        measurement("jax", 5e-3, wrong=True),
    ]
    assert bench.rows(found, titles) == [
        ["heat", "jitgrad", "1 ms", "2 ms", "2.00", "", ""],
        ["heat", "JAX", "1 ms", "5 ms", "2.00", "2.50", "WRONG"],
        ["saddle.rr S", "jitgrad", "", "2.5 s", "", "", ""],
    ]
    assert bench.duration(3.2e-8) == "32 ns"


def test_a_wrong_gradient_is_the_exit_code(monkeypatch, capsys):
    monkeypatch.setattr(compare, "programs", lambda library, *_: iter([measurement(library, 1e-3, library == "hand")]))
    assert run("bench", "heat", "--suite", "programs", "--peer", "none") == 1
    assert "WRONG" in capsys.readouterr().out


def test_a_library_that_fails_does_not_stop_the_others(monkeypatch, capsys):
    def programs(library, *_):
        if library == "hand":
            raise processes.PeerError("it broke")
        yield measurement(library, 1e-3)

    monkeypatch.setattr(compare, "programs", programs)
    assert run("bench", "heat", "--suite", "programs", "--peer", "none") == 1
    printed = capsys.readouterr()
    assert "it broke" in printed.err and "heat" in printed.out


def test_nothing_is_measured_without_jitgrad(monkeypatch, capsys):
    asked = []

    def programs(library, *_):
        asked.append(library)
        yield measurement(library, 1e-3)
        raise processes.PeerError("it broke")

    monkeypatch.setattr(compare, "programs", programs)
    assert run("bench", "heat", "rosen", "--suite", "programs", "--peer", "none") == 1
    assert asked == ["jitgrad"] and "it broke" in capsys.readouterr().err


def test_gradbench_is_left_out_without_its_data(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(compare.data.PLACE, str(tmp_path))
    assert bench._suites(compare, None, ["heat"]) == {"programs": ["heat"]}
    assert run("bench", "--suite", "gradbench") == 2
    error = capsys.readouterr().err
    assert error == (f"jitgrad: --suite gradbench: no inputs in {tmp_path}; JITGRAD_GRADBENCH names their folder\n")


def test_names_in_both_suites(monkeypatch):
    monkeypatch.setattr(compare, "gradbench_is_there", lambda: True)
    assert bench._suites(compare, None, ["gmm", "det"]) == {"programs": ["gmm"], "gradbench": ["gmm", "det"]}


def test_missing_peers_are_told_in_a_line(monkeypatch, capsys):
    monkeypatch.setattr(processes, "python_with", lambda name, candidates: "/x" if name == "jax" else None)
    monkeypatch.setattr(compare, "programs", lambda library, python, *_: iter([measurement(library, 1e-3)]))
    assert run("bench", "heat", "--suite", "programs") == 0
    printed = capsys.readouterr()
    assert "JAX" in printed.out
    lines = printed.err.splitlines()
    assert len(lines) == 3 and lines[2].startswith("without casadi: CasADi is not installed in ")
    assert "pip install casadi, or name a Python that has it with --python" in lines[2]
    assert run("bench", "heat", "--suite", "programs", "--peer", "torch") == 2
    assert capsys.readouterr().err.startswith("jitgrad: --peer torch: PyTorch is not installed in ")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nothing"], "NAMES: 'nothing' is not one of poly, rosen, "),
        (["--suite", "some"], "--suite: 'some' is not one of programs, gradbench"),
        (["--peer", "some"], "--peer: 'some' is not one of jax, torch, autograd, casadi, none"),
        (["--python", "/no/python"], "/no/python: no such Python; --python and JITGRAD_BENCH_PYTHON take"),
        (["--plot", "x.gif"], "x.gif: the name of a picture must end in .png, .svg, .pdf"),
    ],
)
def test_bad_arguments(args, message, capsys):
    assert run("bench", *args) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"jitgrad: {message}") and error.count("\n") == 1


def test_without_a_checkout(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    assert run("bench") == 2
    assert capsys.readouterr().err.startswith("jitgrad: bench needs a checkout of jitgrad, as the programs ")
