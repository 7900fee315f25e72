"""Errors of jitgrad.

::

    JitgradError
    ├── DifferentiationError      the program cannot be differentiated as asked
    │   ├── UnsupportedError      a construct of the language that has no derivative here
    │   └── NoRuleError           a function without a derivative rule
    ├── ArgumentError (TypeError) a wrong argument of a transform or of its result
    ├── ShapeError (ValueError)   a tangent or cotangent of the wrong shape
    ├── PatternError (ValueError) a sparsity pattern in which entries are missing
    ├── DataError (ValueError)    a data, weights or option file that cannot be used
    ├── TapeError (RuntimeError)  a tape that was used up, never used, or is not persistent (`jitgrad.tape`)
    │   └── RecordingError (ValueError)  a tape that is recording where it must not, or is not where it must
    └── NoGradientError (ValueError)     an optimizer was given no gradient at all (`jitgrad.optim`)

Every message says what is wrong, where, and the way out.
"""

from __future__ import annotations

import linecache
from typing import Any


class JitgradError(Exception):
    """Base class of all errors raised by jitgrad."""


class DifferentiationError(JitgradError):
    """The program cannot be differentiated as asked."""


class UnsupportedError(DifferentiationError):
    """A language construct that jitgrad cannot differentiate."""


class NoRuleError(DifferentiationError):
    """A function that has no derivative rule."""


class ArgumentError(JitgradError, TypeError):
    """A wrong argument of a transform, or of the function a transform returned."""


class ShapeError(JitgradError, ValueError):
    """A tangent or cotangent whose shape differs from what it belongs to."""


class PatternError(JitgradError, ValueError):
    """A sparsity pattern in which entries of the matrix are missing."""


class DataError(JitgradError, ValueError):
    """A file of data or weights that is missing, corrupt or does not fit; the message is one line."""


def where(loc: Any) -> str:
    """``file.py:12: `source line` `` for a `Location`, or an empty string."""
    if loc is None:
        return ""
    text = linecache.getline(loc.filename, loc.line).strip()
    return f"{loc}: `{text}`" if text else f"{loc}"
