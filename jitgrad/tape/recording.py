"""What a tape keeps: nodes, the recordings they belong to, and which recordings listen at the moment.

A `Node` is one operation that ran: its primitive, its arguments and its result. Tensors point at the node that made
them, nodes at the tensors they used, so what no live tensor needs is freed by reference counting. A `Recording` is
what one tape heard between entering and releasing it; a node knows the recordings that heard it.
"""

from __future__ import annotations

import itertools
import sys
import threading
from typing import Any

tick = itertools.count().__next__
"""A number that is greater than all before: the time."""
FIRST_PRUNING = 4096


def _count_of_a_name() -> int:
    name = object()
    return sys.getrefcount(name)


ONE_NAME = _count_of_a_name()
"""What `sys.getrefcount` gives for something that only one local variable holds; versions of CPython differ."""
NO_KWARGS: dict[str, Any] = {}


class Node:
    """One recorded operation, or (without a primitive) a tensor that is watched.

    Attributes
    ----------
    primitive : Primitive or None
    args : tuple
        Positional arguments of the call as they were: tensors, copies of arrays, numbers.
    kwargs : dict
    out : ndarray, or tuple of ndarray for a primitive with several results
        For a tensor that was not computed, an array of its shape and dtype.
    recordings : tuple of Recording
        Those that heard it.
    signature : tuple
        What `compiled` tells structures by: the primitive, then for each operand its node, or what kind of constant it
        is. None of this is an array.
    number : int
        Grows with time: inputs have smaller numbers than what is made of them.
    since : dict of Recording to int, or None
        The time from which a recording was told to watch it. What was computed before does not depend on it.
    state : State or None
        Where in a known recording it stands, if it was not computed when it was recorded (see `deferred`). Its `out` is
        missing until somebody looks at it.
    """

    __slots__ = ("args", "kwargs", "number", "out", "primitive", "recordings", "signature", "since", "state")

    def __init__(self, primitive, args, kwargs, out, recordings, signature=()):
        self.primitive = primitive
        self.args = args
        self.kwargs = kwargs
        self.out = out
        self.recordings = recordings
        self.signature = signature
        self.number = tick()
        self.since = self.state = None

    def __getattr__(self, name: str) -> Any:
        # Only a missing `out` is looked up here: a value that was deferred.
        if name != "out":
            raise AttributeError(name)
        from jitgrad.tape.deferred import compute

        compute(self)
        return self.out


def recorded(primitive, args, kwargs, out, recordings, signature) -> Node:
    """A node for a call that happened, in all `recordings`."""
    node = Node(primitive, args, kwargs, out, recordings, signature)
    for recording in recordings:
        recording.state = None  # what is recorded from here on was not foreseen
        nodes = recording.nodes
        nodes.append(node)
        if len(nodes) > recording.limit:
            recording.prune()
    return node


class _Released:
    """Stands in for the primitive of a node whose tape has been used up."""

    name = "released"


RELEASED = _Released()


class Recording:
    """What one tape heard.

    Attributes
    ----------
    alive : bool
        False once released: nothing is kept for it any more.
    variables : dict of Node to Variable
        The watched variables, in the order in which they were first read.
    watches_variables : bool
        Whether trainable variables are watched when they are read.
    rewritten : bool
        Whether a variable it watches was assigned to, so that one node stands for several values.
    nodes : list of Node
        What was recorded, in the order of time. Who appends beyond `limit` calls `prune`.
    state : State or None
        Where it stands among known recordings, as long as it repeats one (see `deferred`).
    leaves : dict of Node to int
        While it does: the operands that it did not compute, numbered as they came.
    looked : bool
        Whether somebody looked at a value that was deferred.
    kept : set of int, or None
        The operations whose results are still in use when the recording is released.
    errors : dict
        How floating point errors are handled where operations are deferred, as `numpy.geterr` says it.
    handling : object
        The same as NumPy keeps it.
    """

    __slots__ = (
        "__weakref__", "alive", "errors", "handling", "kept", "leaves", "limit", "looked", "nodes", "rewritten",
        "state", "variables", "watches_variables",
    )  # fmt: skip

    def __init__(self, watches_variables: bool, state: Any = None):
        self.alive = True
        self.watches_variables = watches_variables
        self.rewritten = False
        self.variables: dict[Node, Any] = {}
        self.nodes: list[Node] = []
        self.limit = FIRST_PRUNING
        self.state = state
        self.leaves: dict[Any, int] = {}
        self.looked = False
        self.kept: set[int] | None = None
        self.errors: Any = {}
        self.handling: Any = None

    def prune(self) -> None:
        """Forget operations whose results are gone; the limit doubles, so the cost per operation is constant."""
        kept, nodes = [], self.nodes
        while nodes:
            node = nodes.pop()
            # more than `node` and the lists of other recordings
            if sys.getrefcount(node) >= ONE_NAME + len(node.recordings):
                kept.append(node)
        kept.reverse()
        self.nodes = kept
        self.limit = max(FIRST_PRUNING, 2 * len(kept))

    def forget_since(self, start: int) -> None:
        """Keep nothing that was recorded since the time `start`, except for those who use it."""
        while self.nodes and self.nodes[-1].number > start:
            self.nodes.pop()

    def __len__(self) -> int:
        return len(self.nodes)

    def release(self) -> None:
        """Free what only this recording keeps."""
        self.alive = False
        self.state = None
        self.leaves.clear()
        nodes, self.nodes = self.nodes, []
        # Latest first: a chain of nodes that held each other would be freed recursively from its end.
        while nodes:
            node = nodes.pop()
            if sys.getrefcount(node) == ONE_NAME:  # it goes now
                continue
            if self.kept is not None:
                self.kept.add(len(nodes))
            if node.state is not None:
                node.out  # noqa: B018  # computed now if it was deferred: its operands go
            if len(node.recordings) == 1 or not any(r.alive for r in node.recordings):
                node.args = node.signature = ()
                node.kwargs = None
                node.primitive = RELEASED
                if type(node.out) is tuple:  # its tensors have their parts; of others it is the very value
                    node.out = (None,) * len(node.out)


class _Thread(threading.local):
    """What listens in one thread."""

    recordings: tuple[Recording, ...] = ()
    overrides: dict[str, Any] | None = None
    trace: Any = None  # of `compiled.tracing`


thread = _Thread()
_watching = threading.Lock()


class only:
    """A context in which these recordings listen, and no others."""

    __slots__ = ("_before", "_recordings")

    def __init__(self, recordings: tuple[Recording, ...]):
        self._recordings = recordings

    def __enter__(self) -> None:
        self._before = thread.recordings
        thread.recordings = self._recordings

    def __exit__(self, *exception: Any) -> None:
        thread.recordings = self._before


def leaf(array: Any) -> Node:
    """The node of a value that was not computed by a recorded operation."""
    return Node(None, (), None, array, ())


def watch(node: Node, recording: Recording) -> None:
    """Make `recording` hear what is done with the tensors of `node` from now on."""
    if recording in node.recordings:
        return
    with _watching:  # tapes of other threads may watch the same variable
        others = node.recordings
        since = {}
        if not others or len(others) == 1 and not others[0].alive:
            recordings: tuple[Recording, ...] = (recording,)
        else:
            alive = [other for other in others if other.alive]
            if node.since:
                since = {other: node.since[other] for other in alive if other in node.since}
            recordings = (*alive, recording)
        since[recording] = tick()
        node.since = since
        if node in recording.leaves:  # it was a constant for an operation before
            recording.kept = recording.state = None
        listening = thread.recordings
        node.recordings = listening if recordings == listening else recordings
