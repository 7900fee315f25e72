"""Guards: whether a call is a known operation of a recording, asked by a function written for that operation.

The operation is given as an edge of the tree of known recordings (see `deferred`): its primitive, a part for each
operand, then its keywords and a part for each of their values. What `deferred.edge_of` finds out by describing a call
from scratch, a guard compares in a few steps, as a tracing compiler's guards do.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitgrad.tape.recording import Recording, leaf
from jitgrad.tape.signatures import OWNDATA
from jitgrad.tape.tensor import Tensor, Variable

Guard = Callable[[Sequence[Any], Mapping[str, Any], Recording], Sequence[Any] | None]
"""The operands as a node keeps them if a call with these arguments is the operation, else None: it may still be."""
Question = Callable[[Any, Any, Recording], bool]
"""Whether a call of `gradient` with this target and these sources asks the same; if not, it may still."""

_PLAIN = {int, bool, str, type(None)}
"""Constants that are compared by value."""

_LEAF = """
    if type(x{k}) is Variable:
        x{k} = x{k}.read_value()
    elif type(x{k}) is not Tensor:
        return None"""

_TEXTS = {
    "result": """
    if type(x{k}) is not Tensor or x{k}.node is not recording.nodes[p{k}]:
        return None""",
    "leaf": _LEAF
    + """
    if leaves.get(x{k}.node) != p{k} or x{k}.index or recording.state is None:
        return None""",
    "new leaf": _LEAF
    + """
    n{k} = x{k}.node
    if n{k} is None:
        n{k} = x{k}.node = leaf(x{k}._array)
    if n{k}.primitive is not None or x{k}.index or n{k} in leaves{others}:
        return None
    dtype, shape, layout, watched = p{k}
    a = x{k}._array
    if a.dtype is not dtype and a.dtype != dtype or a.shape != shape or a.flags.num & ~OWNDATA != layout:
        return None
    if (recording in n{k}.recordings) is not watched:
        return None""",
    "number": """
    if type(x{k}) is not float:
        return None""",
    "constant": """
    if type(x{k}) is not p{k}[0] or x{k} != p{k}[1]:
        return None""",
}


def guard_of(edge: tuple, count: int) -> Guard:
    """The guard of an operation with `count` operands."""
    half = count + 1 + (len(edge) - count - 1) // 2
    names, values = edge[count + 1 : half], edge[half:]
    parts = (*edge[1 : count + 1], *values)
    kinds = [_kind(part) for part in parts]
    if None in kinds or "number" in kinds[count:]:
        return _never
    code = _code(tuple(kinds[:count]), names)  # type: ignore[arg-type]
    return types.FunctionType(code, _NAMES, argdefs=tuple(~p if kinds[k] == "leaf" else p for k, p in enumerate(parts)))


def _never(args: Any, kwargs: Any, recording: Any) -> None:
    """The guard of an operation that can only be told from others by its edge."""


def _kind(part: Any) -> str | None:
    if part is float:
        return "number"
    if isinstance(part, int):
        return "result" if part >= 0 else "leaf"
    if type(part) is tuple and len(part) == 4:
        return "new leaf"
    return "constant" if type(part) is tuple and len(part) == 2 and part[0] in _PLAIN else None


@functools.cache
def _code(kinds: tuple[str, ...], names: tuple[str, ...]) -> types.CodeType:
    """The code of guards for operations of one form; what they compare with are the defaults of parameters."""
    count = len(kinds)
    numbers = range(count + len(names))
    lines = [f"def guard(args, kwargs, recording, {', '.join(f'p{k}=None' for k in numbers)}):"]
    lines += [f"    if len(args) != {count} or {f'len(kwargs) != {len(names)}' if names else 'kwargs'}:"]
    lines += ["        return None"]
    if count:
        lines.append(f"    {' '.join(f'x{k},' for k in range(count))} = args")
    fresh = [k for k in range(count) if kinds[k] == "new leaf"]
    if any("leaf" in kind for kind in kinds):
        lines.append("    leaves = recording.leaves")
    for k, kind in enumerate(kinds):
        others = "".join(f" or n{j} is n{k}" for j in fresh if j < k)
        lines += _TEXTS[kind].format(k=k, others=others).splitlines()[1:]
    for k, name in enumerate(names, count):
        lines.append(f"    x{k} = kwargs.get({name!r}, kwargs)")  # which is of no plain type
        lines += _TEXTS["constant"].format(k=k).splitlines()[1:]
    lines += [f"    leaves[n{k}] = len(leaves)" for k in fresh]
    given = not any("leaf" in kind for kind in kinds)
    lines.append("    return args" if given else f"    return ({' '.join(f'x{k},' for k in range(count))})")
    return _code_of(lines)


def _code_of(lines: Sequence[str]) -> types.CodeType:
    """The code of the function ``guard`` that these lines define."""
    names_made: dict[str, Any] = {}
    exec("\n".join(lines), names_made)
    return names_made["guard"].__code__


# ----- what is asked of a recording -----------------------------------------------------------------
def question_of(target: Any, sources: Any, recording: Recording) -> Question | None:
    """The guard of a call with one target and sources that are operands, alone or in a list; None for other calls."""
    many = type(sources) is list
    parts = sources if many else [sources]
    if type(target) is not Tensor or not parts or not all(type(part) in (Tensor, Variable) for part in parts):
        return None
    numbers = [recording.leaves.get(part.node) for part in parts]
    if None in numbers:
        return None
    code = _question_code(tuple([type(part).__name__ for part in parts]), many)
    return types.FunctionType(code, _NAMES, argdefs=(target.node.state.depth, *numbers))


@functools.cache
def _question_code(kinds: tuple[str, ...], many: bool) -> types.CodeType:
    """The code of guards for calls of one form, whose defaults are the numbers of target and sources."""
    numbers = range(len(kinds))
    lines = [f"def guard(target, sources, recording, end=None, {', '.join(f'p{k}=None' for k in numbers)}):"]
    lines += ["    if type(target) is not Tensor or target.node is not recording.nodes[end]:", "        return False"]
    if many:
        lines += [f"    if type(sources) is not list or len(sources) != {len(kinds)}:", "        return False"]
    lines.append(f"    {' '.join(f'x{k},' for k in numbers)} = {'sources' if many else 'sources,'}")
    lines.append("    number = recording.leaves.get")
    known = [
        f"type(x{k}) is {kind} and number(x{k}.node) == p{k}" + f" and not x{k}.index" * (kind == "Tensor")
        for k, kind in enumerate(kinds)
    ]
    lines.append(f"    return {' and '.join(known)}")
    return _code_of(lines)


_NAMES = {"Tensor": Tensor, "Variable": Variable, "OWNDATA": OWNDATA, "leaf": leaf}
