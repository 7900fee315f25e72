"""Gradients given by the user: `custom_gradient`, `recompute_grad`, and overrides by operation type."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from jitgrad.errors import ArgumentError
from jitgrad.tape.elementwise import SPECIAL, type_name, ufunc_primitive
from jitgrad.tape.notices import warn
from jitgrad.tape.primitive import Primitive, heard_by
from jitgrad.tape.recording import Recording, only, thread, tick
from jitgrad.tape.signatures import kept
from jitgrad.tape.structure import flatten, rebuild
from jitgrad.tape.sweep import backward
from jitgrad.tape.tensor import Tensor, Value, Variable, constant


@contextlib.contextmanager
def _watching_variables() -> Iterator[Recording]:
    """A recording that hears, besides the tapes, which variables are read."""
    own = Recording(watches_variables=True)
    with only((*thread.recordings, own)):
        yield own
    own.release()


class _UserGradient(Primitive):
    """One call of a function that came with its gradient."""

    __slots__ = ("_gradient",)

    def __init__(self, name: str, gradient: Callable[[Sequence[Any]], Sequence[Any]]):
        super().__init__(name, None, ())  # type: ignore[arg-type]
        self._gradient = gradient
        self.keywords = None

    def cotangents(self, wanted, ct, out, args, kwargs):
        outs, cts = (out, ct) if type(out) is tuple else ((out,), (ct,))
        # An output that is not used has the cotangent zero, as in TensorFlow.
        cts = [np.zeros(o.shape, o.dtype) if c is None else c for c, o in zip(cts, outs, strict=True)]
        found = self._gradient([c if isinstance(c, Tensor) else Tensor(c) for c in cts])
        return [_value(found[k]) for k in wanted]


def _value(gradient: Any) -> Any:
    """What a user's function gave as a gradient; an array is copied, as it may be written again the next time."""
    if isinstance(gradient, np.ndarray):
        return np.array(gradient)
    return gradient.read_value() if isinstance(gradient, Variable) else gradient


def _tensors(args: Any) -> list[Tensor]:
    """The tape values among the leaves of `args`, variables as they are now."""
    return [leaf.read_value() for leaf in flatten(args) if isinstance(leaf, Value)]


def _aligned(name: str, gradients: Any, operands: Sequence[Any], what: str) -> list[Any]:
    """The gradients of the tape values among `operands`, given for these only or (as in TensorFlow) for all."""
    found = flatten(gradients)
    where = [k for k, operand in enumerate(operands) if isinstance(operand, Value)]
    if len(found) == len(operands):
        return [found[k] for k in where]
    if len(found) != len(where):
        count = f"{len(operands)} {what}"
        if len(where) < len(operands):
            count += f" ({len(where)} of them recorded)"
        raise ArgumentError(f"the gradient function of {name} returned {len(found)} gradients for {count}")
    return found


def _enter(
    name: str,
    result: Any,
    operands: Sequence[Tensor],
    gradient: Callable[[Sequence[Any]], Sequence[Any]],
) -> Any:
    """`result` as the result of one operation on `operands`."""
    leaves = flatten(result)
    arrays = [leaf.array if isinstance(leaf, Value) else np.array(leaf) for leaf in leaves]
    recordings = heard_by(operands)
    if not recordings:
        return rebuild(result, iter([Tensor(a) for a in arrays]))
    single = len(arrays) == 1
    primitive = _UserGradient(name, gradient)
    out = primitive.record(recordings, tuple(operands), {}, arrays[0] if single else tuple(arrays))
    return rebuild(result, iter((out,) if single else out))


