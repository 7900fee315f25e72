"""Options that several commands have, and how their texts are read."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jitgrad.errors import DataError
from jitgrad.optim import OPTIMIZERS

DataDir = Annotated[
    Path | None, typer.Option(help="Folder with the four MNIST files (IDX, gzipped or not); else the embedded digits.")
]
Download = Annotated[bool, typer.Option("--download", help="Fetch the full set of 70,000 digits first.")]


def help_alone(context: typer.Context) -> None:
    """What a group of commands does without any of them: tell which there are."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _check(name: str, names: Collection[str]) -> str:
    """`name` as it is among `names`, whatever its case."""
    known = {each.lower(): each for each in names}
    if name.lower() not in known:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(names)}")
    return known[name.lower()]


def choice(names: Collection[str], what: str) -> Any:
    """An option that takes one of `names`."""

    def check(value: str | None) -> str | None:
        return None if value is None else _check(value, names)

    return typer.Option(help=f"{what}: {', '.join(names)}.", callback=check, metavar="NAME")


def choices(names: Collection[str], what: str) -> Any:
    """An option that takes some of `names`: repeated, or with commas between them."""

    def check(values: Iterable[str] | None) -> list[str]:
        found = [name.strip() for value in values or () for name in value.split(",")]
        return [*dict.fromkeys(_check(name, names) for name in found)]

    return typer.Option(help=f"{what}: {', '.join(names)}. Repeat it for several.", callback=check, metavar="NAME")


def rates(what: str) -> Any:
    """An option that takes learning rates: a number for all optimizers, or NAME=NUMBER for one; it may be repeated."""

    def check(values: Iterable[str] | None) -> list[str]:
        read = map(_rate, values or ())
        return ["=".join([*(_check(each, OPTIMIZERS) for each in name), str(number)]) for *name, number in read]

    return typer.Option(help=f"{what} Or NAME=RATE for one optimizer.", callback=check, metavar="RATE")


def _rate(text: str) -> Sequence[Any]:
    *name, number = (part.strip() for part in text.split("=", 1))
    try:
        return *name, float(number)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither a number nor like adam=0.01") from None


def rates_of(optimizers: Sequence[str], given: Iterable[str]) -> dict[str, float | None]:
    """The learning rate that was given for each optimizer, by itself or with all, or None."""
    rest = None
    found: dict[str, float] = {}
    for *name, number in map(_rate, given):
        if not name:
            rest = number
        elif name[0] in optimizers:
            found[name[0]] = number
        else:
            raise DataError(f"--learning-rate: {name[0]} is not among the optimizers, {', '.join(optimizers)}")
    return {name: found.get(name, rest) for name in optimizers}


@dataclass(frozen=True)
class Pair:
    """Two numbers with a comma between them, as a type of options."""

    first: float
    second: float

    @classmethod
    def point(cls, text: str) -> Pair:
        """Any two numbers."""
        try:
            pair = cls(*map(float, text.split(",")))
        except (TypeError, ValueError):
            raise typer.BadParameter(f"{text!r} is not two numbers with a comma between them, like -1,2") from None
        if not (math.isfinite(pair.first) and math.isfinite(pair.second)):
            raise typer.BadParameter(f"{text!r} is not finite")
        return pair

    @classmethod
    def interval(cls, text: str) -> Pair:
        """The smaller one first."""
        pair = cls.point(text)
        if not pair.first < pair.second:
            raise typer.BadParameter(f"{text!r}: {pair.first:g} is not below {pair.second:g}")
        return pair

    @property
    def numbers(self) -> tuple[float, float]:
        return self.first, self.second
