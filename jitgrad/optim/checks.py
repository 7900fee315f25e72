"""Checks of hyper-parameters, with one wording."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError


def checked(name: str, value: Any, low: float = 0.0, high: float = math.inf, *, closed: bool = False) -> float:
    """`value` as a float, or an error unless ``low <= value < high`` (``<= high`` if `closed`)."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be a number, not {value!r}") from None
    if low <= number < high or (closed and number == high):
        return number
    limits = f"between {low:g} and {high:g}" if closed else f"at least {low:g} and below {high:g}"
    raise ArgumentError(f"{name} must be {limits}, not {value!r}")


def checked_count(name: str, value: Any, low: int) -> int:
    """`value` as an integer that is at least `low`, or an error."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < low:
        raise ArgumentError(f"{name} must be an integer of at least {low}, not {value!r}")
    return int(value)


def positive(name: str, value: Any) -> float:
    """`value` as a float above 0, or an error."""
    number = checked(name, value)
    if not number:
        raise ArgumentError(f"{name} must be above 0, not {value!r}")
    return number
