"""Iterables without positions, as lists."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit
def listed(iterable: Any) -> list:
    """The items of a dictionary, a view of one, or a set, in order."""
    return [item for item in iterable]  # noqa: C416  (Numba's list() takes no dictionary)
