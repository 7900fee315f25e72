"""The text of tangent arithmetic: sums of products, written the way a person would."""

from __future__ import annotations

import ast
from collections.abc import Sequence


def total(terms: Sequence[str]) -> str:
    """The sum of some source texts, with signs and reciprocals drawn out.

    >>> total(["x_dot * y", "y_dot * -x"])
    'x_dot * y - y_dot * x'
    >>> total(["x_dot * (1.0 / y)"])
    'x_dot / y'
    """
    result: ast.expr | None = None
    signed = [_signed(ast.parse(term, mode="eval").body) for term in terms]
    signed.sort(key=lambda term: term[0] < 0)  # a positive term first, where there is one
    for sign, term in signed:
        if result is None:
            result = term if sign > 0 else ast.UnaryOp(ast.USub(), term)
        else:
            result = ast.BinOp(result, ast.Add() if sign > 0 else ast.Sub(), term)
    if result is None:
        raise ValueError("an empty sum has no text")
    return ast.unparse(ast.fix_missing_locations(result))


def _signed(term: ast.expr) -> tuple[int, ast.expr]:
    """`term` as a sign and an expression without a leading minus."""
    match term:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            sign, inner = _signed(operand)
            return -sign, inner
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            a, x = _signed(left)
            b, y = _signed(right)
            return a * b, _product(x, y)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            a, x = _signed(left)
            b, y = _signed(right)
            return a * b, ast.BinOp(x, ast.Div(), y)
        case ast.Call(func=ast.Name(id="mul0"), args=[x, y]) if _is_finite(y):
            return _signed(ast.BinOp(x, ast.Mult(), y))
        case ast.Call(func=ast.Name(id="div0"), args=[x, y]) if _is_finite(y) and not _is_zero(y):
            return _signed(ast.BinOp(x, ast.Div(), y))
    return 1, term


def _is_finite(node: ast.expr) -> bool:
    """Whether an expression is made of literals, so that no infinity can come out of it."""
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_finite(operand)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return _is_finite(left) and _is_finite(right) and not _is_zero(right)
    return False


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0


def _product(x: ast.expr, y: ast.expr) -> ast.expr:
    if _is_one(y):
        return x
    if _is_one(x):
        return y
    match y:
        case ast.BinOp(left=one, op=ast.Div(), right=below) if _is_one(one):
            return ast.BinOp(x, ast.Div(), below)
    return ast.BinOp(x, ast.Mult(), y)


def _is_one(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=float(value)):
            return value == 1.0
        case ast.Call(func=ast.Attribute(attr="float32"), args=[ast.Constant(value=float(value))]):
            return value == 1.0
    return False


def names_read(text: str) -> set[str]:
    """The identifiers in an expression."""
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}


def in_order(copies: Sequence[tuple[str, str]]) -> list[str]:
    """Assignments ``target = source`` that all happen at once, as statements one after the other.

    >>> in_order([("a", "b"), ("c", "a")])
    ['c = a', 'a = b']
    >>> in_order([("a", "b"), ("b", "a")])
    ['a, b = b, a']
    """
    left = [(target, source) for target, source in copies if target != source]
    lines = []
    while left:
        for k, (target, source) in enumerate(left):
            others = left[:k] + left[k + 1 :]
            if all(target not in names_read(text) for _, text in others):
                lines.append(f"{target} = {source}")
                left = others
                break
        else:
            cycle = _cycle(left)
            lines.append(", ".join(t for t, _ in cycle) + " = " + ", ".join(s for _, s in cycle))
            left = [copy for copy in left if copy not in cycle]
    return lines


def _cycle(copies: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Copies that must happen together: those on a cycle with the first, and those that read their targets."""
    together = [copies[0]]
    for copy in together:
        for other in copies:
            if other not in together and (copy[0] in names_read(other[1])):
                together.append(other)
    return [copy for copy in copies if copy in together]