def custom_gradient(f: Callable) -> Callable:
    """Give a function a gradient of its own.

    Parameters
    ----------
    f : callable
        ``f(*args)`` returns ``(result, grad)``. ``grad(*cotangents)``, one per value of the result, returns the
        gradient for each argument, or for each tape value among them (one, or a list, tuple or dict; None for no
        gradient). If `f` reads trainable variables, `grad` has a parameter ``variables=None`` and returns
        ``(gradients, variable_gradients)``.

    Returns
    -------
    callable
        ``f(*args)``, returning the result only, with this gradient on every tape that records it.

    Raises
    ------
    TypeError
        If `f` reads variables and `grad` has no parameter ``variables``.

    Examples
    --------
    >>> import jitgrad
    >>> import numpy as np
    >>> @jitgrad.custom_gradient
    ... def clipped(x):
    ...     return x, lambda upstream: np.clip(upstream, -1.0, 1.0)
    >>> x = jitgrad.Variable(2.0)
    >>> with jitgrad.GradientTape() as tape:
    ...     y = 10.0 * clipped(x)
    >>> float(tape.gradient(y, x))
    1.0
    """
    _check_callable("custom_gradient", f)
    name = getattr(f, "__name__", "custom_gradient")
    Primitive.types.add(name)

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        leaves, inputs = flatten(args), _tensors(args)
        if heard_by([leaf for leaf in flatten(kwargs) if isinstance(leaf, Tensor)]):
            warn(
                f"{name}, which has a gradient of its own, is called with recorded values as keyword arguments; no "
                f"derivative flows to them, pass them by position"
            )
        with _watching_variables() as watching:
            made = f(*args, **kwargs)
            variables = _others(watching, leaves)
        if not (isinstance(made, tuple) and len(made) == 2 and callable(made[1])):
            raise ArgumentError(f"{name} must return its result and a gradient function, not {made!r}")
        result, grad = made
        takes_variables = _takes(grad, "variables")
        if variables and not takes_variables:
            names = ", ".join(v.name for v in variables)
            raise ArgumentError(
                f"{name} reads variables ({names}), so its gradient function needs a parameter variables=None and "
                f"returns (gradients, gradients of the variables); or pass the variables as arguments"
            )

        def gradient(cotangents):
            if variables:
                of_inputs, of_variables = grad(*cotangents, variables=list(variables))
                return [
                    *_aligned(name, of_inputs, leaves, "arguments"),
                    *_aligned(name, of_variables, variables, "variables"),
                ]
            return _aligned(name, grad(*cotangents), leaves, "arguments")

        return _enter(name, result, [*inputs, *(v.read_value() for v in variables)], gradient)

    return decorated


def _others(watching: Recording, leaves: Sequence[Any]) -> list[Variable]:
    """The variables that were read and are no arguments."""
    passed = {id(leaf) for leaf in leaves}
    return [v for v in watching.variables.values() if id(v) not in passed]


def _check_callable(decorator: str, f: Any) -> None:
    if not callable(f):
        raise ArgumentError(
            f"{decorator} takes a function, not {type(f).__name__} {f!r}; write it above a def as @{decorator}"
        )


