"""Calls of compiled functions with tape values: each is one node, whose pullback is compiled too.

`install` makes Numba's dispatchers answer to tape values. The node of a call keeps the arguments; its pullback is the
engine's ``vjp`` of the function, compiled when a sweep first needs it. Where an outer tape listens that derivative is
called with tape values itself, so it becomes a node with a pullback of its own: higher orders come from the engine's
nesting.

What a compiled function sees of a tape value is a fresh array, or a NumPy scalar if the value has no axes. What it
returns comes back as tensors: numbers, arrays, and tuples of them.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numba.core import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher, OmittedArg
from numba.core.typing.typeof import Purpose, typeof, typeof_impl
from numba.experimental.jitclass import _box
from numba.np.numpy_support import as_dtype
from numba.typed import Dict, List

from jitgrad.api import values
from jitgrad.backend.dispatcher import Derivative, derivative
from jitgrad.backend.engine import Reverse, read
from jitgrad.errors import ArgumentError, UnsupportedError
from jitgrad.rules.registry import lookup
from jitgrad.tape.primitive import Primitive, heard_by, plain
from jitgrad.tape.tensor import Tensor, Value, Variable
from jitgrad.transforms.request import VjpRequest


# ----- what Numba's dispatchers do with tape values -------------------------------------------------
def install() -> None:
    """Let Numba's dispatchers hand calls with tape values to `call`.

    It relies on how ``numba/_dispatcher.cpp`` (0.68) calls a dispatcher. Arguments whose type it cannot find are Python
    objects to it, for which no compiled version matches; so it calls the method `_compile_for_args` with the arguments,
    keywords and defaults put into their places (``compile_and_invoke``), and then calls what that returned with the
    same arguments; this need not be compiled code. Calls for which a compiled version matches never come here, so they
    cost what they did. A function with explicit signatures compiles nothing more: it asks `_search_new_conversions`
    first, and only after that looks whether it may compile.
    """
    if hasattr(Dispatcher._compile_for_args, "__wrapped__"):
        return
    compile_for_args, search_new_conversions = Dispatcher._compile_for_args, Dispatcher._search_new_conversions

    @functools.wraps(compile_for_args)
    def compile_or_record(self: Any, *args: Any, **kws: Any) -> Any:
        if not _concerns(self, args):
            return compile_for_args(self, *args, **kws)
        self._types_active_call.clear()
        if vars(self).pop(_CLOSED, False):
            self._can_compile = False
        return functools.partial(call, self)

    @functools.wraps(search_new_conversions)
    def search_or_record(self: Any, *args: Any, **kws: Any) -> bool:
        if not _concerns(self, args):
            return search_new_conversions(self, *args, **kws)
        vars(self)[_CLOSED] = self._can_compile = True  # the next that happens is compile_or_record
        return False

    Dispatcher._compile_for_args = compile_or_record
    Dispatcher._search_new_conversions = search_or_record


_CLOSED = "__jitgrad_signatures_are_explicit__"


def _concerns(dispatcher: Dispatcher, args: Sequence[Any]) -> bool:
    """Whether a call is to be recorded; functions in object mode run NumPy's functions on the tape values."""
    return any(map(_holds_value, args)) and not dispatcher.targetoptions.get("forceobj")


def _holds_value(arg: Any) -> bool:
    return isinstance(arg, Value) or (isinstance(arg, (tuple, list)) and any(map(_holds_value, arg)))


@typeof_impl.register(Value)
def _type_of_value(value: Value, context: Any) -> None:
    """Tape values have no type in compiled code; where one is a global or captured value, say what to do instead.

    Numba's inference (0.68) catches a ValueError or TypingError here, and lets an error of ours through.
    """
    if context.purpose is Purpose.constant:
        raise UnsupportedError(
            f"a compiled function reads a tape value, {_described(value)}, from outside; compiled code can take it "
            f"only as an argument: pass it (f(x, w) for a captured w), or take the plain numbers with .numpy() before. "
            f"A function that is not to be compiled is differentiated with jitgrad.GradientTape, not with jitgrad.grad"
        )


def _described(value: Value) -> str:
    kind = f"Variable {value.name!r}" if isinstance(value, Variable) else "Tensor"
    return f"{kind} of shape {value.shape}"


