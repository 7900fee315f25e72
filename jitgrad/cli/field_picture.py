"""The picture of a gradient field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitgrad.cli.field import Descent, Field
from jitgrad.cli.plots import color, new_figure
from jitgrad.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (7.5, 6.5)
ARROW = 0.75
"""Length of an arrow, as a share of the distance to the next."""
WIDE = 30.0
"""Magnitudes that differ by more are told apart on a logarithmic scale."""
DECADES = 1e-4
"""The smallest magnitude with a color of its own, as a share of the largest."""


def figure() -> Figure:
    """An empty figure, to be saved."""
    return new_figure(figsize=SIZE)


def window() -> Figure:
    """An empty figure that `show` will show in a window.

    Raises
    ------
    DataError
        If there is no display.
    """
    from matplotlib import pyplot

    made = pyplot.figure(figsize=SIZE, layout="constrained")
    if made.canvas.required_interactive_framework is None:
        pyplot.close(made)
        raise DataError(f"--show: Matplotlib's backend {pyplot.get_backend()} opens no windows; use --output FILE.png")
    return made


def show() -> None:
    """Show the window until it is closed."""
    from matplotlib import pyplot

    pyplot.show()


def draw(figure: Figure, field: Field, descents: Sequence[Descent], contours: int, title: str) -> None:
    """Draw all of it."""
    axes = figure.subplots()
    axes.set(xlabel="x", ylabel="y", xlim=field.xs[[0, -1]], ylim=field.ys[[0, -1]])
    # As text: a dollar sign would start a formula.
    axes.set_title(title, parse_math=False, wrap=True)
    width, height = np.ptp(field.xs), np.ptp(field.ys)
    if 0.25 < width / height < 4:
        axes.set_aspect("equal")
    _contours(axes, field, contours)
    _arrows(figure, axes, field)
    _descents(axes, descents)


def _contours(axes: Axes, field: Field, count: int) -> None:
    values = field.values[np.isfinite(field.values)]
    # Between any two lines lies the same area: levels at equal distances would all crowd round a steep corner.
    levels = np.unique(np.quantile(values, np.arange(1, count + 1) / (count + 1)))
    levels = levels[(levels > values.min()) & (levels < values.max())]
    if not levels.size:
        return
    masked = np.ma.masked_invalid(field.values)
    if levels.size > 1:
        from matplotlib.colors import BoundaryNorm

        norm = BoundaryNorm(levels, 256, extend="both")
        axes.contourf(field.xs, field.ys, masked, levels, cmap="Greys", norm=norm, alpha=0.25, extend="both")
    lines = axes.contour(field.xs, field.ys, masked, levels, colors="0.55", linewidths=0.7, linestyles="solid")
    axes.clabel(lines, fontsize=7, fmt="%.3g", colors="0.35")


def _arrows(figure: Figure, axes: Axes, field: Field) -> None:
    from matplotlib.colors import LogNorm, Normalize

    magnitude = field.magnitude
    with np.errstate(invalid="ignore"):
        shown = np.isfinite(magnitude) & (magnitude > 0)
    if not shown.any():
        return
    size = magnitude[shown]
    low, high = max(size.min(), DECADES * size.max()), size.max()
    norm: Normalize = LogNorm(low, high) if high > WIDE * low else Normalize(0.0, high)
    arrows = axes.quiver(
        field.x[shown], field.y[shown], field.dx[shown] / size, field.dy[shown] / size, np.maximum(size, low),
        norm=norm, cmap="viridis", angles="xy", pivot="mid", scale=field.x.shape[1] / ARROW, scale_units="width",
        width=min(0.004, 0.08 / field.x.shape[1]),
    )  # fmt: skip
    figure.colorbar(arrows, ax=axes, label="length of the gradient")


def _descents(axes: Axes, descents: Sequence[Descent]) -> None:
    from matplotlib import patheffects

    casing = [patheffects.withStroke(linewidth=4.5, foreground="white")]
    labelled: set[str] = set()
    for descent in descents:
        style: dict[str, Any] = {"color": color(descent.optimizer), "path_effects": casing, "zorder": 3}
        # One entry of the legend for each optimizer, however many starts there are.
        label = None if descent.optimizer in labelled else descent.optimizer
        labelled.add(descent.optimizer)
        axes.plot(*descent.points.T, "-", linewidth=2, label=label, **style)
        axes.plot(*descent.points[-1], "X", markersize=8, **style)
        axes.plot(*descent.points[0], "o", markersize=7, **style | {"color": "black"})
    if labelled:
        axes.legend(loc="best", framealpha=0.9)
