"""What tells one recorded program from another: a key of everything that its backward program depends on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import chain, count, islice
from operator import attrgetter
from typing import Any

from jitgrad.tape.recording import Node, Recording
from jitgrad.tape.signatures import OPAQUE, layout
from jitgrad.tape.tensor import Tensor

LARGEST = 400
"""Recordings with more operations stay with NumPy: compiling them would take many seconds."""

_signature = attrgetter("signature")


def key_of(
    recording: Recording, targets: Sequence[Tensor], seeds: Sequence[Any], sources: Sequence[Tensor]
) -> Hashable | None:
    """The structure of what was recorded and of what is asked; None for what is not to be compiled.

    Operations are numbered in the order of time, then constants, leaves and whatever else signatures name, in the order
    in which they occur. The key is these numbers, with a description of everything that is no operation. Shapes of
    results follow from it.
    """
    nodes = recording.nodes
    size = len(nodes)
    if not 0 < size <= LARGEST or recording.rewritten:
        return None
    numbers: dict[Any, int] = dict(zip(nodes, range(size), strict=True))
    number = numbers.setdefault
    ends = [t.node for t in targets] + [s.node for s in sources]
    parts = chain(chain.from_iterable(map(_signature, nodes)), ends)
    code = tuple(map(number, parts, count(size)))
    first = nodes[0].number
    described = []
    for other in islice(numbers, size, None):
        if type(other) is Node:
            other = _leaf(other, recording, nodes, first)
        elif type(other) is tuple and other and type(other[0]) is Node:
            other = ("part", numbers.get(other[0], OPAQUE), other[1])
            if other[1] is OPAQUE:
                return None
        if other is OPAQUE:
            return None
        described.append(other)
    asked = [t.index for t in targets], [s.index for s in sources], [(type(s), s.dtype, layout(s)) for s in seeds]
    return code, tuple(described), *[tuple(a) for a in asked]


def _leaf(node: Node, recording: Recording, nodes: Sequence[Node], first: int) -> Any:
    """What matters about a value that the recording did not compute."""
    out = node.out
    if type(out) is tuple:
        return OPAQUE
    watched: Any = recording in node.recordings
    if watched and node.primitive is not None and recording not in (node.since or ()):
        return OPAQUE  # an operation of this recording that it does not keep
    if watched and node.since and node.since.get(recording, 0) > first:
        # operations before that took it for a constant
        watched = "since", sum(n.number < node.since[recording] for n in nodes)
    return type(out), out.dtype, out.shape, layout(out), watched
