"""The tree of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

import jitgrad
from jitgrad.cli import bench, mnist, plot
from jitgrad.cli.options import help_alone

app = typer.Typer(
    help="Exact derivatives of ordinary Numba code.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(mnist.app, name="mnist")
app.add_typer(plot.app, name="plot")
app.command("bench")(bench.bench_command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"jitgrad {jitgrad.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    help_alone(context)


def command() -> Callable[..., Any]:
    """The app as a command to call with arguments."""
    return typer.main.get_command(app)
