"""The gate: what it judges, and that a ratio over its bar fails after some tries and not before."""

from __future__ import annotations

import numpy as np
import pytest

import jitgrad
from benchmarks import gate, rows
from benchmarks.measure import Pair
from benchmarks.programs import PROGRAMS
from tests import numeric


def ratios(monkeypatch, *found):
    """Make the measurements come out like that."""
    left = iter(found)
    monkeypatch.setattr(gate, "prepared", lambda name: (None, None))
    monkeypatch.setattr(gate, "pair_times", lambda *calls, **options: Pair(1e-3, 1e-3, next(left)))


def test_there_is_a_bar_for_all_that_is_measured():
    assert list(gate.BARS) == [*PROGRAMS, *rows.ROWS]


def test_a_low_ratio_passes_at_once(monkeypatch, capsys):
    ratios(monkeypatch, 1.0)
    assert gate.main(["rosen"]) == 0
    assert "over" not in capsys.readouterr().out


def test_one_loud_measurement_does_not_fail(monkeypatch):
    ratios(monkeypatch, 99.0, 98.0, 1.0)
    result = gate.judge("rosen", 4)
    assert result.passes and (result.ratio, result.tries) == (1.0, 3)


def test_a_ratio_that_stays_over_its_bar_fails(monkeypatch, capsys):
    ratios(monkeypatch, 99.0, 98.0, 97.0, 98.5)
    assert gate.main(["rosen", "--tries", "4"]) == 1
    assert f"over the bar: rosen 97.00 (bar {gate.BARS['rosen']:g})" in capsys.readouterr().out


def test_unknown_names(capsys):
    with pytest.raises(SystemExit):
        gate.main(["nothing"])
    assert "unknown names nothing; there are poly, rosen" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["exp", "power"])
def test_rows_have_right_gradients(name):
    function, args = rows.ROWS[name]()
    args = tuple(a[:5] for a in args)
    _, gradients = jitgrad.value_and_grad(function, argnums=tuple(range(len(args))))(*args)
    for k, got in enumerate(gradients):

        def along(x, k=k):
            return function(*(x if j == k else a for j, a in enumerate(args)))

        np.testing.assert_allclose(got, numeric.gradient(along, args[k]), rtol=1e-9)
