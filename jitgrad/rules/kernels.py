"""Rows whose partials call the kernels of `jitgrad.fastmath` in place of the C library."""

from __future__ import annotations

import ast
import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from numba.core import types

from jitgrad.rules.kinds import Regular, ScalarRule
from jitgrad.settings import current_math

_FUNCTIONS = ("cos", "erf", "exp", "expm1", "log", "log1p", "sin", "tan", "tanh")


def with_kernels(row: ScalarRule, kinds: Sequence[Any]) -> ScalarRule:
    """The row to use for operands of these types: with kernels in its partials, unless `options` say otherwise."""
    if current_math() == "libm" or not all(t in (types.float64, types.float32) for t in kinds):
        return row
    return _rewritten(row)


@functools.cache
def _rewritten(row: ScalarRule) -> ScalarRule:
    partials = tuple(map(_with_kernels, row.partials))
    return row if partials == row.partials else replace(row, partials=partials)


def _with_kernels(text: str | None) -> str | None:
    if text is None:
        return None
    tree = _ToKernels().visit(ast.parse(text, mode="eval"))
    new = ast.unparse(tree)
    if new == ast.unparse(ast.parse(text, mode="eval")):
        return text
    return Regular(new) if isinstance(text, Regular) else new


class _ToKernels(ast.NodeTransformer):
    """``np.cos`` and ``math.cos`` become ``fastmath.cos``."""

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id in ("np", "math") and node.attr in _FUNCTIONS:
            return ast.Attribute(ast.Name("fastmath", ast.Load()), node.attr, ast.Load())
        return node
