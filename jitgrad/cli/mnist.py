"""``jitgrad mnist``: train, eval, compare."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from jitgrad.cli import INTERRUPTED, plots
from jitgrad.cli.compare import Outcome, follow, ranked, subset
from jitgrad.cli.engines import ENGINES
from jitgrad.cli.options import DataDir, Download, choice, choices, help_alone, rates, rates_of
from jitgrad.cli.tables import number, show
from jitgrad.cli.training import CLASSES, DTYPES, SCHEDULES, Run, Settings, accuracy, evaluate, train
from jitgrad.data import Mnist, load_mnist
from jitgrad.errors import DataError
from jitgrad.nn import MODELS
from jitgrad.optim import OPTIMIZERS

app = typer.Typer(help="Handwritten digits: train a classifier, look at what it learned.", rich_markup_mode=None)
app.callback(invoke_without_command=True)(help_alone)
WEIGHTS = "weights.npz"
COMPARED_EPOCHS = 3
COMPARED = ("optimizer", "rate", "loss", "right", "test loss", "test right", "seconds")


@app.command("train")
def train_command(
    model: Annotated[str | None, choice(MODELS, "The model [default: mlp]")] = None,
    optimizer: Annotated[str | None, choice(OPTIMIZERS, "The optimizer [default: adam]")] = None,
    engine: Annotated[str | None, choice(ENGINES, "What computes the gradient [default: compiled]")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data [default: 20; cnn: 5].")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Digits per step [default: 50].")] = None,
    learning_rate: Annotated[float | None, typer.Option(min=0.0, help="[default: the optimizer's]")] = None,
    schedule: Annotated[
        str | None, choice(SCHEDULES, "How the learning rate falls over the epochs [default: constant]")
    ] = None,
    momentum: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Momentum, for sgd and rmsprop [default: 0].")
    ] = None,
    nesterov: Annotated[bool | None, typer.Option("--nesterov", help="Nesterov's momentum, for sgd.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="For initial weights and shuffling [default: 0].")] = None,
    dtype: Annotated[str | None, choice(DTYPES, "Precision [default: float32]")] = None,
    data_dir: DataDir = None,
    download: Download = False,
    output: Annotated[Path | None, typer.Option(help="Folder for weights and pictures [default: mnist-MODEL].")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the weights in the output folder, with their settings.")
    ] = False,
) -> int:
    """Train a model; write its weights and pictures of what it learned.

    Ctrl-C stops after the current batch and saves; --resume goes on from there.
    """
    given = {
        "model": model,
        "optimizer": optimizer,
        "engine": engine,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "schedule": schedule,
        "momentum": momentum,
        "nesterov": nesterov,
        "seed": seed,
        "dtype": dtype,
    }
    given = {name: value for name, value in given.items() if value is not None}
    settings = Settings(**given)  # type: ignore[arg-type]
    folder = output if output is not None else Path(f"mnist-{settings.model}")
    weights = folder / WEIGHTS
    # Options are checked before the data is read: a typo should not wait for a download.
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder}: is a file; --output must name a folder")
    if resume:
        if not weights.is_file():
            raise DataError(f"{weights}: no such file, nothing to resume")
        run = Run.load(weights).with_settings(**given)
        data = load_mnist(data_dir, download)
    else:
        settings.make_optimizer(examples=1)
        data = load_mnist(data_dir, download)
        run = Run.start(settings, len(data.train_images))

    console = Console()
    finished = _train(run, data, weights, console)
    if not finished:
        console.print(f"stopped in epoch {run.epoch + 1}; go on with --resume --output {folder}", soft_wrap=True)
        return INTERRUPTED
    plots.learning_curve(folder / "learning_curve.png", run.history)
    _, predictions = _report(run, data, console)
    _pictures(folder, data, predictions)
    console.print(f"weights and pictures are in {folder}", soft_wrap=True)
    return 0


@app.command("eval")
def eval_command(
    weights: Annotated[Path, typer.Argument(help="The folder, or the weights file in it, that `train` wrote.")],
    data_dir: DataDir = None,
    download: Download = False,
    output: Annotated[Path | None, typer.Option(help="Folder for pictures; none are made without it.")] = None,
) -> int:
    """Evaluate saved weights on the test digits."""
    run = Run.load(weights / WEIGHTS if weights.is_dir() else weights)
    data = load_mnist(data_dir, download)
    console = Console()
    matrix, predictions = _report(run, data, console)
    rows = []
    for digit, row in enumerate(matrix):
        others = [(int(count), k) for k, count in enumerate(row) if count and k != digit]
        mistakes = ", ".join(f"{k} ({count})" for count, k in sorted(others, key=lambda pair: (-pair[0], pair[1]))[:3])
        rows.append([str(digit), str(row[digit]), str(row.sum()), mistakes])
    show(console, ["digit", "right", "of", "taken for"], rows, left=["taken for"])
    if output is not None:
        _pictures(output, data, predictions)
        console.print(f"pictures are in {output}", soft_wrap=True)
    return 0


@app.command("compare")
def compare_command(
    optimizer: Annotated[list[str] | None, choices(OPTIMIZERS, "The optimizers [default: all]")] = None,
    model: Annotated[str, choice(MODELS, "The model")] = "mlp",
    engine: Annotated[str, choice(ENGINES, "What computes the gradient")] = "compiled",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = COMPARED_EPOCHS,
    examples: Annotated[int | None, typer.Option(min=1, help="Train on so many digits only [default: all].")] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Digits per step.")] = 50,
    learning_rate: Annotated[list[str] | None, rates("For all optimizers [default: each one's own].")] = None,
    schedule: Annotated[str, choice(SCHEDULES, "How the learning rate falls over the epochs")] = "constant",
    seed: Annotated[int, typer.Option(min=0, help="For initial weights and shuffling.")] = 0,
    dtype: Annotated[str, choice(DTYPES, "Precision")] = "float32",
    data_dir: DataDir = None,
    download: Download = False,
    output: Annotated[Path, typer.Option(help="The picture: a PNG, SVG or PDF file.")] = Path("mnist-compare.png"),
) -> int:
    """Train one model with several optimizers; show all in one table and one picture.

    Each starts from the same weights and sees the same batches. Ctrl-C ends the optimizer at work and shows those
    before it.
    """
    shared = Settings(
        model=model, engine=engine, epochs=epochs, batch_size=batch_size, schedule=schedule, seed=seed, dtype=dtype
    )
    given = rates_of(optimizer or [*OPTIMIZERS], learning_rate or ())
    every = [replace(shared, optimizer=name, learning_rate=rate) for name, rate in given.items()]
    kind = plots.kind_of(output)
    for settings in every:
        settings.make_optimizer(examples=1)
    data = subset(load_mnist(data_dir, download), examples)
    console = Console()
    outcomes = _compare(every, data, console)
    if not outcomes:
        return INTERRUPTED
    show(console, COMPARED, [*map(_compared, outcomes)], left=["optimizer"])
    size = len(data.train_images)
    plots.comparison(output, outcomes, f"{model}, {size} digits, batches of {batch_size}, {engine}", kind)
    console.print(f"the picture is {output}", soft_wrap=True)
    return 0 if len(outcomes) == len(every) else INTERRUPTED


def _compare(every: list[Settings], data: Mnist, console: Console) -> list[Outcome]:
    """The outcomes, best first."""
    outcomes = []
    progress = Progress(
        TextColumn("{task.description}"), BarColumn(), console=console, transient=True, disable=not console.is_terminal
    )
    with _interruptible() as stop, progress:
        for settings in every:
            steps = settings.total_epochs * settings.batches(len(data.train_images))
            task = progress.add_task(settings.optimizer, total=steps)
            outcome = follow(settings, data, lambda task=task: progress.advance(task), stop)  # type: ignore[misc]
            if outcome is None:
                break
            outcomes.append(outcome)
    return ranked(outcomes)


def _compared(outcome: Outcome) -> list[str]:
    """A row of the table."""
    if outcome.diverged:
        scores = ["diverged", "", "", ""]
    else:
        last = outcome.history[-1]
        scores = [
            number(last.train_loss), f"{last.train_accuracy:.2%}", number(last.test_loss), f"{last.test_accuracy:.2%}",
        ]  # fmt: skip
    return [outcome.name, f"{outcome.settings.initial_rate:g}", *scores, f"{outcome.seconds:.2f}"]


def _train(run: Run, data: Mnist, weights: Path, console: Console) -> bool:
    total = run.settings.total_epochs
    progress = Progress(
        TextColumn("epoch {task.fields[epoch]}/{task.fields[epochs]}"),
        BarColumn(),
        TextColumn("loss {task.fields[loss]}  test accuracy {task.fields[accuracy]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    began = time.perf_counter()
    with _interruptible() as stop, progress:
        task = progress.add_task(
            "", total=total * run.batches, completed=run.epoch * run.batches + run.batch, **_fields(run)
        )

        def on_batch(run: Run) -> None:
            progress.update(task, advance=1, **_fields(run))

        def on_epoch(run: Run) -> None:
            run.save(weights)
            scores = run.history[-1]
            console.print(
                f"epoch {run.epoch}/{total}  loss {number(scores.train_loss)}  "
                f"accuracy {scores.train_accuracy:.2%}  test accuracy {scores.test_accuracy:.2%}  "
                f"({time.perf_counter() - began:.1f} s)",
                highlight=False,
            )

        if run.epoch == 0 and run.batch == 0:
            console.print(f"compiling the gradient of {run.settings.model} ({run.settings.dtype})", highlight=False)
        finished = train(run, data, on_batch, on_epoch, stop)
        run.save(weights)
    return finished


def _fields(run: Run) -> dict[str, Any]:
    seen = min(run.batch * run.settings.batch_size, run.examples)
    last = run.history[-1] if run.history else None
    if seen:
        loss = number(run.loss_sum / seen)
    else:
        loss = number(last.train_loss) if last else "-"
    return {
        "epoch": min(run.epoch + 1, run.settings.total_epochs),
        "epochs": run.settings.total_epochs,
        "loss": loss,
        "accuracy": f"{last.test_accuracy:.2%}" if last else "-",
    }


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a wish to stop, so that a batch is never cut in half; a second one ends at once."""
    asked = False

    def ask(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, previous)


def _report(run: Run, data: Mnist, console: Console) -> tuple[np.ndarray, np.ndarray]:
    loss, predictions = evaluate(run, data.test_images, data.test_labels)
    share = accuracy(predictions, data.test_labels)
    console.print(
        f"{run.settings.model}: {share:.2%} of {len(predictions)} test digits right, loss {number(loss)}",
        highlight=False,
    )
    return plots.confusion_matrix(data.test_labels, predictions, CLASSES), predictions


def _pictures(folder: Path, data: Mnist, predictions: np.ndarray) -> None:
    matrix = plots.confusion_matrix(data.test_labels, predictions, CLASSES)
    plots.confusion(folder / "confusion.png", matrix)
    plots.misclassified(folder / "misclassified.png", data.test_images, data.test_labels, predictions)
