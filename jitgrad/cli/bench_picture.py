"""The picture of what gradients cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from jitgrad.cli.plots import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(measurements: Sequence[Any]) -> Figure:
    """An empty figure with room for a line for each program."""
    return new_figure(figsize=(10, 2.6 + 0.32 * len(_programs(measurements))))


def draw(figure: Figure, measurements: Sequence[Any], titles: dict[str, str]) -> None:
    """Each library's gradient over its own function, and over jitgrad's gradient.

    Parameters
    ----------
    figure : Figure
        Empty.
    measurements : sequence of benchmarks.compare.Measurement
    titles : dict
        The name to show for each library.
    """
    programs = _programs(measurements)
    lines = {key: k for k, key in enumerate(programs)}
    ours = {_key(each): each.gradient for each in measurements if each.library == "jitgrad"}
    own, relative = figure.subplots(1, 2, sharey=True)
    for k, library in enumerate(titles):
        some = [each for each in measurements if each.library == library and not each.wrong]
        if not some:
            continue
        style: dict[str, Any] = {"marker": "os^Dvx"[k], "linestyle": "", "color": f"C{k}", "label": titles[library]}
        heights = [lines[_key(each)] for each in some]
        own.plot([each.ratio for each in some], heights, **style)  # nan is not drawn
        relative.plot([each.gradient / ours[_key(each)] for each in some], heights, **style)
    own.set(xlabel="gradient / its own function", yticks=range(len(programs)), yticklabels=programs)
    own.invert_yaxis()
    relative.set(xlabel="gradient / jitgrad's gradient")
    for axes in (own, relative):
        axes.set_xscale("log")
        axes.axvline(1.0, color="gray", linewidth=0.8)
        axes.grid(alpha=0.3)
    figure.legend(*relative.get_legend_handles_labels(), loc="outside upper center", ncols=6)


def _key(measurement: Any) -> str:
    return measurement.program if measurement.suite == "programs" else f"{measurement.program} {measurement.size}"


def _programs(measurements: Sequence[Any]) -> list[str]:
    return [*dict.fromkeys(map(_key, measurements))]
