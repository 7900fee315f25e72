"""Scaling: its table and its picture; what it measures is measured elsewhere."""

from __future__ import annotations

import pytest

from benchmarks import scaling
from benchmarks.scaling import Point

POINTS = [
    Point("dense", 10, 1e-6, 2e-6, 2.0, None),
    Point("dense", 100, 1e-3, 2e-3, 2.0, 0.5),
    Point("recurrence", 10, 1e-6, 3e-6, 3.0, 1.25),
]


def test_growth_is_the_power_of_n():
    assert scaling.growth(POINTS[:2]) == pytest.approx(3.0)


def test_rows():
    assert scaling.rows(POINTS) == [
        ["dense", "10", "1 us", "2 us", "2.00", "", ""],
        ["dense", "100", "1 ms", "2 ms", "2.00", "0.50", "3.00"],
        ["recurrence", "10", "1 us", "3 us", "3.00", "1.25", ""],
    ]


def test_memory_for_an_operation(monkeypatch):
    taken = iter([1e6, 3e6])
    monkeypatch.setattr(scaling, "peak", lambda call: next(taken))
    point = scaling.measure("elementwise", 1000, least=0.0)
    assert point.bytes_per_operation == pytest.approx(2e6 / scaling.KINDS["elementwise"].operations(1000))
    assert point.ratio > 0.0 and point.n == 1000


def test_picture(tmp_path):
    from jitgrad.cli import plots
    from tests.cli.calling import picture

    figure = plots.new_figure(figsize=scaling.SIZE)
    scaling.draw(figure, POINTS)
    plots.save(figure, tmp_path / "scaling.png")
    picture(tmp_path / "scaling.png")


def test_bad_names(capsys):
    with pytest.raises(SystemExit):
        scaling.main(["nothing"])
    assert "unknown kinds nothing; there are elementwise" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        scaling.main(["--plot", "x.gif"])
    assert "the name of a picture must end in .png" in capsys.readouterr().err
