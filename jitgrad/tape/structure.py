"""Nested structures of values: lists, tuples, named tuples and dicts."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError

LEAVES: set[type] = {int, float, complex, type(None), np.ndarray}
"""Types that are leaves for certain, so that the slow question whether something is a mapping is spared."""


def flatten(tree: Any) -> list[Any]:
    """The leaves of `tree`, those of a dict in the order of its sorted keys, as in TensorFlow."""
    if type(tree) in LEAVES:
        return [tree]
    if isinstance(tree, (list, tuple)):
        leaves = []
        for part in tree:
            if type(part) in LEAVES:
                leaves.append(part)
            else:
                leaves += flatten(part)
        return leaves
    if isinstance(tree, Mapping):
        return [leaf for key in _keys(tree) for leaf in flatten(tree[key])]
    return [tree]


def _keys(tree: Mapping) -> list[Any]:
    """The keys of a dict in sorted order; as they are where they cannot be compared."""
    try:
        return sorted(tree)
    except TypeError:
        return list(tree)


def flatten_like(tree: Any, other: Any, names: tuple[str, str]) -> list[Any]:
    """What `other` has for each leaf of `tree`; a leaf of `tree` may stand opposite to a list of numbers.

    Raises
    ------
    ArgumentError
        If `other` has not the structure of `tree`; the message calls the two by `names`.
    """
    if isinstance(tree, (list, tuple)):
        if isinstance(other, (list, tuple)) and len(other) == len(tree):
            return [leaf for a, b in zip(tree, other, strict=True) for leaf in flatten_like(a, b, names)]
        if len(tree) == 1 and not isinstance(other, (list, tuple, Mapping)):
            return flatten_like(tree[0], other, names)
    elif isinstance(tree, Mapping):
        if isinstance(other, Mapping) and other.keys() == tree.keys():
            return [leaf for key in _keys(tree) for leaf in flatten_like(tree[key], other[key], names)]
    else:
        return [other]
    raise ArgumentError(f"{names[1]} must have the structure of {names[0]}, {_sketch(tree)}; it is {_sketch(other)}")


def _sketch(tree: Any) -> str:
    """The structure of `tree` for an error message."""
    if isinstance(tree, (list, tuple)):
        return f"a {type(tree).__name__} of length {len(tree)}"
    return f"a dict with the keys {list(tree)}" if isinstance(tree, Mapping) else f"a {type(tree).__name__}"


def rebuild(tree: Any, leaves: Iterator[Any]) -> Any:
    """`tree` with other leaves."""
    if type(tree) in LEAVES:
        return next(leaves)
    if isinstance(tree, (list, tuple)):
        parts = [rebuild(part, leaves) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, Mapping):
        found = {key: rebuild(tree[key], leaves) for key in _keys(tree)}
        made: Any = copy.copy(tree) if isinstance(tree, dict) else dict(tree)  # keeps the order and the kind of dict
        made.update(found)
        return made
    return next(leaves)
