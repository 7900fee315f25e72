"""The backward sweep: from targets to sources over recorded nodes, the latest first.

This is reverse accumulation over a recorded graph (Griewank & Walther, Evaluating Derivatives, 2nd ed., section 3.2).
Where no tape listens the pullbacks run on arrays; else on tensors, and are recorded themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError, DifferentiationError, ShapeError
from jitgrad.tape.float_errors import ignored
from jitgrad.tape.primitive import plain
from jitgrad.tape.recording import RELEASED, Node, Recording, only, thread
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
        Follow only what this recording heard. By default everything recorded, and all tapes that recorded it record the
        sweep as well, even if their contexts are over.
    stops : collection of Node
        Nodes behind which nothing is differentiated.

    Returns
    -------
    list
        For each source a Tensor, or None where no target depends on it.
    """
    graph = Graph([t for t in targets if t.node is not None], sources, recording, stops)
    listening = thread.recordings
    if recording is None:
        heard = dict.fromkeys(r for node in graph.order for r in node.recordings if r.alive)
        listening = (*listening, *(r for r in heard if r not in listening))
    with only(listening):
        found = sweep(graph, targets, seeds, sources, _as_tensors if listening else None)
    return [ct if ct is None or isinstance(ct, Tensor) else Tensor(ct) for ct in found]


def sweep(
    graph: Graph,
    targets: Sequence[Tensor],
    seeds: Sequence[Any],
    sources: Sequence[Tensor],
    view: Callable[[Node, Any], tuple[Any, Any, Sequence[Any]]] | None = None,
) -> list[Any]:
    """The cotangents of `sources`, of the kind that the pullbacks see.

    Parameters
    ----------
    view : callable, optional
        ``view(node, ct)`` gives what the pullbacks of `node` are called with: ``ct, out, args``. By default arrays.
    """
    cotangents: dict[Node, Any] = {}
    for target, seed in zip(targets, seeds, strict=True):
        if target.node in graph.needed:
            _add(cotangents, target, seed)
    ended = graph.sources
    with ignored():
        for node, wanted in reversed(graph.wanted.items()):
            ct = cotangents.get(node) if node in ended else cotangents.pop(node, None)
            if ct is None:
                continue
            args = node.args
            if view is not None:
                ct, out, values = view(node, ct)
            else:
                if type(ct) is not np.ndarray:
                    ct = plain(ct) if type(ct) is not list else plain(tuple(ct))
                out, values = node.out, [a._array if type(a) is Tensor else a for a in args]
            contributions = node.primitive.cotangents(wanted, ct, out, values, node.kwargs)
            for k, contribution in zip(wanted, contributions, strict=True):
                if contribution is not None:
                    arg = args[k]
                    array, operand = arg._array, arg.node
                    if type(contribution) is not np.ndarray or (
                        contribution.shape != array.shape or contribution.dtype is not array.dtype
                    ):
                        contribution = _fit(contribution, array, node)
                    if operand in cotangents or arg.index or type(operand.out) is tuple:
                        _add(cotangents, arg, contribution)
                    else:
                        cotangents[operand] = contribution
    return [_result(cotangents, source) for source in sources]


def _as_tensors(node: Node, ct: Any) -> tuple[Any, Any, Sequence[Any]]:
    if type(ct) is list:
        ct = tuple(ct)
    elif not isinstance(ct, Tensor):
        ct = Tensor(ct)
    out = node.out
    return (
        ct,
        tuple(Tensor(o, node, k) for k, o in enumerate(out)) if type(out) is tuple else Tensor(out, node),
        node.args,
    )


def _result(cotangents: dict[Node, Any], source: Tensor) -> Any:
    ct = cotangents.get(source.node)
    return ct[source.index] if isinstance(ct, list) else ct


class Graph:
    """The part of what was recorded that leads from sources to targets.

    Attributes
    ----------
    order : list of Node
        Everything the targets were made of, in the order of time.
    needed : set of Node
        Those of them that a source flows into, and the sources themselves.
    wanted : dict of Node to tuple of int
        In the order of time, the operations to go back through, and which of their operands need a cotangent.
    """

    def __init__(self, targets, sources, recording=None, stops=()):
        self.sources = {s.node for s in sources if s.node is not None}
        self.recording = recording
        # For each node what its operands are, or None for what is no operation and not watched.
        operands: dict[Node, list[Node | None]] = {}
        waiting = [t.node for t in targets]
        while waiting:
            node = waiting.pop()
            if node in operands or (recording not in node.recordings if recording is not None else not node.recordings):
                continue
            operands[node] = known = []
            if node.since is not None and self._only_watched(node):
                continue
            if node.primitive is RELEASED:
                raise DifferentiationError(
                    "a target was recorded by a tape that is used up or was reset; open the tape with persistent=True"
                )
            if node in stops:
                continue
            for arg in node.args:
                operand = arg.node if type(arg) is Tensor else None
                if operand is not None:
                    since = operand.since
                    if since is None:
                        heard: Any = operand.recordings
                    elif recording is not None:
                        heard = since.get(recording, 0) < node.number
                    else:
                        heard = self._heard_by_one(operand, node)
                    if not heard:
                        operand = None
                    elif operand not in operands:
                        waiting.append(operand)
                known.append(operand)
        self.order = sorted(operands, key=_by_number)
        needed = self.needed = self.sources.intersection(operands)
        wanted_of = self.wanted = {}
        for node in self.order:
            wanted: tuple[int, ...] = ()
            k = 0
            for operand in operands[node]:
                if operand in needed:
                    wanted += (k,)
                k += 1
            if wanted:
                needed.add(node)
                wanted_of[node] = wanted

    def _only_watched(self, node: Node) -> bool:
        """Whether the recording (all of them) was told to watch what `node` made, and did not hear how it was made."""
        if self.recording is not None:
            return self.recording in node.since
        return all(r in node.since for r in node.recordings)

    @staticmethod
    def _heard_by_one(operand: Node, node: Node) -> bool:
        """Whether one of all recordings watched `operand` when `node` used it."""
        since = operand.since
        return any(since.get(r, 0) < node.number for r in node.recordings if r in operand.recordings)


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
    if not hasattr(ct, "dtype"):
        given, ct = ct, np.asarray(ct)
        if ct.dtype.kind not in "biufc":
            raise ArgumentError(f"the gradient of {node.primitive.name} gave {given!r}, which is no array of numbers")
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
        # a 1 in the shape was summed away above; any other change of order would be a mistake
        same = [n for n in ct.shape if n != 1] == [n for n in shape if n != 1]
        return np.reshape(ct, shape) if same else np.broadcast_to(ct, shape)
    except ValueError:
        raise ShapeError(
            f"the gradient of {node.primitive.name} gave a cotangent of shape {ct.shape} for an operand of shape "
            f"{shape}"
        ) from None
