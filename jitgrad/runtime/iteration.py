"""Functions of iterables: their items as a list, the largest and the smallest."""

from __future__ import annotations

from typing import Any

from numba import njit


@njit
def listed(iterable: Any) -> list:
    """The items of a dictionary, a view of one, or a set, in order."""
    return [item for item in iterable]  # noqa: C416  (Numba's list() takes no dictionary)


@njit
def largest(iterable: Any) -> Any:
    """``max(iterable)``; items that tie share the derivative, as arguments of ``max`` do."""
    if len(iterable) == 0:
        raise ValueError("max() iterable argument is empty")
    best = iterable[0]
    for item in iterable:
        if item > best:
            best = item
        elif item == best:
            best = max(best, item)
    return best


@njit
def smallest(iterable: Any) -> Any:
    """``min(iterable)``; items that tie share the derivative, as arguments of ``min`` do."""
    if len(iterable) == 0:
        raise ValueError("min() iterable argument is empty")
    best = iterable[0]
    for item in iterable:
        if item < best:
            best = item
        elif item == best:
            best = min(best, item)
    return best