# ----- the call ------------------------------------------------------------------------------------
def call(dispatcher: Dispatcher, *args: Any) -> Any:
    """Call a compiled function with tape values among its arguments.

    Parameters
    ----------
    dispatcher : Dispatcher
    *args
        As Numba folds them: one per parameter, with marks for defaults and a tuple for ``*args``.

    Returns
    -------
    Tensor, or a structure with tensors in place of numbers and arrays

    Raises
    ------
    ArgumentError
        For a list of tape values.
    UnsupportedError
        If the function wrote into an argument, or returned something recorded that is no number, array or tuple.
    """
    given = [a.value if isinstance(a, OmittedArg) else a for a in args]
    if any(p.kind is p.VAR_POSITIONAL for p in dispatcher._compiler.pysig.parameters.values()):
        given[-1:] = given[-1]
    leaves = [a.read_value() if isinstance(a, Variable) else a for a in _leaves(tuple(given))]
    for leaf in leaves:
        if isinstance(leaf, list) and _holds_value(leaf):
            raise ArgumentError(f"{dispatcher.__name__} was given a list of tape values; pass them as a tuple")
    node = CompiledCall(dispatcher, _filled(tuple(given), itertools.repeat(None)), leaves)
    found = node(*leaves)
    return _with_tensors(node.result, iter(found if type(found) is tuple else (found,)))


def _leaves(tree: Any) -> list[Any]:
    """What is in nested tuples."""
    return [leaf for part in tree for leaf in _leaves(part)] if isinstance(tree, tuple) else [tree]


