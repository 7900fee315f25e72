"""Tables and numbers that can be read in a narrow terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Column, Table


def show(console: Console, columns: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> None:
    """Print a table, narrower where there is not the room: without frames, and with line breaks between words.

    A word is never cut: where even that is too wide, the terminal wraps the lines.

    Parameters
    ----------
    columns : sequence of str
        Their names.
    rows : sequence of sequences of str
    left : sequence of str
        The names of those columns that are aligned at the left.
    """
    cells = [*zip(columns, *rows, strict=True)]
    made = [
        Column(
            name,
            justify="left" if name in left else "right",
            min_width=max(len(word) for cell in of_column for word in cell.split() or [""]),
        )
        for name, of_column in zip(columns, cells, strict=True)
    ]
    # A frame takes three places per column: a line, and a space on each side.
    width = sum(max(map(len, of_column)) + 3 for of_column in cells) + 1
    table = Table(*made) if width <= console.width else Table(*made, box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    for row in rows:
        table.add_row(*row)
    console.print(table, crop=False)


def number(value: float) -> str:
    """Four digits after the point; in powers of ten what is too large for that."""
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.3g}"
