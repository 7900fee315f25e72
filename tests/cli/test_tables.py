"""Tables in terminals of several widths: nothing that can be read is cut."""

import io

import pytest
from rich.console import Console

from jitgrad.cli.tables import number, show

NAMES = ("optimizer", "rate", "loss", "right", "test loss", "test right", "seconds")
ROWS = [
    ["adadelta", "0.001", "0.1234", "91.23%", "3.1e+27", "100.00%", "123.45"],
    ["adagrad", "1e-05", "diverged", "", "", "", "12.00"],
]
WORDS = [*" ".join(NAMES).split(), *" ".join(map(" ".join, ROWS)).split()]


def lines(width, names=NAMES, rows=ROWS):
    console = Console(width=width, file=io.StringIO())
    show(console, names, rows, left=names[:1])
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize(("width", "framed"), [(100, True), (80, True), (72, False), (60, False), (30, False)])
def test_no_word_is_cut(width, framed):
    printed = lines(width)
    shown = "\n".join(printed).replace("│", " ").replace("┃", " ").split()
    assert sorted(word for word in shown if word[0].isalnum()) == sorted(WORDS)
    assert any("│" in line for line in printed) == framed
    assert width < 60 or max(map(len, printed)) <= width


def test_cells_break_between_words():
    printed = lines(30, ("name", "where"), [["a", "-1.234e-05, 1.234e+10"], ["b", "1, 2"]])
    assert [line.rstrip() for line in printed[2:]] == ["a    -1.234e-05, 1.234e+10", "b                     1, 2"]
    printed = lines(20, ("name", "where"), [["a", "-1.234e-05, 1.234e+10"]])
    assert [line.rstrip() for line in printed[2:]] == ["a        -1.234e-05,", "           1.234e+10"]


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.0000"), (2.30258, "2.3026"), (9999.0, "9999.0000"), (3.1e27, "3.1e+27"),
                        (-12345.678, "-1.23e+04"), (float("inf"), "inf")],
)  # fmt: skip
def test_number(value, text):
    assert number(value) == text