def _takes(function: Callable, parameter: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return parameter in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def recompute_grad(f: Callable) -> Callable:
    """A function that keeps nothing of its inside on the tape, and runs again when it is differentiated.

    Saves the memory of its intermediate values at the cost of computing them twice (Griewank & Walther, Evaluating
    Derivatives, 2nd ed., chapter 12).

    Parameters
    ----------
    f : callable
        Of tape values, returning a value or a nested structure of them.

    Returns
    -------
    callable

    Examples
    --------
    >>> import jitgrad
    >>> import numpy as np
    >>> x = jitgrad.Variable([0.0, 1.0])
    >>> with jitgrad.GradientTape() as tape:
    ...     y = jitgrad.recompute_grad(lambda v: np.sum(np.exp(v) ** 2))(x)
    >>> tape.gradient(y, x).numpy().round(3)
    array([ 2.   , 14.778])
    """
    _check_callable("recompute_grad", f)
    name = getattr(f, "__name__", "recompute_grad")

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        start = tick()
        with _watching_variables() as watching:
            leaves = [v.read_value() if isinstance(v, Value) else kept(v) for v in flatten((args, kwargs))]
            call_args, call_kwargs = rebuild((args, kwargs), iter(leaves))
            result = f(*args, **kwargs)
            operands = _distinct([*(v for v in leaves if isinstance(v, Tensor)), *_used(_tensors(result), start)])
            read = [(v, v.array) for v in watching.variables.values()]
        for recording in thread.recordings:
            recording.forget_since(start)

        def gradient(cotangents):
            own = Recording(watches_variables=False)
            # The same nodes, heard by `own` too, so that outer tapes see the way through the operands.
            for tensor in operands:
                tensor.watch(own)
            with _values(read), only((*thread.recordings, own)):
                again = f(*call_args, **call_kwargs)
            found = [t.read_value() if isinstance(t, Value) else constant(t) for t in flatten(again)]
            gradients = backward(found, cotangents, operands, own)
            own.release()
            return gradients

        return _enter(name, result, operands, gradient)

    return decorated


def _distinct(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors without those that stand for the same value as an earlier one."""
    return list({(t.node or t, t.index): t for t in reversed(tensors)}.values())[::-1]


def _used(results: Sequence[Tensor], start: int) -> list[Tensor]:
    """The tensors from before `start` that the results were computed from, as far as tapes heard it."""
    found, seen = [], set()
    waiting = list(results)
    while waiting:
        tensor = waiting.pop()
        node = tensor.node
        if node is None or not node.recordings:
            continue
        if node.primitive is None or node.number < start:
            found.append(tensor)
        elif node not in seen:
            seen.add(node)
            waiting += [arg for arg in node.args if type(arg) is Tensor]
    return found


@contextlib.contextmanager
def _values(read: Sequence[tuple[Variable, np.ndarray]]) -> Iterator[None]:
    """A context in which variables have the values they had."""
    changed = [(v, array, v.array) for v, array in read if v.array is not array]
    for variable, array, _ in changed:
        variable._replace(array)
    try:
        yield
    finally:
        for variable, _, array in changed:
            variable._replace(array)


# ----- overrides by the type of operation -----------------------------------------------------------
class Operation:
    """What a registered gradient sees of an operation.

    Attributes
    ----------
    type : str
    inputs, outputs : list of Tensor
    """

    def __init__(self, kind: str, inputs: Sequence[Any], outputs: Sequence[Any]):
        self.type = self.name = kind
        self.inputs = list(inputs)
        self.outputs = list(outputs)


_registered: dict[str, Callable] = {}


class RegisterGradient:
    """Decorator that registers ``gradient(op, *cotangents)`` under a name, for `gradient_override_map`.

    Parameters
    ----------
    op_type : str

    Raises
    ------
    KeyError
        If the name is taken.
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise ArgumentError(f"op_type must be a string, not {type(op_type).__name__} {op_type!r}")
        self._name = op_type

    def __call__(self, f: Callable) -> Callable:
        _check_callable("RegisterGradient", f)
        if self._name in _registered:
            raise KeyError(f"a gradient is registered under {self._name!r} already; choose another name")
        _registered[self._name] = f
        return f


class _Overridden(Primitive):
    """An operation whose gradient is a registered one."""

    __slots__ = ("_registered",)
    types: ClassVar[set[str]] = set()  # its own: that a type is overridden does not mean that there is one

    def __init__(self, name: str, registered: Callable):
        super().__init__(name, None, ())  # type: ignore[arg-type]
        self._registered = registered
        self.keywords = None

    def cotangents(self, wanted, ct, out, args, kwargs):
        inputs = [a if isinstance(a, Tensor) else Tensor(np.asarray(a)) for a in args]
        outputs = out if type(out) is tuple else (out,)
        cts = ct if type(ct) is tuple else (ct,)
        cts = tuple(np.zeros(o.shape, o.dtype) if c is None else c for c, o in zip(cts, outputs, strict=True))
        operation = Operation(self.name, inputs, [o if isinstance(o, Tensor) else Tensor(o) for o in outputs])
        found = self._registered(operation, *[c if isinstance(c, Tensor) else Tensor(c) for c in cts])
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        arrays = [k for k, a in enumerate(args) if hasattr(a, "dtype")]
        if len(found) == len(arrays) < len(args):
            found = [found[arrays.index(k)] if k in arrays else None for k in range(len(args))]
        if len(found) > len(args) or len(found) <= max(wanted):
            raise ArgumentError(
                f"the gradient registered for {self.name} returned {len(found)} gradients for {len(args)} inputs"
            )
        return [_value(found[k]) for k in wanted]


_ALIASES = {"AddV2": "Add", "BatchMatMulV2": "MatMul", "Div": "RealDiv", "TrueDiv": "RealDiv", "Select": "SelectV2"}


@contextlib.contextmanager
def gradient_override_map(op_type_map: Mapping[str, str]) -> Iterator[None]:
    """A context in which operations of some types get registered gradients.

    Parameters
    ----------
    op_type_map : mapping of str to str
        From the type of an operation (TensorFlow's name: ``"Square"``, ``"MatMul"``, ...) to the name of a registered
        gradient.

    Raises
    ------
    LookupError
        For a name under which nothing is registered.

    Warns
    -----
    UserWarning
        At the end of the context, of a type that no operation has.

    Examples
    --------
    >>> import jitgrad
    >>> import numpy as np
    >>> @jitgrad.RegisterGradient("StraightThrough")
    ... def straight_through(op, upstream):
    ...     return upstream
    >>> x = jitgrad.Variable(0.3)
    >>> with jitgrad.GradientTape() as tape, jitgrad.gradient_override_map({"Sign": "StraightThrough"}):
    ...     y = np.sign(x)
    >>> float(tape.gradient(y, x))
    1.0
    """
    if not isinstance(op_type_map, Mapping):
        raise ArgumentError(f"op_type_map must be a dict, not {type(op_type_map).__name__} {op_type_map!r}")
    made = dict(thread.overrides or {})
    for kind, name in op_type_map.items():
        if not isinstance(kind, str):
            raise ArgumentError(
                f"op_type_map maps types of operations, such as 'Square', not {type(kind).__name__} {kind!r}"
            )
        if not isinstance(name, str):
            raise ArgumentError(
                f"op_type_map maps {kind!r} to {type(name).__name__} {name!r}, and must map it to the name of a "
                f"gradient; register the function under one with jitgrad.RegisterGradient"
            )
        if name not in _registered:
            close = difflib.get_close_matches(name, _registered, n=3)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise LookupError(
                f"no gradient is registered under {name!r}{hint or '; register one with jitgrad.RegisterGradient'}"
            )
        kind = _ALIASES.get(kind, kind)
        made[kind] = _Overridden(kind, _registered[name])
    before = thread.overrides
    thread.overrides = made
    for recording in thread.recordings:
        recording.state = None  # nothing is deferred where gradients are overridden
    try:
        yield
    finally:
        thread.overrides = before
    # Now, and not before: functions with gradients of their own are types of operations, too, once they are called.
    for kind in op_type_map:
        if _ALIASES.get(kind, kind) not in Primitive.types:
            _warn_of_type(kind)


def _warn_of_type(kind: str) -> None:
    """Warn if no operation is of this type, also none that has not been used yet."""
    import jitgrad.nn  # noqa: F401  (its operations are types)

    for function in vars(np).values():
        if isinstance(function, np.ufunc):
            ufunc_primitive(function)  # is made when it is met first; now its type is known
    known = {t.lower(): t for t in (*Primitive.types, *map(type_name, SPECIAL), *_ALIASES)}
    if kind not in known.values():
        close = difflib.get_close_matches(kind.lower(), known, n=3, cutoff=0.7)
        hint = f"; did you mean {' or '.join(known[name] for name in close)}?" if close else ""
        warn(f"gradient_override_map: no operation has the type {kind!r}, so nothing is overridden{hint}", UserWarning)
