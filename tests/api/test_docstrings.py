"""The examples in the docstrings of the public functions run."""

from __future__ import annotations

import doctest
import importlib

import numpy as np
import pytest

import jitgrad as jg

MODULES = [
    "api.batching", "api.checking", "api.checkpointing", "api.custom", "api.jacobians", "api.pushforward",
    "api.repeating", "api.source", "api.transforms", "backend.digest", "fastmath", "implicit.equations",
    "native.cfunction", "native.prototype", "settings", "sparse.colouring", "sparse.detection", "sparse.patterns",
    "tape.compiled.cache", "tape.custom", "tape.forward",
    "tape.gradient_tape", "tape.graph", "tape.tensor",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"jitgrad.{name}")
    names = {"np": np, "fastmath": jg.fastmath, **{n: getattr(jg, n) for n in jg.__all__}}
    results = doctest.testmod(module, extraglobs=names)
    assert results.attempted > 0
    assert results.failed == 0


def test_every_public_function_has_an_example():
    functions = [getattr(jg, n) for n in jg.__all__ if not isinstance(getattr(jg, n), type)]
    assert [f.__name__ for f in functions if ">>>" not in (f.__doc__ or "")] == []
