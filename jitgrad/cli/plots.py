"""Pictures of a training, as PNG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jitgrad.cli.files import replacing
from jitgrad.errors import DataError
from jitgrad.optim import OPTIMIZERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jitgrad.cli.compare import Outcome
    from jitgrad.cli.training import Scores

KINDS = ("png", "svg", "pdf")
SEGMENTS = 30
SHOWN = 40
COLUMNS = 10


def confusion_matrix(labels: np.ndarray, predictions: np.ndarray, classes: int) -> np.ndarray:
    """``matrix[true, predicted]`` counts."""
    matrix = np.zeros((classes, classes), np.int64)
    np.add.at(matrix, (labels, predictions), 1)
    return matrix


def new_figure(**options: Any) -> Figure:
    """An empty figure that draws to memory; not of pyplot, so that there is no display and no global state."""
    # Here and not above: matplotlib takes longer to import than all else, and most calls of the command draw nothing.
    from matplotlib.figure import Figure

    return Figure(layout="constrained", **options)


def learning_curve(path: Path, history: list[Scores]) -> None:
    """Loss and accuracy on both sets, epoch by epoch."""
    figure = new_figure(figsize=(9, 4))
    losses, accuracies = figure.subplots(1, 2)
    epochs = np.arange(1, len(history) + 1)
    losses.plot(epochs, [s.train_loss for s in history], "o-", label="training")
    losses.plot(epochs, [s.test_loss for s in history], "o-", label="test")
    losses.set(xlabel="epoch", ylabel="loss", yscale="log")
    accuracies.plot(epochs, [100 * s.train_accuracy for s in history], "o-", label="training")
    accuracies.plot(epochs, [100 * s.test_accuracy for s in history], "o-", label="test")
    accuracies.set(xlabel="epoch", ylabel="accuracy in %")
    for axes in (losses, accuracies):
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.3)
        axes.legend()
    save(figure, path)


def comparison(path: Path, outcomes: Sequence[Outcome], title: str, kind: str = "png") -> None:
    """How several optimizers fare: training loss batch by batch, smoothed, and test accuracy epoch by epoch."""
    figure = new_figure(figsize=(11, 4.8))
    figure.suptitle(title)
    losses, accuracies = figure.subplots(1, 2)
    for k, outcome in enumerate(outcomes):
        # Dashes beside solid lines: those that run on top of each other are both seen.
        style: dict[str, Any] = {
            "label": outcome.name,
            "color": color(outcome.name),
            "linestyle": "-" if k % 2 else "--",
        }
        steps, means = _smoothed(outcome.losses)
        losses.plot(steps, means, **style)
        epochs = np.arange(1, len(outcome.history) + 1)
        accuracies.plot(epochs, [100 * s.test_accuracy for s in outcome.history], marker="o", markersize=4, **style)
    losses.set(xlabel="batch", ylabel="training loss", yscale="log")
    accuracies.set(xlabel="epoch", ylabel="test accuracy in %")
    accuracies.xaxis.get_major_locator().set_params(integer=True)
    for axes in (losses, accuracies):
        axes.grid(alpha=0.3)
    figure.legend(*losses.get_legend_handles_labels(), loc="outside right center")
    save(figure, path, kind)


def color(optimizer: str) -> str:
    """The color of an optimizer, the same in all pictures."""
    return f"C{[*OPTIMIZERS].index(optimizer)}"


def _smoothed(losses: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Means of up to `SEGMENTS` stretches of a curve, and where these have their middles."""
    parts = np.array_split(np.arange(len(losses)), min(SEGMENTS, len(losses)) or 1)
    parts = [part for part in parts if part.size]
    return np.array([part.mean() + 1 for part in parts]), np.array([np.mean(np.take(losses, part)) for part in parts])


def confusion(path: Path, matrix: np.ndarray) -> None:
    """The confusion matrix, with its counts."""
    figure = new_figure(figsize=(6, 5.5))
    axes = figure.subplots()
    # Shades of each row's share, on a root scale: single errors must not vanish beside hundreds of hits.
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(matrix):
        if count:
            color = "white" if shares[row, column] > 0.4 else "black"
            axes.text(column, row, str(count), ha="center", va="center", color=color, fontsize=8)
    axes.set(xlabel="predicted", ylabel="true", xticks=range(len(matrix)), yticks=range(len(matrix)))
    save(figure, path)


def misclassified(path: Path, images: np.ndarray, labels: np.ndarray, predictions: np.ndarray) -> None:
    """The first digits that were taken for another, each with its true and its predicted digit."""
    wrong = np.flatnonzero(labels != predictions)
    shown = wrong[:SHOWN]
    rows = max(1, -(-len(shown) // COLUMNS))
    figure = new_figure(figsize=(COLUMNS, 1.25 * rows + 0.5))
    figure.suptitle(f"{len(wrong)} of {len(labels)} wrong: true → predicted")
    for k, axes in enumerate(figure.subplots(rows, COLUMNS, squeeze=False).flat):
        axes.axis("off")
        if k < len(shown):
            axes.imshow(images[shown[k]], cmap="gray_r")
            axes.set_title(f"{labels[shown[k]]} → {predictions[shown[k]]}", fontsize=9)
    save(figure, path)


def kind_of(path: Path) -> str:
    """The kind of picture that a file's name asks for.

    Raises
    ------
    DataError
        If it is none of `KINDS`.
    """
    kind = path.suffix[1:].lower()
    if kind not in KINDS:
        raise DataError(f"{path}: the name of a picture must end in .{', .'.join(KINDS)}")
    return kind


def save(figure: Figure, path: Path, kind: str = "png") -> None:
    """Write a picture, replacing the file in one step."""
    with replacing(path) as file:
        figure.savefig(file, format=kind, dpi=120)
