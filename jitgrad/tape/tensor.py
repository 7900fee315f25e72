"""`Tensor` and `Variable`: NumPy arrays whose operations a tape hears."""

from __future__ import annotations

import itertools
import math
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from jitgrad.errors import ArgumentError, ShapeError
from jitgrad.tape.float_errors import may_raise
from jitgrad.tape.handlers import HANDLERS
from jitgrad.tape.notices import warn_detached
from jitgrad.tape.operators import Operators
from jitgrad.tape.recording import ONE_NAME, Node, Recording, leaf, thread, watch
from jitgrad.tape.structure import LEAVES


class Value(Operators):
    """Base of `Tensor` and `Variable`: what they look like to Python and NumPy."""

    __slots__ = ()

    @property
    def array(self) -> Any:
        """The NumPy array (or NumPy scalar) inside, which must not be written."""
        raise NotImplementedError

    def watch(self, recording: Recording) -> None:
        """Make `recording` hear what is done with it from now on."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """Its value now, as a tensor."""
        raise NotImplementedError

    # ----- what it looks like ---------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def size(self) -> int:
        return self.array.size

    def numpy(self) -> Any:
        """A copy as a NumPy array (a NumPy scalar if it has no axes)."""
        return np.array(self.array)[()] if self.array.ndim == 0 else np.array(self.array)

    def _is_heard(self) -> bool:
        """Whether a tape that listens knows this value."""
        raise NotImplementedError

    def __array__(self, dtype=None, copy=None):
        if thread.recordings and self._is_heard():
            warn_detached("a plain array")
        if copy or (dtype is not None and dtype != self.array.dtype):
            return np.array(self.array, dtype=dtype)
        view = np.asarray(self.array).view()
        view.flags.writeable = False  # a tape may hold the same memory
        return view

    def __iter__(self) -> Iterator[Any]:
        if self.ndim == 0:
            raise TypeError("a tape value without axes cannot be iterated over")
        return iter(HANDLERS[np.unstack](self))

    def __len__(self) -> int:
        return len(self.array)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __float__(self) -> float:
        if thread.recordings and self._is_heard():
            warn_detached("a Python number", silent=("float(",))
        return float(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __index__(self) -> int:
        return self.array.__index__()

    def __complex__(self) -> complex:
        if thread.recordings and self._is_heard():
            warn_detached("a Python number", silent=("complex(",))
        return complex(self.array)

    def item(self, *index: int) -> Any:
        """One element as a Python number."""
        return self.array.item(*index)

    def tolist(self) -> Any:
        """Nested lists of Python numbers."""
        return self.array.tolist()

    def detached(self) -> Tensor:
        """Its value as a constant; what `jitgrad.stop_gradient` returns."""
        return Tensor(self.array)

    def __format__(self, spec: str) -> str:
        return format(self.array, spec)


def owned(value: Any, dtype: Any = None) -> np.ndarray:
    """A fresh array of `value` that nobody else holds; Python floats become float64."""
    try:
        array = np.array(value.array if isinstance(value, Value) else value, dtype=dtype)
    except ValueError as error:  # lists of different lengths, or texts for a dtype of numbers
        raise ArgumentError(f"a tape value must be an array of numbers, not {value!r} ({error})") from None
    if array.dtype.kind not in "biufc":
        raise ArgumentError(f"a tape value must be an array of numbers, not {type(value).__name__} {value!r}")
    return array


def _final(cls: type, **kwargs: Any) -> None:
    """No class is made of it: what takes tape values tells them by their type."""
    raise TypeError(
        f"{cls.__name__}: tensors and variables cannot be subclassed; keep one as an attribute of your class"
    )


class Tensor(Value):
    """An immutable array whose operations are recorded by the tapes that watch it.

    Made by `constant` and by operations on tensors and variables.
    """

    __slots__ = ("_array", "index", "node")
    __init_subclass__: Any = classmethod(_final)

    def __init__(self, array: Any, node: Node | None = None, index: int = 0):
        self._array = array
        self.node: Any = node
        self.index = index

    def __getattr__(self, name: str) -> Any:
        # Only a missing `_array` is looked up here: a value that was deferred (see `deferred`).
        if name != "_array":
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        self._array = array = self.node.out
        return array

    @property
    def array(self) -> Any:
        return self._array

    @property
    def shape(self) -> tuple[int, ...]:
        node = self.node
        return self._array.shape if node is None or node.state is None else node.state.shape

    @property
    def dtype(self) -> np.dtype:
        node = self.node
        return self._array.dtype if node is None or node.state is None else node.state.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0] if self.shape else len(self._array)  # which raises

    def watch(self, recording: Recording) -> None:
        if self.node is None:
            self.node = leaf(self._array)
        watch(self.node, recording)

    def read_value(self) -> Tensor:
        return self

    def _is_heard(self) -> bool:
        return self.node is not None and any(r in self.node.recordings for r in thread.recordings)

    def __copy__(self) -> Tensor:
        return self  # it is immutable

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    def __reduce__(self) -> Any:
        return constant, (self.array,)

    def __repr__(self) -> str:
        return f"<Tensor shape={self.shape} dtype={self.dtype} numpy={self.array!r}>"


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str = "Const") -> Tensor:
    """A tensor with a copy of `value`.

    Parameters
    ----------
    value : array_like, Tensor, Variable, or a list of them
        A tensor that a tape knows stays on it, and so do those in a list; of a variable it is the value as it is now.
    dtype : dtype, optional
        By default NumPy's choice: float64 for Python floats.
    shape : tuple of int, optional
        Filled with `value` if that is one number; else `value` must have as many elements.
    name : str
        Accepted for TensorFlow's sake.

    Examples
    --------
    >>> import jitgrad
    >>> x = jitgrad.constant([3.0, 4.0])
    >>> with jitgrad.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).numpy()
    array([6., 8.])
    """
    if shape is not None:
        return _shaped(constant(value, dtype), shape)
    if isinstance(value, Tensor):
        return value if dtype is None or value.dtype == dtype else value.astype(dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Value, list, tuple)) for v in value):
        value = stacked(value)
        if isinstance(value, Tensor):
            return constant(value, dtype)
    return Tensor(owned(value, dtype))


def _shaped(value: Tensor, shape: Any) -> Tensor:
    """One number repeated, or as many as there are elements rearranged."""
    try:
        if value.size == 1:
            return HANDLERS[np.broadcast_to](value.reshape(()), shape)
        return value.reshape(shape)
    except ValueError:
        raise ShapeError(f"constant: {value.size} numbers do not fill the shape {shape}") from None


def stacked(value: Any) -> Any:
    """Nested lists with tape values in them as one tensor, which is recorded; anything else as it is."""
    if isinstance(value, (list, tuple)):
        parts = [stacked(v) for v in value]
        if any(isinstance(v, Value) for v in parts):
            return HANDLERS[np.stack](parts)
    return value


_names = itertools.count()


class Variable(Value):
    """A tensor that can be assigned to, and that tapes watch by themselves.

    Parameters
    ----------
    initial_value : array_like, or a function without arguments that returns one
    trainable : bool
        Whether tapes watch it when it is read.
    name : str, optional
    dtype : dtype, optional

    Examples
    --------
    >>> import jitgrad
    >>> w = jitgrad.Variable([1.0, 2.0])
    >>> with jitgrad.GradientTape() as tape:
    ...     loss = (w * w).sum()
    >>> w.assign_sub(0.5 * tape.gradient(loss, w)).numpy()
    array([0., 0.])
    """

    __slots__ = ("__weakref__", "_array", "_name", "_trainable", "_watchable", "node")
    __init_subclass__: Any = classmethod(_final)

    def __init__(self, initial_value: Any, trainable: bool = True, name: str | None = None, dtype: Any = None):
        self._array = owned(initial_value() if callable(initial_value) else initial_value, dtype)
        self._trainable = bool(trainable)
        self._watchable = self._trainable and self._array.dtype.kind in "fc"
        self._name = f"Variable_{next(_names)}" if name is None else str(name)
        self.node = leaf(self._array)

    @property
    def array(self) -> np.ndarray:
        return self._array

    @property
    def name(self) -> str:
        return self._name

    @property
    def trainable(self) -> bool:
        return self._trainable

    def watch(self, recording: Recording) -> None:
        recording.variables.setdefault(self.node, self)
        watch(self.node, recording)

    def read_value(self) -> Tensor:
        """Its value now, as a tensor that later assignments do not change."""
        node, listening = self.node, thread.recordings
        if listening and self._watchable and node.recordings is not listening:
            for recording in listening:
                if recording.watches_variables:
                    recording.variables.setdefault(node, self)
                    watch(node, recording)
        return Tensor(self._array, node)

    value = read_value

    def _is_heard(self) -> bool:
        return any(r in self.node.recordings or (r.watches_variables and self._trainable) for r in thread.recordings)

    def assign(self, value: Any) -> Variable:
        """Give it a new value of the same shape; no tape hears of it.

        Raises
        ------
        ArgumentError
            For another shape, or a kind of number that its dtype does not hold (floats for integers).
        """
        self._replace(self._fitted(owned(value)))
        return self

    def _fitted(self, array: np.ndarray) -> np.ndarray:
        """`array` in the dtype of this variable, if it can be assigned."""
        own = self._array
        if array.dtype != own.dtype:
            if not np.can_cast(array.dtype, own.dtype, "same_kind"):
                raise ArgumentError(f"cannot assign a value of dtype {array.dtype} to {self._name}, a {own.dtype}")
            array = array.astype(own.dtype)
        if array.shape != own.shape:
            raise ArgumentError(
                f"cannot assign a value of shape {array.shape} to {self._name}, whose shape is {own.shape}"
            )
        return array

    def assign_add(self, delta: Any) -> Variable:
        """Add `delta` (broadcast to its shape)."""
        self._replace(self._combined(np.add, delta))
        return self

    def assign_sub(self, delta: Any) -> Variable:
        """Subtract `delta` (broadcast to its shape)."""
        self._replace(self._combined(np.subtract, delta))
        return self

    def _combined(self, ufunc: np.ufunc, delta: Any) -> np.ndarray:
        delta, own, out = _plain(delta), self._array, None
        if type(delta) is np.ndarray and delta.shape == own.shape and delta.dtype is own.dtype:
            if own.size >= LARGE and sys.getrefcount(own) == ONE_NAME + 2 and own.flags.owndata and _is_unseen():
                out = own
        try:
            combined = ufunc(own, delta, out)
        except (TypeError, ValueError) as error:
            raise ArgumentError(
                f"cannot {ufunc.__name__} {delta!r} and {self._name}, whose shape is {self.shape} ({error})"
            ) from None
        return self._fitted(np.asarray(combined))

    def _replace(self, array: np.ndarray) -> None:
        """Take over `array`, which nobody else may write. The old one may still be on a tape: it is left alone."""
        self._array = self.node.out = array
        for recording in self.node.recordings:
            recording.rewritten = True

    def __copy__(self) -> Variable:
        return self  # as in TensorFlow, where a shallow copy is the same variable

    def __deepcopy__(self, memo: Any) -> Variable:
        return memo.setdefault(id(self), Variable(self._array, self._trainable, self._name))

    def __reduce__(self) -> Any:
        return Variable, (self._array, self._trainable, self._name)

    def __repr__(self) -> str:
        return f"<Variable {self._name!r} shape={self.shape} dtype={self.dtype} numpy={self._array!r}>"


LEAVES |= {Tensor, Variable}

LARGE = 4096
"""Variables of so many elements are updated in place, where but the variable and its node nobody holds the array."""


def _is_unseen() -> bool:
    """Whether nobody could see an array that only variables hold while it is written, or half of it after an error."""
    # NumPy lets other threads run meanwhile, and has written before it raises
    return threading.active_count() == 1 and not may_raise()


def _plain(value: Any) -> Any:
    return value._array if isinstance(value, (Tensor, Variable)) else value
