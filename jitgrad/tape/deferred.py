"""Recordings that repeat a known one: their operations are not computed one by one.

A program that trains a model records the same operations again and again. Once such a structure is compiled, forward
and backward in one function, the next recording follows it: each operation is only compared with the one that came at
this place before, and the values are computed when the gradient is asked for. This is what a tracing compiler does with
its guards (Bolz et al., Tracing the Meta-Level: PyPy's Tracing JIT Compiler, 2009, section 2), where the guards are the
operations themselves.

Nothing of it can be seen: who looks at a value earlier (prints it, branches on it, computes something that is not
known) gets it computed by the very calls that would have computed it at first, and the recording goes on as any other.

The known structures form a tree. Its edges are operations, with their operands by number: shapes and dtypes of results,
and that the operands fit together, follow from the path. So only operations take part whose results have shapes that
follow from those of the operands, and that raise for no values of these.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from jitgrad.tape.float_errors import handling
from jitgrad.tape.guards import Guard, Question, guard_of, question_of
from jitgrad.tape.recording import NO_KWARGS, Node, Recording, leaf, tick
from jitgrad.tape.signatures import OPAQUE, described, kept, layout, signature
from jitgrad.tape.tensor import Tensor, Variable

CREDIT, PRICE = 8, 4
"""What starts with an operation is forgotten when it was followed in vain too often: that costs `PRICE` of a credit
that grows by one, up to `CREDIT`, when it was followed to the end."""

LARGEST = 100_000
"""A tree with more states is forgotten."""


class State:
    """A place in the tree: what was recorded so far.

    Attributes
    ----------
    depth : int
        The number of the last operation, -1 at the root.
    shape, dtype
        Of its result.
    edges : dict
        The states after one more operation.
    programs : dict
        The compiled programs of recordings that end here, by what is asked of them.
    question : tuple or None
        A guard of calls of `gradient`, with the program that they ask for and its seeds.
    primitive, guard
        Of the last operation.
    usual : State or None
        The one of these states that was taken last.
    credit : int
        Of a first operation: see `CREDIT`.
    size : int
        Of the root: how many states there are.
    """

    __slots__ = (
        "credit", "depth", "dtype", "edges", "guard", "primitive", "programs", "question", "shape", "size",
        "usual",
    )  # fmt: skip

    def __init__(
        self, depth: int = -1, shape: tuple[int, ...] = (), dtype: Any = None, primitive: Any = None, guard: Any = None
    ):
        self.depth = depth
        self.shape = shape
        self.dtype = dtype
        self.edges: dict[Hashable, State] = {}
        self.primitive = primitive
        self.guard: Guard = guard
        self.usual: State | None = None
        self.programs: dict[Hashable, Any] = {}
        self.question: tuple[Question, Any, Sequence[Any]] | None = None
        self.credit = CREDIT
        self.size = 0

    def lose(self, state: State) -> None:
        """Forget the edge to `state`."""
        self.usual = None
        self.edges = {edge: other for edge, other in self.edges.items() if other is not state}

    def drop(self, asked: Hashable) -> None:
        """Forget the program for what is asked."""
        self.programs.pop(asked, None)
        self.question = None


root = State()


def defer(primitive: Any, args: Sequence[Any], kwargs: Mapping[str, Any], listening: tuple) -> Tensor | None:
    """The result of an operation that was foreseen, not computed; None if it is to be computed now.

    The one recording that listens must stand in a known state.
    """
    recording = listening[0]
    if handling(None) is not recording.handling:
        return None
    state = recording.state.usual
    if state is None or state.primitive is not primitive:
        operands = None
    else:
        operands = state.guard(args, kwargs, recording)
    if operands is None:
        found = _other(primitive, args, kwargs, recording)
        if found is None:
            return None
        state, operands, kwargs = found
    recording.state = state
    node = _new(Node)
    node.primitive = primitive
    node.args = operands
    node.kwargs = kwargs
    node.recordings = listening
    node.signature = ()
    node.number = tick()
    node.since = None
    node.state = state
    recording.nodes.append(node)
    tensor = _new(Tensor)
    tensor.node = node
    tensor.index = 0
    return tensor


def _other(
    primitive: Any, args: Sequence[Any], kwargs: Mapping[str, Any], recording: Recording
) -> tuple[State, tuple, Mapping[str, Any]] | None:
    """The state after an operation that is not the usual one, with its operands and keywords as a node keeps them."""
    found = _edge(primitive, args, kwargs, recording)
    if found is None:
        return None
    edge, operands, heard, fresh = found
    before = recording.state
    if not heard or before is None:  # reading a variable may end it
        return None
    state = before.edges.get(edge)
    if state is None:
        recording.state = None
        return None
    before.usual = state
    for node in fresh:
        recording.leaves[node] = len(recording.leaves)
    return state, operands, {k: kept(v) for k, v in kwargs.items()} if kwargs else NO_KWARGS


_new = object.__new__


def _edge(
    primitive: Any, args: Sequence[Any], kwargs: Mapping[str, Any], recording: Recording, time: float = math.inf
) -> tuple | None:
    """An operation as an edge of the tree; its operands as a node keeps them; whether the recording knows one of them;
    and the operands that are new. None if it cannot be told from others, as what was watched only after its `time`."""
    parts: list[Any] = [primitive]
    leaves = recording.leaves
    operands: list[Any] = []
    heard = False
    fresh: list[Node] = []
    for arg in args:
        if type(arg) is Variable:
            arg = arg.read_value()
        if type(arg) is Tensor:
            node = arg.node
            if node is None:
                node = arg.node = leaf(arg._array)
            depth = _depth(node, recording)
            if depth is not None:
                parts.append(depth)
                heard = True
            else:
                watched = recording in node.recordings
                if arg.index or (watched and node.primitive is not None):
                    return None
                heard = heard or watched
                number = leaves.get(node)
                if number is not None:
                    parts.append(~number)
                elif node in fresh:
                    parts.append(("again", fresh.index(node)))
                else:
                    array = arg._array
                    if watched and node.since[recording] > time:
                        return None
                    parts.append((array.dtype, array.shape, layout(array), watched))
                    fresh.append(node)
            operands.append(arg)
        elif type(arg) is float:
            parts.append(float)
            operands.append(arg)
        else:
            operand = kept(arg)
            what = described(operand)
            if what is OPAQUE:
                return None
            parts.append(what)
            operands.append(operand)
    if kwargs:
        parts += kwargs
        parts += [described(v, exact=True) for v in kwargs.values()]
        if OPAQUE in parts:
            return None
    return tuple(parts), tuple(operands), heard, fresh


def _depth(node: Node, recording: Recording) -> int | None:
    """The number of an operation of this recording that is deferred, or stands in a known state; else None: another
    recording may have deferred it."""
    state, nodes = node.state, recording.nodes
    if state is None or state.depth >= len(nodes) or nodes[state.depth] is not node:
        return None
    return state.depth


# ----- values that are looked at --------------------------------------------------------------------
def compute(node: Node) -> None:
    """Compute a deferred value, and what it is made of, as it would have been computed when it was recorded."""
    missing: dict[Node, None] = {}
    waiting = [node]
    while waiting:
        last = waiting.pop()
        if last.state is not None and last not in missing and not has_out(last):
            missing[last] = None
            waiting += [a.node for a in last.args if type(a) is Tensor and a.node is not None]
    for needed in sorted(missing, key=lambda n: n.number):
        arrays = [a._array if type(a) is Tensor else a for a in needed.args]
        with np.errstate(**needed.recordings[0].errors):
            needed.out = needed.primitive.function(*arrays, **needed.kwargs)
        needed.signature = signature(needed.primitive, needed.args, needed.kwargs, needed.out)
        for recording in needed.recordings:
            recording.looked = True


def has_out(node: Node) -> bool:
    """Whether the value of an operation is there."""
    try:
        object.__getattribute__(node, "out")
    except AttributeError:
        return False
    return True


def materialize(recording: Recording) -> None:
    """Compute everything in a recording that was deferred; what is recorded from now on is computed at once."""
    recording.state = None
    for node in recording.nodes:
        if node.state is not None:
            node.out  # noqa: B018


# ----- the tree -------------------------------------------------------------------------------------
def place(recording: Recording) -> State | None:
    """The state that a recording ends in, whose values are there; None if such recordings are not to be deferred."""
    nodes = recording.nodes
    if root.size > LARGEST:
        forget()
    if recording.kept is None or recording.rewritten or not all(_can_wait(node, recording) for node in nodes):
        return None
    state = root
    recording.leaves.clear()
    for depth, node in enumerate(nodes):
        found = _edge(node.primitive, node.args, node.kwargs, recording, node.number)
        if found is None:
            displace(recording)
            return None
        for other in found[3]:
            recording.leaves[other] = len(recording.leaves)
        following = state.edges.get(found[0])
        if following is None:
            guard = guard_of(found[0], len(node.args))
            following = State(depth, node.out.shape, node.out.dtype, node.primitive, guard)
            state.edges[found[0]] = state.usual = following
            root.size += 1
        node.state = state = following
    return state


def displace(recording: Recording) -> None:
    """Take back what `place` made, as far as it came and as nothing else needs it."""
    states = [root, *(node.state for node in recording.nodes if node.state is not None)]
    for before, state in zip(states[-2::-1], states[:0:-1], strict=True):
        if state.edges or state.programs:
            break
        before.lose(state)
        root.size -= 1
    for node in recording.nodes:
        node.state = None


def _can_wait(node: Node, recording: Recording) -> bool:
    """Whether neither an error nor a shape can depend on the values of the operands."""
    out, primitive = node.out, node.primitive
    if node.recordings != (recording,) or type(out) is tuple or out.dtype.char not in "fd":
        return False
    if not vars(type(primitive)).get("traceable"):
        return False
    return primitive.integers or all(
        a.dtype.kind not in "iub" for a in node.args if type(a) is Tensor or isinstance(a, np.ndarray)
    )


def asked_of(
    recording: Recording, targets: Sequence[Tensor], seeds: Sequence[Any], sources: Sequence[Tensor]
) -> Hashable | None:
    """What is asked of a recording that stands in a known state; None if it is not about that recording."""
    ends: list[Any] = []
    for target in targets:
        node = target.node
        depth = None if node is None else _depth(node, recording)
        if depth is None:
            return None
        ends.append(depth)
    ends.append(None)
    for source in sources:
        node = source.node
        if source.index:
            return None
        depth = None if node is None else _depth(node, recording)
        if depth is None:
            number = recording.leaves.get(node)
            depth = None if number is None else ~number
        ends.append(depth)
    for seed in seeds:
        ends += type(seed), seed.dtype, layout(seed)
    return tuple(ends)


def followed(recording: Recording, *asked: Any) -> Any:
    """The compiled program for what is asked of a deferred recording; None if there is none, or nothing is deferred."""
    nodes, state = recording.nodes, recording.state
    if not nodes or nodes[0].state is None:
        return None
    found = None
    if state is not None and not recording.looked and not recording.rewritten:
        key = asked_of(recording, *asked)
        found = None if key is None else state.programs.get(key)
    first = nodes[0].state
    if found is not None:
        first.credit = min(first.credit + 1, CREDIT)
        return found
    first.credit -= PRICE
    if first.credit < 0:
        root.lose(first)
    return None


def remember(recording: Recording, target: Any, sources: Any, program: Any, seeds: Sequence[Any]) -> None:
    """Recognise calls of `gradient` that ask a recording in a known state for this program, with these seeds."""
    guard = question_of(target, sources, recording)
    recording.state.question = None if guard is None else (guard, program, seeds)


def asked_again(recording: Recording, target: Any, sources: Any) -> tuple[Any, Sequence[Any]] | None:
    """The program and the seeds for a call of `gradient`, if it is the one that was remembered last."""
    state = recording.state
    if state is None or state.question is None or recording.looked or recording.rewritten:
        return None
    guard, program, seeds = state.question
    if not guard(target, sources, recording):
        return None
    first = recording.nodes[0].state
    if first.credit < CREDIT:
        first.credit += 1
    return program, seeds


def forget() -> None:
    """Forget all known structures."""
    root.edges = {}
    root.usual = None
    root.size = 0
