"""The tree of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from jitgrad.cli import mnist, plot

app = typer.Typer(
    help="Exact derivatives of ordinary Numba code.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(mnist.app, name="mnist")
app.add_typer(plot.app, name="plot")


@app.callback()
def _root() -> None:
    # A callback keeps a group of commands one, however few there are.
    pass


def command() -> Callable[..., Any]:
    """The app as a command to call with arguments."""
    return typer.main.get_command(app)
