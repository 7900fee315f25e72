"""The Program: a function as a small tree of typed operations in structured SSA form.

Every value has exactly one definition, a Numba type and a readable name. A `Block` is a list of
operations; some operations (`If`, `Loop`, `Map`) own blocks. What flows out of a branch or around a
loop is explicit, as in MLIR's `scf` dialect: an `If` yields one value per result from each arm, a
`Loop` has one parameter, initial value, yielded value and result for each carried variable.

The values
----------
Value       the result of an operation, or a parameter of the function, a loop or a map body
Literal     a compile-time constant; needs no operation
Global      a function, class, module constant or captured array, by object; needs no operation
Undefined   "not assigned on this path"; reading it is the user's error, yielding it is not

The operations
--------------
Unary, Binary        operators on anything Numba's operators accept; ``fn`` comes from `operator`
InplaceBinary        ``a += b`` on a mutable object (array, list); the result is the object itself
Call                 a known function object; ``x.sum()`` is a `Method`
CallValue            a call of a function value (a function passed as an argument)
GetItem, SetItem     with the index flattened into a tuple of values and `Slice` items
GetAttr, SetAttr, BuildTuple, BuildList, BuildMap, BuildSet, Cast
Raise, Print
If, Loop             regions
Map                  an elementwise array expression, as one scalar block run for every element
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.core import types


@dataclass(frozen=True)
class Location:
    """A place in the user's source, printed as ``file.py:12``."""

    filename: str
    line: int

    def __str__(self) -> str:
        return f"{self.filename.rsplit('/', 1)[-1]}:{self.line}"


@dataclass(eq=False)
class Value:
    """One SSA value; compared by identity."""

    name: str
    type: types.Type

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False, repr=False)
class Literal(Value):
    """A constant known while compiling: number, string, bool, None, Ellipsis, dtype, tuple of these."""

    value: Any = None


@dataclass(eq=False, repr=False)
class Global(Value):
    """A function, class, or captured object, bound into the generated function's namespace."""

    value: Any = None


@dataclass(eq=False, repr=False)
class Undefined(Value):
    """A variable that no assignment reaches on this path."""


@dataclass(frozen=True)
class Slice:
    """``start:stop:step`` inside an index; `None` where the user left a part out."""

    start: Value | None = None
    stop: Value | None = None
    step: Value | None = None


IndexItem = Value | Slice


@dataclass(eq=False)
class Block:
    """Operations in order. What the block yields is kept by the operation that owns it."""

    ops: list[Op] = field(default_factory=list)

    def __iter__(self) -> Iterator[Op]:
        return iter(self.ops)


@dataclass(eq=False, kw_only=True)
class Op:
    """Base of all operations."""

    loc: Location | None = None

    @property
    def results(self) -> list[Value]:
        """The values this operation defines, in order."""
        result = getattr(self, "result", None)
        return [] if result is None else [result]

    @property
    def operands(self) -> list[Value]:
        """The values this operation itself reads (not those read inside its blocks)."""
        raise TypeError(f"{type(self).__name__} declares no operands")

    @property
    def blocks(self) -> list[Block]:
        """The blocks this operation owns."""
        return []


@dataclass(eq=False)
class Unary(Op):
    result: Value
    fn: Callable
    operand: Value

    @property
    def operands(self):
        return [self.operand]


@dataclass(eq=False)
class Binary(Op):
    """``lhs fn rhs``. `free` is the function that takes a sum which may be reordered with other such sums."""

    result: Value
    fn: Callable
    lhs: Value
    rhs: Value
    free: Callable | None = None

    @property
    def operands(self):
        return [self.lhs, self.rhs]


@dataclass(eq=False)
class InplaceBinary(Op):
    """``lhs fn= rhs`` on a mutable object; `fn` is the immutable operator (`operator.add`).

    `result` is another name of `lhs`; None once all uses of it say `lhs`.
    """

    result: Value | None
    fn: Callable
    lhs: Value
    rhs: Value

    @property
    def operands(self):
        return [self.lhs, self.rhs]


