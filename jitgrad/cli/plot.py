"""``jitgrad plot field``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from jitgrad.cli import field_picture as picture
from jitgrad.cli import plots, tables
from jitgrad.cli.expression import differentiated, read
from jitgrad.cli.field import LOST, Descent, descend, sample
from jitgrad.cli.options import Pair, choices, help_alone, rates, rates_of
from jitgrad.errors import DataError
from jitgrad.optim import OPTIMIZERS, Optimizer

app = typer.Typer(help="Pictures of functions and their gradients.", rich_markup_mode=None)
DEFAULT_OPTIMIZERS = ["sgd", "adam"]
DEFAULT_RATE = 0.1
DESCENTS = ("optimizer", "rate", "start", "steps", "end", "value")


app.callback(invoke_without_command=True)(help_alone)


def _no_option(text: str) -> str:
    if text.startswith("--"):
        raise typer.BadParameter(f"no such option: {text}")
    return text


# Expressions may start with a minus sign.
@app.command("field", context_settings={"ignore_unknown_options": True})
def field_command(
    function: Annotated[
        str,
        typer.Argument(
            help="An expression such as 'x**2 - y**2', or FILE.py:NAME for a function of x and y; FILE.py, if it has "
            "only one.",
            callback=_no_option,
        ),
    ],
    xlim: Annotated[
        Pair | None, typer.Option(parser=Pair.interval, metavar="LOW,HIGH", help="Range of x [default: -2,2].")
    ] = None,
    ylim: Annotated[
        Pair | None, typer.Option(parser=Pair.interval, metavar="LOW,HIGH", help="Range of y [default: that of x].")
    ] = None,
    grid: Annotated[int, typer.Option(min=1, max=100, help="Arrows along each axis.")] = 20,
    contours: Annotated[int, typer.Option(min=0, max=100, help="Contour lines; 0 for none.")] = 15,
    start: Annotated[
        list[Pair] | None,
        typer.Option(
            parser=Pair.point,
            metavar="X,Y",
            help="Where descents start; may be repeated. [default with --optimizer: near the upper right corner]",
        ),
    ] = None,
    optimizer: Annotated[
        list[str] | None, choices(OPTIMIZERS, "Whose descents to draw [default with --start: sgd, adam]")
    ] = None,
    learning_rate: Annotated[list[str] | None, rates("For all optimizers [default: 0.1].")] = None,
    steps: Annotated[int, typer.Option(min=1, max=100_000, help="Of each descent.")] = 100,
    title: Annotated[str | None, typer.Option(help="[default: the function]")] = None,
    output: Annotated[Path | None, typer.Option(help="A PNG, SVG or PDF file [default: field.png].")] = None,
    show: Annotated[bool, typer.Option("--show", help="Open a window; a file is written only with --output.")] = False,
) -> int:
    """Draw the gradient field of a function of x and y over its contours.

    An arrow has the direction of the gradient, uphill, and its color tells the magnitude. Where the function or its
    gradient is not finite, nothing is drawn.
    """
    xs = xlim.numbers if xlim else (-2.0, 2.0)
    ys = ylim.numbers if ylim else xs
    file = output if output is not None or show else Path("field.png")
    kind = plots.kind_of(file) if file is not None else ""
    given = rates_of(optimizer or DEFAULT_OPTIMIZERS, learning_rate or ())
    window = picture.window() if show else None
    f = read(function)
    gradient = differentiated(f, function)
    seen = sample(f, gradient, xs, ys, grid)
    if np.isnan(seen.values).all():
        raise DataError(f"{function}: has no finite value for x in {xs} and y in {ys}")

    starts = [point.numbers for point in start or ()]
    if optimizer and not starts:
        starts = [(xs[0] + 0.85 * (xs[1] - xs[0]), ys[0] + 0.9 * (ys[1] - ys[0]))]
    reach = LOST * max(xs[1] - xs[0], ys[1] - ys[0])
    paths = [
        descend(gradient, name, _optimizer(name, rate), point, steps, reach)
        for name, rate in given.items()
        for point in starts
    ]
    console = Console()
    if paths:
        tables.show(console, DESCENTS, [*map(_row, paths)], left=["optimizer"])
    heading = function if title is None else title
    if file is not None:
        figure = picture.figure()
        picture.draw(figure, seen, paths, contours, heading)
        plots.save(figure, file, kind)
        console.print(f"the picture is {file}", soft_wrap=True, highlight=False)
    if window is not None:
        picture.draw(window, seen, paths, contours, heading)
        picture.show()
    return 0


def _optimizer(name: str, rate: float | None) -> Optimizer:
    kind: Callable[..., Optimizer] = OPTIMIZERS[name]
    return kind(learning_rate=DEFAULT_RATE if rate is None else rate)


def _row(path: Descent) -> list[str]:
    first, last = ("{:.4g}, {:.4g}".format(*point) for point in path.points[[0, -1]])
    return [path.optimizer, f"{path.rate:g}", first, str(len(path.points) - 1), last, f"{path.values[-1]:.4g}"]
