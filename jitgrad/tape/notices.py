"""The warning where a derivative is lost, told at the line of the user."""

from __future__ import annotations

import itertools
import linecache
import sys
import warnings
from types import FrameType

_LIBRARIES = ("jitgrad", "numpy", "scipy", "contextlib")


class UnconnectedGradientWarning(UserWarning):
    """A gradient is None, or a recorded value becomes a constant; the message says why."""


def _library(frame: FrameType) -> str:
    """The package that the code of a frame belongs to."""
    return frame.f_globals.get("__name__", "").partition(".")[0]


def warn(message: str, category: type[Warning] = UnconnectedGradientWarning) -> None:
    """Warn at the line outside of this package, and of those that it was called through, that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _library(frame) in _LIBRARIES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_detached(what: str, silent: tuple[str, ...] = ()) -> None:
    """Warn that a recorded value becomes `what`; to be called by the method that Python or NumPy calls for that.

    This package may do so, and who says so: an expression that starts with one of `silent`, such as ``float(x)``.
    """
    frame = sys._getframe(2)
    if _library(frame) != "jitgrad" and not _expression(frame).startswith(silent or ("\n",)):
        warn(
            f"a recorded value becomes {what}, a constant for the tape: no derivative flows through it. Use NumPy's "
            f"functions (np.sin for math.sin, np.stack for np.array); where a constant is meant, say so with x.numpy() "
            f"or x.item()"
        )


def _expression(frame: FrameType) -> str:
    """The first line of the expression that a frame is at; empty where the source cannot be seen."""
    positions = frame.f_code.co_positions()
    line, _, column, _ = next(itertools.islice(positions, frame.f_lasti // 2, None), (None, None, None, None))
    return "" if line is None or column is None else linecache.getline(frame.f_code.co_filename, line)[column:]