@dataclass(eq=False)
class Call(Op):
    """``fn(*args, **kwargs)`` of a known object: dispatcher, NumPy function, builtin, type."""

    result: Value
    fn: Any
    args: list[Value]
    kwargs: dict[str, Value] = field(default_factory=dict)
    vararg: Value | None = None

    @property
    def operands(self):
        return [*self.args, *self.kwargs.values(), *([self.vararg] if self.vararg else [])]


@dataclass(eq=False)
class CallValue(Op):
    """A call of a function value, such as a dispatcher received as an argument."""

    result: Value
    callee: Value
    args: list[Value]
    kwargs: dict[str, Value] = field(default_factory=dict)
    vararg: Value | None = None

    @property
    def operands(self):
        return [self.callee, *self.args, *self.kwargs.values(), *([self.vararg] if self.vararg else [])]


@dataclass(eq=False)
class Method(Op):
    """``obj.name(*args, **kwargs)``."""

    result: Value
    name: str
    obj: Value
    args: list[Value]
    kwargs: dict[str, Value] = field(default_factory=dict)

    @property
    def operands(self):
        return [self.obj, *self.args, *self.kwargs.values()]


def index_values(index: tuple[IndexItem, ...]) -> list[Value]:
    """All values inside an index, in order."""
    out: list[Value] = []
    for item in index:
        if isinstance(item, Slice):
            out += [v for v in (item.start, item.stop, item.step) if v is not None]
        else:
            out.append(item)
    return out


@dataclass(eq=False)
class GetItem(Op):
    """``base[index]``; a view where the index has a slice, newaxis or fewer items than axes."""

    result: Value
    base: Value
    index: tuple[IndexItem, ...]

    @property
    def operands(self):
        return [self.base, *index_values(self.index)]


@dataclass(eq=False)
class SetItem(Op):
    base: Value
    index: tuple[IndexItem, ...]
    value: Value

    @property
    def operands(self):
        return [self.base, *index_values(self.index), self.value]


@dataclass(eq=False)
class GetAttr(Op):
    result: Value
    base: Value
    attr: str

    @property
    def operands(self):
        return [self.base]


@dataclass(eq=False)
class SetAttr(Op):
    base: Value
    attr: str
    value: Value

    @property
    def operands(self):
        return [self.base, self.value]


@dataclass(eq=False)
class BuildTuple(Op):
    """A tuple; a named tuple is built by a `Call` of its class."""

    result: Value
    items: list[Value]

    @property
    def operands(self):
        return list(self.items)


@dataclass(eq=False)
class BuildList(Op):
    result: Value
    items: list[Value]

    @property
    def operands(self):
        return list(self.items)


@dataclass(eq=False)
class BuildSet(Op):
    result: Value
    items: list[Value]

    @property
    def operands(self):
        return list(self.items)


@dataclass(eq=False)
class BuildMap(Op):
    result: Value
    items: list[tuple[Value, Value]]

    @property
    def operands(self):
        return [v for pair in self.items for v in pair]


@dataclass(eq=False)
class Cast(Op):
    """The same value as another Numba type (``s = 0`` that is a float later), or a plain copy."""

    result: Value
    operand: Value

    @property
    def operands(self):
        return [self.operand]


@dataclass(eq=False)
class Raise(Op):
    """Ends the path: nothing after it in its block runs. `exception` is None for a bare ``raise``."""

    exception: Any
    args: list[Value] = field(default_factory=list)

    @property
    def operands(self):
        return list(self.args)


@dataclass(eq=False)
class Print(Op):
    args: list[Value]

    @property
    def operands(self):
        return list(self.args)


@dataclass(eq=False)
class If(Op):
    """``results = then_yields if cond else else_yields`` after running the arm."""

    cond: Value
    then: Block
    orelse: Block
    outs: list[Value] = field(default_factory=list)
    then_yields: list[Value] = field(default_factory=list)
    else_yields: list[Value] = field(default_factory=list)

    @property
    def results(self):
        return list(self.outs)

    @property
    def operands(self):
        return [self.cond]

    @property
    def blocks(self):
        return [self.then, self.orelse]


