"""Make a failing program smaller while it still fails the same way: by deleting, unwrapping, simplifying."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.generator import Sample

COMPOUND = (ast.For, ast.While, ast.If)


def shrink(sample: Sample, still_fails: Callable[[Sample], bool], seconds: float = 120.0) -> Sample:
    """The smallest program found in the given time for which `still_fails` holds."""
    deadline = time.monotonic() + seconds
    shrinking = True
    while shrinking:
        shrinking = False
        for source in candidates(sample.source):
            if time.monotonic() > deadline:
                return sample
            smaller = replace(sample, source=source)
            if len(source) < len(sample.source) and still_fails(smaller):
                sample, shrinking = smaller, True
                break
    return sample


def candidates(source: str) -> Iterator[str]:
    """Smaller programs, the largest cuts first. Many of them do not run: the caller finds out."""
    yield from _edits(source, _statement_edits)
    yield from _edits(source, _expression_edits)


def _edits(source: str, edits: Callable[[ast.AST], list[Callable[[], None]]]) -> Iterator[str]:
    count = len(edits(ast.parse(source)))
    for k in range(count):
        tree = ast.parse(source)
        edits(tree)[k]()
        yield ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body


def _size(node: ast.AST) -> int:
    return sum(1 for _ in ast.walk(node))


def _statement_edits(tree: ast.AST) -> list[Callable[[], None]]:
    edits: list[tuple[int, Callable[[], None]]] = []
    for body in _bodies(tree):
        for k, statement in enumerate(body):
            if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass)):
                continue
            edits.append((_size(statement), lambda body=body, k=k: _delete(body, k)))
            if isinstance(statement, COMPOUND):
                for inner in (statement.body, statement.orelse):
                    if inner:
                        weight = _size(statement) - sum(map(_size, inner))
                        edits.append((weight, lambda body=body, k=k, inner=inner: _unwrap(body, k, inner)))
    edits.sort(key=lambda edit: -edit[0])
    return [edit for _, edit in edits]


def _delete(body: list[ast.stmt], k: int) -> None:
    body[k : k + 1] = [] if len(body) > 1 else [ast.Pass()]


def _unwrap(body: list[ast.stmt], k: int, inner: list[ast.stmt]) -> None:
    """Put the inner block in the place of the statement; a loop's counter becomes 0."""
    statement = body[k]
    counter = []
    if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
        counter = [ast.Assign([ast.Name(statement.target.id, ast.Store())], ast.Constant(0))]
    body[k : k + 1] = [*counter, *inner]


def _expression_edits(tree: ast.AST) -> list[Callable[[], None]]:
    """Put one of its own parts, or a constant, in the place of an expression."""
    edits: list[tuple[int, Callable[[], None]]] = []
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            slots = [(value, None)] if not isinstance(value, list) else [(v, k) for k, v in enumerate(value)]
            for child, k in slots:
                if not isinstance(child, (ast.BinOp, ast.UnaryOp, ast.Call, ast.IfExp, ast.BoolOp)):
                    continue
                parts = [p for p in ast.iter_child_nodes(child) if isinstance(p, ast.expr)]
                if isinstance(child, ast.Call):
                    parts = list(child.args)
                for part in [*parts, ast.Constant(0.7)]:
                    weight = _size(child) - _size(part)
                    edits.append((weight, lambda node=node, name=name, k=k, part=part: _put(node, name, k, part)))
    edits.sort(key=lambda edit: -edit[0])
    return [edit for weight, edit in edits if weight > 0]


def _put(node: ast.AST, name: str, k: int | None, part: ast.expr) -> None:
    if k is None:
        setattr(node, name, part)
    else:
        getattr(node, name)[k] = part
