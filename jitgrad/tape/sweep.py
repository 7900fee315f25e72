"""The backward sweep: from targets to sources over recorded nodes, the latest first.

This is reverse accumulation over a recorded graph (Griewank & Walther, Evaluating Derivatives, 2nd ed., section 3.2).
Where no tape listens the pullbacks run on arrays; else on tensors, and are recorded themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from jitgrad.errors import DifferentiationError, ShapeError
from jitgrad.tape.primitive import plain
from jitgrad.tape.recording import RELEASED, Node, Recording, thread
from jitgrad.tape.tensor import Tensor

_by_number = attrgetter("number")


def backward(
    targets: Sequence[Tensor],
    seeds: Sequence[Any],
    sources: Sequence[Tensor],
    recording: Recording | None = None,
    stops: Collection[Node] = (),
) -> list[Any]:
    """Cotangents of `sources` for the cotangents `seeds` of `targets`.

    Parameters
    ----------
    targets, sources : sequences of Tensor
    seeds : sequence of ndarray or Tensor
        One per target, of its shape.
    recording : Recording, optional
        Follow only what this recording heard; by default everything recorded.
    stops : collection of Node
        Nodes behind which nothing is differentiated.

    Returns
    -------
    list
        For each source a Tensor, or None where no target depends on it.
    """
    higher = bool(thread.recordings)
    graph = Graph([t for t in targets if t.node is not None], sources, recording, stops)
    cotangents: dict[Node, Any] = {}
    for target, seed in zip(targets, seeds, strict=True):
        if target.node in graph.needed:
            _add(cotangents, target, seed)
    with np.errstate(all="ignore"):
        for node in reversed(graph.order):
            ct = cotangents.get(node)
            if ct is None or node.primitive is None or node in graph.stops:
                continue
            for arg, contribution in _pulled(node, ct, graph, higher):
                _add(cotangents, arg, _fit(contribution, arg._array, node))
            if node not in graph.sources:
                del cotangents[node]
    return [_result(cotangents, source) for source in sources]


def _result(cotangents: dict[Node, Any], source: Tensor) -> Tensor | None:
    ct = cotangents.get(source.node)
    if isinstance(ct, list):
        ct = ct[source.index]
    return ct if ct is None or isinstance(ct, Tensor) else Tensor(ct)


class Graph:
    """The part of what was recorded that leads from sources to targets.

    Attributes
    ----------
    order : list of Node
        Everything the targets were made of, in the order of time.
    needed : set of Node
        Those of them that a source flows into, and the sources themselves.
    """

    def __init__(self, targets, sources, recording=None, stops=()):
        self.sources = {s.node for s in sources if s.node is not None}
        self.stops = stops
        self.recording = recording
        seen: set[Node] = set()
        waiting = [t.node for t in targets]
        while waiting:
            node = waiting.pop()
            if node in seen or (recording is not None and recording not in node.recordings):
                continue
            seen.add(node)
            if node.primitive is RELEASED:
                raise DifferentiationError(
                    "a target was recorded by a tape that is used up or was reset; open the tape with persistent=True"
                )
            if node in stops:
                continue
            for arg in node.args:
                if type(arg) is Tensor and arg.node is not None and self.heard(arg.node, node):
                    waiting.append(arg.node)
        self.order = sorted(seen, key=_by_number)
        needed = self.needed = seen & self.sources
        for node in self.order:
            if node not in needed and node not in stops:
                for arg in node.args:
                    if type(arg) is Tensor and arg.node in needed and self.heard(arg.node, node):
                        needed.add(node)
                        break

    def heard(self, operand: Node, node: Node) -> bool:
        """Whether the recording watched `operand` when `node` used it."""
        since = operand.since
        return since is None or since.get(self.recording, 0) < node.number


def _pulled(node: Node, ct: Any, graph: Graph, higher: bool) -> list[tuple[Tensor, Any]]:
    """The operands that need a cotangent, each with what this node contributes."""
    needed = graph.needed
    wanted = [
        k
        for k, a in enumerate(node.args)
        if type(a) is Tensor and a.node in needed and (a.node.since is None or graph.heard(a.node, node))
    ]
    if isinstance(ct, list):
        ct = tuple(ct)
    if higher:
        args: Sequence[Any] = node.args
        out: Any = node.out
        out = tuple(Tensor(o, node, k) for k, o in enumerate(out)) if type(out) is tuple else Tensor(out, node)
        if type(ct) is not tuple and not isinstance(ct, Tensor):
            ct = Tensor(ct)
    else:
        args, out = [a._array if type(a) is Tensor else a for a in node.args], node.out
        ct = plain(ct)
    contributions = node.primitive.cotangents(wanted, ct, out, args, node.kwargs)
    return [(node.args[k], c) for k, c in zip(wanted, contributions, strict=True) if c is not None]


def _add(cotangents: dict[Node, Any], tensor: Tensor, ct: Any) -> None:
    node = tensor.node
    if type(node.out) is tuple:
        parts = cotangents.setdefault(node, [None] * len(node.out))
        old = parts[tensor.index]
        parts[tensor.index] = ct if old is None else old + ct
    else:
        old = cotangents.get(node)
        cotangents[node] = ct if old is None else old + ct


def _fit(ct: Any, array: Any, node: Node) -> Any:
    """`ct` summed, broadcast or converted to the shape and dtype of the operand `array`."""
    if type(ct) is not np.ndarray and not isinstance(ct, (Tensor, np.generic)):
        ct = np.asarray(ct)
    if ct.shape != array.shape:
        ct = _to_shape(ct, array.shape, node)
    if ct.dtype != array.dtype:
        if ct.dtype.kind == "c" and array.dtype.kind != "c":
            ct = np.real(ct)
        ct = ct.astype(array.dtype)
    return ct


def _to_shape(ct: Any, shape: tuple[int, ...], node: Node) -> Any:
    extra = ct.ndim - len(shape)
    if extra >= 0:
        summed = tuple(range(extra)) + tuple(
            k + extra for k, n in enumerate(shape) if n == 1 and ct.shape[k + extra] != 1
        )
        if summed:
            ct = np.sum(ct, axis=summed)
    try:
        # a 1 in the shape was summed away above
        return np.reshape(ct, shape) if ct.size == np.prod(shape) else np.broadcast_to(ct, shape)
    except ValueError:
        raise ShapeError(
            f"the gradient of {node.primitive.name} gave a cotangent of shape {ct.shape} for an operand of shape {shape}"
        ) from None
