"""The memory that a call takes at its peak, beyond what it is given and returns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks import measure
from jitgrad.runtime import arena


def peak(call: Callable[[], object]) -> int:
    """Bytes of resident memory that `call` adds at its peak; skips the test where the system does not tell."""
    arena.drain()
    measure.release_memory()
    found = measure.peak(call)
    if found is None:
        pytest.skip("needs Linux's /proc")
    return found
