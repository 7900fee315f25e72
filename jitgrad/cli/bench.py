"""``jitgrad bench``."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import jitgrad
from jitgrad.cli import bench_picture, plots, tables
from jitgrad.cli.files import replacing
from jitgrad.errors import DataError

ROOT = Path(jitgrad.__file__).resolve().parents[1]
"""The checkout, if jitgrad is imported from one."""
COLUMNS = ("program", "library", "function", "gradient", "gradient / function", "gradient / jitgrad's", "")


def bench_command(
    names: Annotated[list[str] | None, typer.Argument(help="Programs or problems [default: all].")] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="programs, gradbench; may be repeated [default: those whose data is there]."),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A library to compare with: jax, torch, autograd, casadi; or none. May be repeated [default: those "
            "that are installed].",
        ),
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="A Python to look for peers in before this one; may be repeated. Also JITGRAD_BENCH_PYTHON, separated "
            "as in PATH.",
        ),
    ] = None,
    small: Annotated[bool, typer.Option("--small", help="Small inputs, where calls count.")] = False,
    repeats: Annotated[int, typer.Option(min=1, max=1000, help="Least samples of each figure.")] = 15,
    seconds: Annotated[float, typer.Option(min=0.0, max=600.0, help="Least seconds for a program.")] = 0.5,
    csv: Annotated[Path | None, typer.Option(help="A file for the figures, one line each, in seconds.")] = None,
    plot: Annotated[Path | None, typer.Option(help="A PNG, SVG or PDF file for a picture of the ratios.")] = None,
) -> int:
    """Measure what gradients cost over their functions, here and in other libraries.

    One thread, one process at a time, medians of CPU time. Needs a checkout of jitgrad. Exit status 1 when a gradient
    differs from jitgrad's, or an answer from GradBench's.
    """
    kind = plots.kind_of(plot) if plot is not None else ""
    compare, processes = _benchmarks()
    suites = _suites(compare, suite, names or [])
    console, notes = Console(), Console(stderr=True)
    try:
        peers = _peers(processes, peer, python or [], notes)
    except processes.PeerError as error:
        raise DataError(str(error)) from error
    effort = compare.Effort(repeats, seconds)
    found: list[Any] = []
    failed: list[str] = []
    with notes.status("") as status:
        for library, measurements in _runs(compare, suites, peers, small, effort):
            title = processes.LIBRARIES[library].title
            status.update(f"measuring {title}")
            try:
                for each in measurements:
                    found.append(each)
                    status.update(f"measuring {title}: {each.program} is done")
            except processes.PeerError as error:
                failed.append(str(error))
                if library == "jitgrad":
                    break  # nothing to compare the others with
    titles = {name: library.title for name, library in processes.LIBRARIES.items()}
    tables.show(console, COLUMNS, rows(found, titles), left=["program", "library"])
    for message in failed:
        notes.print(message, soft_wrap=True, highlight=False, markup=False)
    if csv is not None:
        with replacing(csv) as file:
            file.write(compare.as_csv(found).encode())
        console.print(f"the figures are in {csv}", soft_wrap=True, highlight=False)
    if plot is not None:
        figure = bench_picture.figure(found)
        bench_picture.draw(figure, found, titles)
        plots.save(figure, plot, kind)
        console.print(f"the picture is {plot}", soft_wrap=True, highlight=False)
    return 1 if failed or any(each.wrong for each in found) else 0


def _benchmarks() -> tuple[Any, Any]:
    """The modules that measure, which are not part of the package."""
    if not (ROOT / "benchmarks" / "compare.py").is_file():
        raise DataError(
            "bench needs a checkout of jitgrad, as the programs that it measures are in the folder benchmarks, which "
            "is not installed; in the folder of a checkout, run python -m jitgrad bench"
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module("benchmarks.compare"), importlib.import_module("benchmarks.peers.processes")


def _suites(compare: Any, given: Sequence[str] | None, names: Sequence[str]) -> dict[str, list[str]]:
    """The programs to measure, by suite."""
    known = compare.SUITES
    chosen = _checked("--suite", given or (), known) or [*known]
    if "gradbench" in chosen and not compare.gradbench_is_there():
        if given:
            raise DataError(
                f"--suite gradbench: no inputs in {compare.data.directory()}; {compare.data.PLACE} names their folder"
            )
        chosen.remove("gradbench")
    available = {suite: known[suite] for suite in chosen}
    _checked("NAMES", names, [*dict.fromkeys(name for suite in available.values() for name in suite)])
    kept = {suite: [name for name in all_ if not names or name in names] for suite, all_ in available.items()}
    return {suite: some for suite, some in kept.items() if some}


def _peers(processes: Any, given: Sequence[str] | None, pythons: Sequence[str], notes: Console) -> dict[str, str]:
    """The Python to run each library in; a peer that is asked for must be there, of the others a line tells."""
    candidates = processes.pythons(pythons)
    wanted = _checked("--peer", given or (), [*processes.PEERS, "none"])
    places = {}
    for name in processes.PEERS:
        if wanted and name not in wanted:
            continue
        place = processes.python_with(name, candidates)
        if place is not None:
            places[name] = place
            continue
        library = processes.LIBRARIES[name]
        message = (
            f"{library.title} is not installed in {', '.join(candidates)}; pip install {library.package}, or name a "
            "Python that has it with --python"
        )
        if wanted:
            raise DataError(f"--peer {name}: {message}")
        notes.print(f"without {name}: {message}", soft_wrap=True, highlight=False)
    return places


def _checked(option: str, given: Sequence[str], known: Collection[str]) -> list[str]:
    """Names without repetition, if all are known."""
    for name in given:
        if name not in known:
            raise DataError(f"{option}: {name!r} is not one of {', '.join(known)}")
    return [*dict.fromkeys(given)]


def _runs(
    compare: Any, suites: dict[str, list[str]], peers: dict[str, str], small: bool, effort: Any
) -> Iterator[tuple[str, Iterator[Any]]]:
    """Each library in turn, with its measurements, which are made as they are asked for."""
    if "programs" in suites:
        chosen = suites["programs"]
        with compare.arguments(chosen, small) as folder:
            for library, place in {"jitgrad": sys.executable, "hand": sys.executable, **peers}.items():
                yield library, compare.programs(library, place, folder, chosen, small, effort)
    if "gradbench" in suites:
        yield "jitgrad", compare.gradbench(sys.executable, peers.get("jax"), suites["gradbench"], small, effort)


def rows(found: Sequence[Any], titles: dict[str, str]) -> list[list[str]]:
    """The lines of the table: program by program, jitgrad first."""
    ours = {(each.suite, each.program): each.gradient for each in found if each.library == "jitgrad"}
    places = {key: k for k, key in enumerate(ours)}
    lines = []
    for each in sorted(found, key=lambda each: places[each.suite, each.program]):
        size = "" if each.suite == "programs" else f" {each.size}"
        lines.append(
            [
                each.program + size,
                titles[each.library],
                duration(each.primal),
                duration(each.gradient),
                "" if math.isnan(each.ratio) else f"{each.ratio:.2f}",
                "" if each.library == "jitgrad" else f"{each.gradient / ours[each.suite, each.program]:.2f}",
                "WRONG" if each.wrong else "",
            ]
        )
    return lines


def duration(seconds: float) -> str:
    """A time with its unit; nothing for nan."""
    if math.isnan(seconds):
        return ""
    unit, scale = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)) if seconds >= s), ("ns", 1e-9))
    return f"{seconds / scale:.3g} {unit}"
