"""Nested structures of values: lists, tuples, named tuples and dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def flatten(tree: Any) -> list[Any]:
    """The leaves of `tree`, those of a dict in the order of its keys' insertion."""
    if isinstance(tree, (list, tuple)):
        return [leaf for part in tree for leaf in flatten(part)]
    if isinstance(tree, Mapping):
        return [leaf for part in tree.values() for leaf in flatten(part)]
    return [tree]


def rebuild(tree: Any, leaves: Iterator[Any]) -> Any:
    """`tree` with other leaves."""
    if isinstance(tree, (list, tuple)):
        parts = [rebuild(part, leaves) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, Mapping):
        return {key: rebuild(part, leaves) for key, part in tree.items()}
    return next(leaves)
