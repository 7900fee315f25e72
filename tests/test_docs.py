"""The programs in the documentation print what is shown, and the table of rules is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from docs.examples import differences, examples

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [p for p in sorted(DOCS.glob("*.md")) if examples(p.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_programs_print_what_is_shown(page):
    assert differences(page) == []


def test_table_of_rules_is_up_to_date():
    # in a process of its own: tests add rules to the table
    subprocess.run([sys.executable, "-m", "docs.rules_table", "--check"], check=True, cwd=DOCS.parent)


def test_every_page_is_in_the_index():
    index = (DOCS / "index.md").read_text()
    assert [p.stem for p in sorted(DOCS.glob("*.md")) if p.stem != "index" and f"({p.name})" not in index] == []
