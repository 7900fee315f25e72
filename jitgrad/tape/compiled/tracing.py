"""The backward program: what the pullbacks of a recorded program do to its saved values.

The whole program computes these values first, from the operands that the recording did not compute.

The ordinary sweep runs once with `Traced` values in place of arrays. They hold the arrays, so that shapes and dtypes
are those of the real sweep, and write down each NumPy function that is applied to them. Whatever would look at their
content (`bool`, `float`, conversion to an array, writing) raises `Untraceable`: a program whose pullbacks do so stays
with NumPy. What the pullbacks compute from shapes alone becomes a constant of the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jitgrad.tape.float_errors import ignored
from jitgrad.tape.functions.cumulative import RECURRENCE
from jitgrad.tape.functions.rearranging import SCATTER
from jitgrad.tape.primitive import Primitive
from jitgrad.tape.recording import Node, Recording, only, thread
from jitgrad.tape.sweep import Graph, sweep
from jitgrad.tape.tensor import Tensor

LARGEST = 1200
"""Programs with more operations are not compiled."""
WHOLE = (SCATTER, RECURRENCE)
"""The primitives that are operations of a backward program; of others, what they do is written down."""


class Untraceable(Exception):
    """A backward sweep that is more than NumPy functions of its saved values."""


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """A value of the backward program.

    Attributes
    ----------
    function : callable or None
        What made it; None for a saved value or a seed.
    args, kwargs
        Of that call, with traced values in them.
    value : ndarray, NumPy scalar or float
    origin : tuple
        Where a saved value or a seed is found; see `Trace`.
    """

    __slots__ = ("args", "function", "kwargs", "origin", "trace", "value")

    def __init__(self, trace, function, args, kwargs, value, origin=()):
        self.trace = trace
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.value = value
        self.origin = origin

    # ----- what does not depend on the content ------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "ndim", "size"):
            return getattr(self.value, name)  # a Python float has none of them
        if name in _METHODS and hasattr(self.value, name):
            return lambda *args, **kwargs: self.trace.call(_METHODS[name], _METHODS[name], (self, *args), kwargs)
        raise AttributeError(name)

    T = property(lambda self: np.transpose(self))
    real = property(lambda self: np.real(self))

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return self.trace.call("astype", lambda a, d: np.asarray(a).astype(d)[()], (self, np.dtype(dtype)), {})

    def reshape(self, *shape: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, index: Any) -> Any:
        return self.trace.call(operator.getitem, operator.getitem, (self, index), {})

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "reduce" and ufunc is np.add:
            return np.sum(*inputs, **{"axis": 0, **kwargs})
        if method != "__call__":
            raise Untraceable(f"np.{ufunc.__name__}.{method}")
        return self.trace.call(ufunc, ufunc, inputs, kwargs)

    def __array_function__(self, function: Any, kinds: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.shape, np.ndim, np.size, np.result_type):
            return function(*_concrete(args), **kwargs)
        return self.trace.call(function, function, args, kwargs)

    # ----- what does --------------------------------------------------------------------------------
    def _looked_at(self, *args: Any, **kwargs: Any) -> Any:
        raise Untraceable("a pullback looks at the content of its arguments")

    __array__ = __bool__ = __float__ = __int__ = __index__ = __complex__ = __iter__ = __contains__ = _looked_at
    __setitem__ = __iadd__ = __isub__ = __imul__ = __itruediv__ = _looked_at
    __hash__ = object.__hash__


_METHODS: Mapping[str, Callable] = {
    "conj": np.conjugate, "conjugate": np.conjugate, "copy": np.positive, "max": np.max, "mean": np.mean, "min": np.min,
    "ravel": np.ravel, "squeeze": np.squeeze, "sum": np.sum, "swapaxes": np.swapaxes, "transpose": np.transpose,
}  # fmt: skip


class Trace:
    """The backward program while it is written down.

    Attributes
    ----------
    steps : list of Traced
        In an order in which they can be computed; the same call is written down once.
    inputs : dict
        The saved values and seeds. Their origins say where they are found: ``("out", i)``, ``("operand", i, k)``,
        ``("value", i, k)`` with further keys into tuples, of node `i` of the recording; ``("seed", k)``; or
        ``("constant", k)``.
    constants : list of ndarray
        What the pullbacks made of shapes.
    same : list of (tuple, tuple)
        Origins at which the same array has to be.
    results : list of (Traced, ndarray, NumPy scalar or None)
        The cotangents of the sources, then the values of `outs`.
    outs : list of int
        The operations whose values are wanted too.

    Parameters
    ----------
    outs : collection of int, optional
        Write down the whole program: it computes the recorded operations too, and gives the values of these.
    """

    def __init__(
        self,
        recording: Recording,
        targets: Sequence[Tensor],
        seeds: Sequence[Any],
        sources: Sequence[Tensor],
        outs: Collection[int] | None = None,
    ):
        self.steps: list[Traced] = []
        self.inputs: dict[Any, Traced] = {}
        self.constants: list[np.ndarray] = []
        self.same: list[tuple[tuple, tuple]] = []
        self._known: dict[Any, Any] = {}
        self._places = {node: k for k, node in enumerate(recording.nodes)}
        self.outs = sorted(outs or ())
        self._computed: dict[Node, Traced] = {}
        graph = Graph([t for t in targets if t.node is not None], sources, recording)
        given = [self._input(("seed", k), ("seed", k), seed) for k, seed in enumerate(seeds)]
        before, thread.trace = thread.trace, self
        try:
            with only(()), ignored():
                if outs is not None:
                    for node in recording.nodes:
                        self._computed[node] = self._forward(node)
                self.results = sweep(graph, targets, given, sources, self._view)
        finally:
            thread.trace = before
        self.results += [self._computed[recording.nodes[k]] for k in self.outs]

    def release(self) -> None:
        """Let go of the recording: traced values and their trace hold each other until the garbage collector comes."""
        self.inputs.clear()
        self._places.clear()
        self._computed.clear()

    def _forward(self, node: Node) -> Traced:
        """What an operation computes, from what those before it computed."""
        place = self._places[node]
        args = [self._operand(arg, place, k) for k, arg in enumerate(node.args)]
        out, known = node.primitive.formula(*args, **node.kwargs), node.out
        if not isinstance(out, Traced) or out.function is None:
            raise Untraceable(f"{node.primitive.name} gives one of its operands, or no traced value")
        if out.value.shape != known.shape or out.value.dtype != known.dtype:
            raise Untraceable(f"the formula of {node.primitive.name} gives another shape or dtype")
        close = 1e-4 if known.dtype == np.float32 else 1e-9
        if not np.allclose(out.value, known, close, close * _largest(known), equal_nan=True):
            raise Untraceable(f"the formula of {node.primitive.name} gives other values")
        return out

    # ----- saved values -----------------------------------------------------------------------------
    def _input(self, key: Any, origin: tuple, value: Any) -> Traced:
        if key not in self.inputs:
            self.inputs[key] = Traced(self, None, (), {}, value, origin)
        return self.inputs[key]

    def _view(self, node: Node, ct: Any) -> tuple[Any, Any, Sequence[Any]]:
        place = self._places[node]
        args = [self._operand(arg, place, k) for k, arg in enumerate(node.args)]
        if node in self._computed:
            out: Any = self._computed[node]
        elif type(node.out) is tuple:
            out = tuple(self._input((node, j), ("out", place, j), part) for j, part in enumerate(node.out))
        else:
            out = self._input((node, 0), ("out", place), node.out)
        return tuple(ct) if type(ct) is list else ct, out, args

    def _operand(self, arg: Any, place: int, k: int) -> Any:
        if type(arg) is not Tensor:
            return self._constant(arg, ("value", place, k))
        if arg.node in self._computed:
            return self._computed[arg.node]
        made_by = self._places.get(arg.node)
        origin: tuple = ("operand", place, k)
        if made_by is not None:
            origin = ("out", made_by, arg.index) if type(arg.node.out) is tuple else ("out", made_by)
        found = self._input((arg.node, arg.index), origin, arg._array)
        if made_by is None and found.origin != origin:
            # a variable that is assigned to has several values under one node
            if found.value is not arg._array:
                raise Untraceable("a variable that was assigned to in between")
            self.same.append((found.origin, origin))
        return found

    def _constant(self, arg: Any, origin: tuple) -> Any:
        """A constant with its floats and arrays as inputs; what else there is belongs to the structure."""
        if isinstance(arg, (float, np.inexact, np.ndarray)):
            return self._input(origin, origin, arg)
        if type(arg) in (tuple, list):
            return type(arg)([self._constant(a, (*origin, k)) for k, a in enumerate(arg)])
        return arg

    # ----- operations -------------------------------------------------------------------------------
    def call(self, operation: Any, function: Callable, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What `function` gives; written down as `operation` if a traced value is among its arguments."""
        if not any(isinstance(leaf, Traced) for leaf in _leaves((*args, *kwargs.values()))):
            return function(*args, **kwargs)
        if isinstance(operation, Primitive) and operation not in WHOLE:
            return function(*args, **kwargs)
        if operation in _REWRITTEN:
            found = _REWRITTEN[operation](*args, **kwargs)
            if found is not NotImplemented:
                return found
        args, kwargs = self._lifted(tuple(args)), {k: self._lifted(v) for k, v in kwargs.items()}
        key = operation, tuple(map(_identity, args)), tuple((k, _identity(v)) for k, v in kwargs.items())
        if key not in self._known:
            before, thread.trace = thread.trace, None
            try:
                value = function(*_concrete(args), **{k: _concrete(v) for k, v in kwargs.items()})
            finally:
                thread.trace = before
            if not isinstance(value, (np.ndarray, np.generic)):
                raise Untraceable(f"{operation} gives a {type(value).__name__}")
            # `args` stay referenced, so the identities in the key stay theirs
            self._known[key] = Traced(self, operation, args, kwargs, value)
            self.steps.append(self._known[key])
            if len(self.steps) > LARGEST:
                raise Untraceable("it has too many operations")
        return self._known[key]

    def _lifted(self, arg: Any) -> Any:
        """An argument with its arrays as constants of the program."""
        if type(arg) is np.ndarray:
            key = ("constant", arg.dtype, arg.shape, arg.tobytes())
            if key not in self.inputs:
                self.constants.append(arg)
            return self._input(key, ("constant", len(self.constants) - 1), arg)
        return type(arg)(map(self._lifted, arg)) if type(arg) in (tuple, list) else arg


