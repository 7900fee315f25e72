"""`Primitive`: an operation that tapes record, with its pullbacks.

A primitive is called with tensors, variables, arrays and numbers. It computes on the arrays inside, and if a tape that
listens knows one of the operands, it records a node. Its pullbacks are ordinary Python functions of NumPy calls: the
backward sweep calls them with arrays, or, when an outer tape listens, with tensors, so that derivatives of any order
come from the same functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from jitgrad.errors import UnsupportedError
from jitgrad.tape.deferred import defer
from jitgrad.tape.recording import NO_KWARGS, Node, Recording, recorded, thread
from jitgrad.tape.signatures import kept, signature
from jitgrad.tape.structure import flatten
from jitgrad.tape.tensor import Tensor, Value, Variable, stacked

Pull = Callable[..., Any]


class Primitive:
    """An operation with a pullback for each operand.

    Parameters
    ----------
    name : str
        The type of operation, with TensorFlow's name where it has one; what `gradient_override_map` looks up.
    function : callable
        Computes on arrays: ``function(*args, **kwargs)``. Returns an array, or a tuple of arrays.
    pulls : sequence of callable or None, or callable
        ``pulls[k](ct, out, *args, **kwargs)`` is the cotangent of operand `k`; None: it has no derivative. A callable
        ``pulls(k, ct, out, args, kwargs)`` stands for operands of any number. What a pull returns is summed to the
        operand's shape and converted to its dtype. With several results `ct` and `out` are tuples, and `ct` has None
        for results that are not used.
    formula : callable, optional
        What `function` computes, in NumPy functions that can be compiled, where it is not made of these itself.
    integers : bool
        Whether neither an error nor the shape of its result depends on the values of operands that are integers.

    Notes
    -----
    Called with plain arrays only, it gives plain arrays, so that pulls may call primitives too. A value that a pull
    receives is not to be modified. A keyword that the pulls do not name is refused.
    """

    __slots__ = ("formula", "function", "integers", "keywords", "name", "pulls")
    types: ClassVar[set[str]] = set()  # the names of all that there have been
    traceable = True  # its pullbacks depend on their arguments only; a subclass of which that is true says so itself

    def __init__(
        self,
        name: str,
        function: Callable,
        pulls: Sequence[Pull | None] | Pull,
        formula: Callable | None = None,
        integers: bool = False,
    ):
        self.name = name
        self.types.add(name)
        self.function = function
        self.pulls = pulls
        self.formula = formula or function
        self.integers = integers
        self.keywords = None if callable(pulls) else frozenset().union(*(_keywords(p) for p in pulls if p is not None))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        listening = thread.recordings
        if len(listening) == 1 and listening[0].state is not None:
            found = defer(self, args, kwargs, listening)
            if found is not None:
                return found
        arrays: list[Any] = []
        tensors = False
        tracked: tuple[Recording, ...] = ()
        for arg in args:
            kind = type(arg)
            if kind is Tensor:
                tensors = True
                arrays.append(arg._array)
                if tracked is not listening and arg.node is not None:
                    heard = arg.node.recordings
                    if heard is listening:
                        tracked = listening
                    else:
                        tracked = tuple([r for r in listening if r in heard or r in tracked])
            elif kind is Variable:
                return self(*[a.read_value() if type(a) is Variable else a for a in args], **kwargs)
            elif (kind is list or kind is tuple) and any(isinstance(leaf, Value) for leaf in flatten(arg)):
                return self(*[stacked(a) for a in args], **kwargs)
            else:
                arrays.append(arg)
        if tracked:
            return self.record(tracked, args, kwargs, self.function(*arrays, **kwargs))
        if tensors:
            return wrapped(self.function(*arrays, **kwargs))
        return apply(self, self.function, arrays, kwargs)

    def record(self, recordings: tuple, args: tuple, kwargs: Mapping[str, Any], out: Any) -> Any:
        """A node for a call that happened, in all `recordings`; returns the results as tensors."""
        if self.keywords is not None and not kwargs.keys() <= self.keywords:
            bad = ", ".join(sorted(kwargs.keys() - self.keywords))
            raise UnsupportedError(
                f"{self.name} of tape values has no derivative with the argument {bad}; leave it out"
            )
        if type(out) is not tuple and out.dtype.kind not in "fc":
            return wrapped(out)
        overrides = thread.overrides
        primitive = self if overrides is None else overrides.get(self.name, self)
        kwargs = {k: kept(v) for k, v in kwargs.items()} if kwargs else NO_KWARGS
        args = tuple([a if type(a) is Tensor else kept(a) for a in args])
        parts = signature(primitive, args, kwargs, out)
        return wrapped(out, recorded(primitive, args, kwargs, out, recordings, parts))

    def cotangents(
        self, wanted: Sequence[int], ct: Any, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> list[Any]:
        """The cotangents of the `wanted` operands, not yet of their shapes; None where there is none."""
        pulls = self.pulls
        if callable(pulls):
            return [pulls(k, ct, out, args, kwargs) for k in wanted]
        return [
            None if k >= len(pulls) or pulls[k] is None else pulls[k](ct, out, *args, **kwargs)  # type: ignore[misc]
            for k in wanted
        ]

    def __repr__(self) -> str:
        return f"<Primitive {self.name}>"


def _keywords(pull: Pull) -> frozenset[str]:
    """The names that a pull takes after ``ct`` and ``out``."""
    return frozenset(list(inspect.signature(pull).parameters)[2:])


def heard_by(tensors: Iterable[Tensor]) -> tuple[Recording, ...]:
    """The recordings that listen and know one of the tensors."""
    known = {r for t in tensors if t.node is not None for r in t.node.recordings}
    return tuple(r for r in thread.recordings if r in known)


def apply(operation: Any, function: Callable, args: Sequence[Any], kwargs: Mapping[str, Any] = NO_KWARGS) -> Any:
    """``function(*args, **kwargs)`` on arrays; while a backward sweep is traced, recorded there as one operation."""
    trace = thread.trace
    return function(*args, **kwargs) if trace is None else trace.call(operation, function, args, kwargs)


def wrapped(out: Any, node: Node | None = None) -> Any:
    """Results of a call as tensors."""
    if type(out) is tuple:
        return tuple(
            [Tensor(part, node if part.dtype.kind in "fc" else None, k) for k, part in enumerate(out)],
        )
    if node is None and out.dtype.kind == "O":
        raise UnsupportedError("an array of Python objects met a tape value; use np.stack for an array of tape values")
    return Tensor(out, node)


def plain(tree: Any) -> Any:
    """`tree` (a value, or lists, tuples and dicts of them) with arrays in place of tensors and variables."""
    if isinstance(tree, Value):
        return tree.array
    if isinstance(tree, (list, tuple)):
        parts = [plain(e) for e in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, dict):
        return {k: plain(e) for k, e in tree.items()}
    return tree
