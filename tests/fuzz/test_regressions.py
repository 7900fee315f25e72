"""Programs that once went wrong, as the fuzzer shrank them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.judge import PASS, examine
from tests.fuzz.reproduction import from_text

FILES = sorted((Path(__file__).parent / "regressions").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_regression(path: Path):
    outcome = examine(from_text(path.read_text()))
    assert outcome.kind == PASS, outcome.detail