@dataclass(eq=False)
class Loop(Op):
    """A loop, counted or not, with carried values::

        params, index = inits, 0
        while count is None or index < count:
            body
            params, index = yields, index + 1
            if again is not None and not again:
                break
        outs, trips = params, index

    `index` counts from zero: the frontend computes ``start + step * index`` in the body. A `count`
    below zero runs no iteration. ``while`` becomes a loop without count whose `again` is the test.
    """

    index: Value
    count: Value | None
    params: list[Value]
    inits: list[Value]
    body: Block
    yields: list[Value]
    outs: list[Value]
    again: Value | None = None
    trips: Value | None = None
    parallel: bool = False

    @property
    def results(self):
        return [*self.outs, *([self.trips] if self.trips else [])]

    @property
    def operands(self):
        return [*([self.count] if self.count else []), *self.inits]

    @property
    def blocks(self):
        return [self.body]


@dataclass(eq=False)
class Map(Op):
    """An elementwise array expression: ``result[k] = output`` after `body`, for every element k.

    `inputs` are arrays (broadcast against each other) and scalars; `params` are the scalars that
    stand for one element of each input inside `body`, which is straight-line scalar code.
    """

    result: Value
    inputs: list[Value]
    params: list[Value]
    body: Block
    output: Value

    @property
    def operands(self):
        return list(self.inputs)

    @property
    def blocks(self):
        return [self.body]


@dataclass(eq=False)
class Program:
    """One function for one tuple of argument types.

    Attributes
    ----------
    name : str
        The user's function name.
    params : list of Value
        One per parameter of the Python signature (``*args`` is one tuple parameter).
    body : Block
    result : Value
        What the function returns; a `Literal` None where it returns nothing.
    signature : inspect.Signature
        The Python signature of the primal, with its defaults.
    options : dict
        Numba target options of the primal that matter to generated code (fastmath, boundscheck, ...).
    """

    name: str
    params: list[Value]
    body: Block
    result: Value
    signature: Any
    options: dict[str, Any] = field(default_factory=dict)
    loc: Location | None = None


def among(fn: Any, functions: Container[Any]) -> bool:
    """Whether a callee is one of some functions; callees need not be hashable."""
    try:
        return fn in functions
    except TypeError:
        return False


# Functions besides ufuncs that take the array for their result as an argument, and its position.
_OUTPUTS = ((np.clip, 3), (np.round, 2), (np.around, 2), (np.isposinf, 1), (np.isneginf, 1))
_METHOD_OUTPUTS = {"clip": 2, "round": 1}


def output(op: Op) -> Value | None:
    """The array that a call writes its result into; None where it makes a new one."""
    match op:
        case Call(fn=np.nan_to_num):
            copy = op.kwargs.get("copy", op.args[1] if len(op.args) > 1 else None)
            return None if copy is None or (isinstance(copy, Literal) and copy.value is True) else op.operands[0]
        case Call():
            at = op.fn.nin if isinstance(op.fn, np.ufunc) else next((k for f, k in _OUTPUTS if f is op.fn), None)
        case Method():
            at = _METHOD_OUTPUTS.get(op.name)
        case _:
            return None
    if at is None:
        return None
    found = op.kwargs.get("out", op.args[at] if len(op.args) > at else None)
    return found if found is not None and isinstance(found.type, types.Array) else None


def memory_dtype(type_: types.Type) -> types.Type | None:
    """The dtype of an array's memory, None for what has none: the parts of complex numbers are views of them."""
    dtype = getattr(type_, "dtype", None)
    return getattr(dtype, "underlying_float", dtype)


def walk(block: Block) -> Iterator[Op]:
    """Every operation in `block`, depth first, owners before what they own."""
    for op in block.ops:
        yield op
        for inner in op.blocks:
            yield from walk(inner)