def _filled(tree: Any, leaves: Iterator[Any]) -> Any:
    """Nested tuples like `tree` with other leaves."""
    if not isinstance(tree, tuple):
        return next(leaves)
    parts = [_filled(part, leaves) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


class _Slot:
    """Stands for a number or array in the structure of a result."""

    def __init__(self, dtype: np.dtype):
        self.differentiable = dtype.kind in "fc"


def _fresh(array: Any) -> Any:
    """What a compiled function is given for a tape value: memory of its own, always C-contiguous."""
    return np.array(array, order="C")[()]


def _prepared(array: Any) -> Any:
    """The same for a pullback, which writes into nothing it is given: no copy where none is needed."""
    if isinstance(array, (Tensor, np.generic)):
        return array
    return array[()] if array.ndim == 0 else array if array.flags.carray else np.array(array, order="C")


def _snapshot(leaf: Any) -> Any:
    """Data of the caller's as it is now: he may change it before it is differentiated."""
    if isinstance(leaf, List):
        return values.copies((leaf,))[0]
    if isinstance(leaf, Dict) and isinstance(leaf._numba_type_.value_type, types.Array):
        made = leaf.copy()
        for key, array in leaf.items():
            made[key] = array.copy()
        return made
    return leaf.copy() if isinstance(leaf, (Dict, set, np.void)) else leaf


def _state(leaf: Any) -> bytes:
    """What a jitclass instance holds in its fields, instances and arrays among them."""
    if isinstance(leaf, _box.Box):
        return b"".join(_state(getattr(leaf, name)) for name in leaf._numba_type_.struct)
    return np.asarray(leaf).tobytes() if isinstance(leaf, (np.ndarray, np.generic)) else repr(leaf).encode()


def _with_tensors(result: Any, tensors: Iterator[Any]) -> Any:
    leaves = [next(tensors) if isinstance(leaf, _Slot) else leaf for leaf in _leaves(result)]
    return _filled(result, iter(leaves))


class CompiledCall(Primitive):
    """One call of a compiled function, as what its node applies to the leaves of the arguments.

    Attributes
    ----------
    dispatcher : Dispatcher
    arguments : tuple
        The structure of the arguments, None in place of leaves.
    values : set of int
        Which leaves are tape values.
    tracked : bool
        Whether a tape that listens knows one of them.
    result : structure
        The result once the function has run, with a `_Slot` in place of each number and array.
    states : dict of int to bytes
        For leaves that cannot be copied, what they held when the function had run.
    """

    __slots__ = ("__weakref__", "arguments", "dispatcher", "result", "states", "tracked", "values")

    def __init__(self, dispatcher: Dispatcher, arguments: tuple, leaves: Sequence[Any]):
        self.name = "PartitionedCall"
        self.pulls: Sequence[Any] = ()
        self.keywords = None
        self.dispatcher = dispatcher
        self.arguments = arguments
        self.values = {k for k, leaf in enumerate(leaves) if isinstance(leaf, Tensor)}
        self.tracked = bool(heard_by([leaves[k] for k in self.values]))
        self.result: Any = None
        self.states: dict[int, bytes] = {}

    def record(self, recordings, args, kwargs, out):
        self.states = {k: _state(leaf) for k, leaf in enumerate(args) if isinstance(leaf, _box.Box)}
        return super().record(recordings, tuple(map(_snapshot, args)), kwargs, out)

    def function(self, *leaves: Any) -> Any:  # type: ignore[override]  # a slot in the base class
        """Run the function; its numbers and arrays, as one array or a tuple of them."""
        given = [_fresh(leaf) if k in self.values else leaf for k, leaf in enumerate(leaves)]
        watched = [
            (k, array, array.tobytes())
            for k, array in enumerate(given)
            if isinstance(array, np.ndarray) and (self.tracked or k in self.values)
        ]
        out = self.dispatcher(*_filled(self.arguments, iter(given)))
        for k, array, before in watched:
            if array.tobytes() != before:
                raise UnsupportedError(self._about_writing(f"its argument {self._name_of(k)}"))
        result_type = None if isinstance(out, np.ndarray) else self._result_type(given)
        return self._split(out, result_type, [a for a in leaves if isinstance(a, np.ndarray)])

    def _split(self, out: Any, result_type: types.Type | None, arguments: Sequence[np.ndarray]) -> Any:
        """Put slots into the result; return what belongs there."""
        template, found = [], []
        for leaf, ty in zip(_leaves(out), _leaf_types(result_type, out), strict=True):
            if isinstance(leaf, (int, float, complex)):
                leaf = np.asarray(leaf, as_dtype(ty) if isinstance(ty, (types.Number, types.Boolean)) else None)[()]
            if isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "biufc":
                if isinstance(leaf, np.ndarray) and any(np.may_share_memory(leaf, a) for a in arguments):
                    leaf = leaf.copy()  # the caller may write into his array
                found.append(leaf)
                leaf = _Slot(leaf.dtype)
            elif self.tracked and not isinstance(leaf, (str, type(None))):
                raise UnsupportedError(
                    f"{self.dispatcher.__name__} returned a {type(leaf).__name__}, through which no tape can follow; "
                    f"let it return numbers, arrays, or tuples of them"
                )
            template.append(leaf)
        self.result = _filled(out, iter(template))
        return found[0] if len(found) == 1 else tuple(found)

    def _result_type(self, given: Sequence[Any]) -> types.Type | None:
        """The Numba type of the result: of a float32 number Numba makes a Python float."""
        compiled = self.dispatcher.overloads
        found = {result.signature.return_type for result in tuple(compiled.values())}
        if len(found) > 1:
            argtypes = _types(_filled(self.arguments, iter(given)))
            folded = self.dispatcher._compiler.fold_argument_types(argtypes, {})[1]
            found = {compiled[folded].signature.return_type} if folded in compiled else set()
        return found.pop() if found else None

    # ----- the pullback ---------------------------------------------------------------------------
    def cotangents(self, wanted, ct, out, args, kwargs):
        """Cotangents of the `wanted` leaves, from one call of the ``vjp`` with respect to the arguments they are in."""
        places = [p for p, part in enumerate(self.arguments) for _ in _leaves(part)]
        wrt = tuple(sorted({places[k] for k in wanted if args[k].dtype.kind in "fc"}))
        if not wrt:
            return [None] * len(wanted)
        for k, state in self.states.items():
            if _state(args[k]) != state:
                raise UnsupportedError(
                    f"{self.dispatcher.__name__} was called with the jitclass instance {self._name_of(k)}, which has "
                    f"changed since, so that its derivative is lost; differentiate before you change it, or make a new "
                    f"instance"
                )
        self._refuse_writes(self._as_given([plain(a) for a in args]))
        cts, outs = (ct, out) if type(out) is tuple else ((ct,), (out,))
        seeds = [np.zeros(o.shape, o.dtype) if c is None else c for c, o in zip(cts, outs, strict=True)]
        seed = _seed(self.result, iter([_prepared(s) for s in seeds]))
        _, parts = derivative(self.dispatcher, Reverse(VjpRequest(wrt, seed="argument")))(seed, *self._as_given(args))
        found = {p: _aligned(self.arguments[p], part) for p, part in zip(wrt, parts, strict=True)}
        first = {p: places.index(p) for p in wrt}
        return [found[places[k]][k - first[places[k]]] if places[k] in found else None for k in wanted]

    def _as_given(self, leaves: Sequence[Any]) -> tuple:
        return _filled(self.arguments, iter([_prepared(a) if k in self.values else a for k, a in enumerate(leaves)]))

    def _refuse_writes(self, args: tuple) -> None:
        """Raise if the function may write into its arguments, even if this time it left them as they were.

        Writes are looked for in the program too, not only in what happened: a write of what was there already, such as
        zeros, would go unnoticed.
        """
        function: Any = self.dispatcher
        while isinstance(function, Derivative):
            args = args[len(function.transform.leading) :]
            function = function.primal
        if _may_write(function, _types(args)):
            raise UnsupportedError(self._about_writing("an argument, it seems"))

    def _about_writing(self, what: str) -> str:
        return (
            f"{self.dispatcher.__name__} writes into {what}, but was called with tape values, which are immutable; and "
            f"what it writes into arrays is not recorded. Let it make a new array and return it"
        )

    def _name_of(self, k: int) -> str:
        """The parameter that leaf `k` belongs to."""
        names = list(self.dispatcher._compiler.pysig.parameters)
        places = [p for p, part in enumerate(self.arguments) for _ in _leaves(part)]
        return names[min(places[k], len(names) - 1)]


def _leaf_types(ty: types.Type | None, out: Any) -> list[types.Type | None]:
    """The types of the leaves of a result of this type."""
    if isinstance(ty, types.Optional):
        ty = ty.type
    if not isinstance(out, tuple):
        return [ty]
    parts = list(ty) if isinstance(ty, types.BaseTuple) else [None] * len(out)
    return [leaf for part, item in zip(parts, out, strict=True) for leaf in _leaf_types(part, item)]


def _seed(result: Any, cotangents: Iterator[Any]) -> Any:
    """The cotangent of a result as the engine takes it: 0 for whatever holds no float."""
    if isinstance(result, tuple):
        parts = [_seed(part, cotangents) for part in result]
        if any(isinstance(leaf, _Slot) and leaf.differentiable for leaf in _leaves(result)):
            return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
        return 0
    cotangent = next(cotangents) if isinstance(result, _Slot) else 0
    return cotangent if isinstance(result, _Slot) and result.differentiable else 0


def _aligned(argument: Any, part: Any) -> list[Any]:
    """The cotangents of the leaves of an argument, given that of the argument; None for what holds no float."""
    if not isinstance(argument, tuple):
        return [part]
    if not isinstance(part, tuple):
        return [None] * len(_leaves(argument))
    return [leaf for inner, p in zip(argument, part, strict=True) for leaf in _aligned(inner, p)]


def _types(args: Sequence[Any]) -> tuple[types.Type, ...]:
    return tuple([typeof(a, Purpose.argument) for a in args])


_writers: weakref.WeakKeyDictionary[Dispatcher, dict[tuple[types.Type, ...], bool]] = weakref.WeakKeyDictionary()


def _may_write(function: Dispatcher, argtypes: tuple[types.Type, ...]) -> bool:
    """Whether a function may write into an argument.

    Two analyses look at it, which both err on the side of yes, but not at the same programs.
    """
    known = _writers.setdefault(function, {})
    if argtypes not in known:
        from jitgrad.analysis.callees import written_positions
        from jitgrad.api.mutation import writes_arguments

        folded = function._compiler.fold_argument_types(argtypes, {})[1]
        with global_compiler_lock:
            known[argtypes] = writes_arguments(read(function, folded)) and (
                lookup(function) is not None or bool(written_positions(function, folded))
            )
    return known[argtypes]


install()
