"""The examples in the docstrings run, and every public class has one."""

import doctest
import importlib

import pytest

import jitgrad.optim


@pytest.mark.parametrize("name", ["adam", "adaptive", "base", "schedules", "scipy_", "sgd", "v1"])
def test_examples(name):
    results = doctest.testmod(importlib.import_module(f"jitgrad.optim.{name}"))
    assert results.attempted > 0
    assert results.failed == 0


def test_every_optimizer_has_an_example():
    classes = [getattr(jitgrad.optim, name) for name in jitgrad.optim.__all__]
    lacking = [c.__name__ for c in classes if isinstance(c, type) and ">>>" not in (c.__doc__ or "")]
    assert lacking == ["NoGradientError"]
