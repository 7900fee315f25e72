"""The structure of an argument or a result as generated code sees it: a tree over its Numba type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.core import types
from numba.np.numpy_support import as_dtype

from jitgrad.backend.structure import describe, has_float
from jitgrad.errors import UnsupportedError


@dataclass(eq=False)
class Node:
    """A place in a structure.

    Attributes
    ----------
    type : numba type
    text : str
        The expression that reads it.
    items : list of Node or None
        What is inside, for a tuple.
    """

    type: types.Type
    text: str
    items: list[Node] | None = field(default=None)

    @property
    def differentiable(self) -> bool:
        return self.items is None and has_float(self.type)

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, types.Array)

    @property
    def is_list(self) -> bool:
        return isinstance(self.type, types.ListType)

    @property
    def scalar(self) -> types.Type:
        return self.type.dtype if self.is_array else self.type

    @property
    def pairs(self) -> bool:
        """Complex numbers count as two real ones."""
        return isinstance(self.scalar, types.Complex)

    @property
    def real_dtype(self) -> np.dtype:
        dtype = as_dtype(self.scalar)
        return np.zeros(0, dtype).real.dtype

    def leaves(self) -> Iterator[Node]:
        if self.items is None:
            yield self
        else:
            for item in self.items:
                yield from item.leaves()


def tree(ty: types.Type, text: str, what: str, *, lists: bool = False) -> Node:
    """The structure of a value of type `ty` that the expression `text` reads.

    With `lists`, a typed list of numbers or arrays is a leaf.

    Raises
    ------
    UnsupportedError
        For a structure with floats that blocks of a Jacobian cannot be arranged by.
    """
    if isinstance(ty, types.BaseTuple):
        return Node(ty, text, [tree(item, f"{text}[{k}]", f"{what}[{k}]", lists=lists) for k, item in enumerate(ty)])
    if isinstance(ty, types.Optional):
        raise UnsupportedError(
            f"{what} may be None ({ty}), which jacobian does not support; return a number on every path"
        )
    if has_float(ty) and not _is_simple(ty.dtype if lists and isinstance(ty, types.ListType) else ty):
        raise UnsupportedError(
            f"{what} is {describe(ty)}, for which jacobian has no block structure yet; use jvp or vjp, "
            "or pass its arrays as arguments of their own"
        )
    return Node(ty, text)


def plain_tree(ty: types.Type, text: str) -> Node:
    """As `tree`, for structures of any kind."""
    if isinstance(ty, types.BaseTuple):
        return Node(ty, text, [plain_tree(item, f"{text}[{k}]") for k, item in enumerate(ty)])
    return Node(ty, text)


def _is_simple(ty: types.Type) -> bool:
    """A number or an array of numbers."""
    return isinstance(ty.dtype if isinstance(ty, types.Array) else ty, types.Number)


def rebuild(node: Node, leaf: Callable[[Node], str], use: Callable[[Any, str], str]) -> str:
    """An expression with the structure of `node`, with `leaf(node)` at every leaf."""
    if node.items is None:
        return leaf(node)
    items = [rebuild(item, leaf, use) for item in node.items]
    if isinstance(node.type, (types.NamedTuple, types.NamedUniTuple)):
        cls = node.type.instance_class
        return f"{use(cls, cls.__name__)}({', '.join(items)})"
    return f"({', '.join(items)},)" if items else "()"