# ----- functions written with others ----------------------------------------------------------------
def _ravel(a: Any, order: Any = "C") -> Any:
    return np.reshape(a, (-1,), order=order)


def _mean(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    total = np.sum(a, axis=axis, keepdims=keepdims)
    return total / float(a.size // max(total.size, 1))


def _outer(a: Any, b: Any) -> Any:
    return np.reshape(a, (-1, 1)) * np.reshape(b, (1, -1))


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    summed_a, summed_b = axes if not isinstance(axes, int) else (range(-axes, 0), range(axes))
    summed_a, summed_b = ([int(k) % x.ndim for k in np.atleast_1d(s)] for s, x in ((summed_a, a), (summed_b, b)))
    free_a, free_b = ([k for k in range(x.ndim) if k not in s] for s, x in ((summed_a, a), (summed_b, b)))
    size = int(np.prod([a.shape[k] for k in summed_a], dtype=int))
    rows = np.reshape(np.transpose(a, free_a + summed_a), (-1, size))
    columns = np.reshape(np.transpose(b, summed_b + free_b), (size, -1))
    return np.reshape(rows @ columns, [a.shape[k] for k in free_a] + [b.shape[k] for k in free_b])


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return np.reshape(_roll(np.reshape(a, (-1,)), shift, 0), a.shape)
    for by, along in np.broadcast(static(shift), axis):
        cut = a.shape[along] - int(by) % a.shape[along]
        before = (slice(None),) * (along % a.ndim)
        a = (
            np.concatenate([a[(*before, slice(cut, None))], a[(*before, slice(0, cut))]], along)
            if cut != a.shape[along]
            else a
        )
    return a


def _tril(m: Any, k: int = 0) -> Any:
    return np.where(np.tri(m.shape[-2], m.shape[-1], k, bool), m, 0.0)


def _triu(m: Any, k: int = 0) -> Any:
    return np.where(np.tri(m.shape[-2], m.shape[-1], k - 1, bool), 0.0, m)


def _matmul(a: Any, b: Any) -> Any:
    if max(a.ndim, b.ndim) < 3 or a.shape[:-2] == b.shape[:-2]:
        return NotImplemented
    if a.ndim == 1:
        return np.squeeze(np.matmul(np.expand_dims(a, 0), b), -2)
    if b.ndim == 1:
        return np.squeeze(np.matmul(a, np.expand_dims(b, -1)), -1)
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.matmul(np.broadcast_to(a, stack + a.shape[-2:]), np.broadcast_to(b, stack + b.shape[-2:]))


_REWRITTEN: Mapping[Any, Callable] = {
    np.matmul: _matmul,
    np.ravel: _ravel, np.mean: _mean, np.outer: _outer, np.tensordot: _tensordot, np.roll: _roll, np.tril: _tril,
    np.triu: _triu,
}  # fmt: skip


def static(arg: Any) -> Any:
    """An argument that decides about the program, such as an axis."""
    if isinstance(arg, Traced):
        if arg.origin[:1] != ("constant",):
            raise Untraceable("an axis, a shape or the like that is computed")
        return arg.value
    return type(arg)(map(static, arg)) if type(arg) in (tuple, list) else arg


def _largest(values: Any) -> float:
    """The largest magnitude among finite values, 0 if there are none."""
    finite = np.abs(values)[np.isfinite(values)]
    return float(np.max(finite, initial=0.0))


def _leaves(tree: Any) -> Iterator[Any]:
    for part in tree:
        if type(part) in (tuple, list):
            yield from _leaves(part)
        else:
            yield part


def _concrete(tree: Any) -> Any:
    if isinstance(tree, Traced):
        return tree.value
    return type(tree)(map(_concrete, tree)) if type(tree) in (tuple, list) else tree


def _identity(arg: Any) -> Any:
    """Equal for arguments that are the same."""
    if isinstance(arg, (Traced, np.ndarray)):
        return id(arg)
    if type(arg) in (tuple, list):
        return type(arg), *map(_identity, arg)
    if type(arg) is slice:
        return slice, arg.start, arg.stop, arg.step
    return type(arg), arg if not isinstance(arg, (float, np.inexact)) else repr(arg)
