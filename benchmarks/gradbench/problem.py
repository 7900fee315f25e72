"""What the suite's protocol needs to know of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Function:
    """One function of a problem.

    Attributes
    ----------
    run : callable
        Compiled; the only part that is timed.
    prepare : callable
        The JSON input as a tuple of arguments.
    finish : callable
        The result as JSON.
    """

    run: Callable[..., Any]
    prepare: Callable[[Any], tuple]
    finish: Callable[[Any], Any]


def array(values: Any) -> np.ndarray:
    """An array of floats."""
    return np.array(values, dtype=np.float64)
