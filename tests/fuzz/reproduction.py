"""A program with its arguments as one readable file, and back."""

from __future__ import annotations

import re

from tests.fuzz.generator import Sample
from tests.fuzz.scope import Array, Float, Int


def to_text(sample: Sample, detail: str = "") -> str:
    kinds = " ".join(_name(kind) for kind in sample.kinds)
    lines = [f"# fuzz: seed {sample.seed}; {'float32' if sample.float32 else 'float64'}; {kinds}"]
    lines += [f"# {detail}"] if detail else []
    return "\n".join([*lines, sample.source])


def from_text(text: str) -> Sample:
    head = re.match(r"# fuzz: seed (\d+); (float32|float64); (.*)", text)
    if head is None:
        raise ValueError("the first line is not `# fuzz: seed N; float64; kinds...`")
    kinds = tuple(_kind(word) for word in head[3].split())
    return Sample(int(head[1]), text, kinds, head[2] == "float32")


def _name(kind: Float | Int | Array) -> str:
    if isinstance(kind, Array):
        return "array:" + "x".join(map(str, kind.shape))
    return "float" if isinstance(kind, Float) else "int"


def _kind(word: str) -> Float | Int | Array:
    if word.startswith("array:"):
        return Array(tuple(int(n) for n in word[6:].split("x")))
    return {"float": Float(), "int": Int(0, 3)}[word]
