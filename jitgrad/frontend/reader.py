"""Reading Numba statements into operations of a Program.

`StatementReader` reads one statement at a time into the current block; `ssa.FunctionBuilder` extends
it with branches and loops.
"""

from __future__ import annotations

import enum
import operator
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
from numba.core import ir as numba_ir
from numba.core import types
from numba.np.numpy_support import as_dtype

from jitgrad.errors import UnsupportedError, where
from jitgrad.frontend.tree import SetFlag, SetVariable, TestFlag
from jitgrad.frontend.typed import TypedFunction
from jitgrad.frontend.variables import Variables
from jitgrad.program import ir

SCALARS = (
    types.Number, types.Boolean, types.BaseTuple, types.UnicodeType, types.Literal, types.NPDatetime, types.NPTimedelta,
)  # fmt: skip
SIMPLE = (int, float, complex, str, bytes, bool, type(None), EllipsisType, np.number, np.bool_)


@dataclass(eq=False, repr=False)
class BoundMethod(ir.Value):
    """``obj.attr`` that is about to be called."""

    obj: ir.Value
    attr: str


@dataclass(eq=False, repr=False)
class Iterator(ir.Value):
    """``iter(iterable)``, read by the header of a loop."""

    iterable: ir.Value


def is_simple(value: Any) -> bool:
    """Whether `value` can be written as a literal."""
    if type(value) is tuple:
        return all(is_simple(item) for item in value)
    if isinstance(value, slice):
        return is_simple((value.start, value.stop, value.step))
    return isinstance(value, SIMPLE) and not isinstance(value, enum.Enum)


def literal(value: Any, type_: types.Type | None = None) -> ir.Literal:
    """A `Literal` of a Python constant."""
    if type_ is None:
        match value:
            case None:
                type_ = types.none
            case bool():
                type_ = types.boolean
            case int():
                type_ = types.intp
            case float():
                type_ = types.float64
            case str():
                type_ = types.unicode_type
            case EllipsisType():
                type_ = types.ellipsis
            case slice():
                type_ = types.slice2_type if value.step is None else types.slice3_type
            case _:
                from numba import typeof

                type_ = typeof(value)
    return ir.Literal("t", type_, value)


def constant(value: Any, type_: types.Type, name: str) -> ir.Value:
    """The value of a global, a free variable or a module's attribute."""
    if is_simple(value) and not isinstance(value, types.Type):
        return literal(value, types.unliteral(type_))
    return ir.Global(name, type_, value)


class StatementReader:
    """Reads statements into `block`, tracking in `environment` the value of each variable."""

    def __init__(self, typed: TypedFunction, inliner: Any):
        self.typed = typed
        self.inliner = inliner
        self.variables = Variables(typed)
        self.environment: dict[str, ir.Value] = {}
        self.block = ir.Block()
        self.producers: dict[ir.Value, ir.Op] = {}
        self.arguments: dict[int, ir.Value] = {}
        self.loc: ir.Location | None = None

    # ----- values ----------------------------------------------------------------------------
    def type_of(self, version: str) -> types.Type | None:
        found = self.typed.typemap.get(version)
        return None if found is None else types.unliteral(found)

    def read(self, version: str) -> ir.Value:
        """The value of a variable, as the type that this version of it has."""
        value = self.environment.get(self.variables.variable(version))
        wanted = self.type_of(version)
        if value is None:
            return ir.Undefined(self.variables.display_name(version), wanted)
        if wanted is None or isinstance(wanted, types.Optional) and value.type == wanted.type:
            return value  # surely not None
        return self.cast(value, wanted)

    def assign(self, version: str, value: ir.Value) -> None:
        """Let a variable stand for `value`; a value without a name of its own takes the variable's."""
        name = self.variables.display_name(version)
        if value.name == "t" and name != "t" and not isinstance(value, (ir.Literal, ir.Global)):
            value.name = name
        self.environment[self.variables.variable(version)] = value

    def emit(self, op: ir.Op) -> Any:
        """Append `op`; returns its result."""
        op.loc = op.loc or self.loc
        self.block.ops.append(op)
        result = getattr(op, "result", None)
        if result is not None:
            self.producers[result] = op
        return result

    def new(self, type_: types.Type, name: str = "t") -> ir.Value:
        return ir.Value(name, type_)

    def cast(self, value: ir.Value, type_: types.Type | None) -> ir.Value:
        """`value` as another type."""
        if type_ is None or value.type == type_ or isinstance(value, (ir.Global, BoundMethod, Iterator)):
            return value
        if isinstance(value, ir.Undefined):
            return ir.Undefined(value.name, type_)
        if value.type is None:  # a carried variable whose type nothing told before
            value.type = type_
            return value
        if isinstance(value, ir.Literal) and not isinstance(value.value, np.generic):
            plain = {types.float64: float, types.intp: int, types.complex128: complex}.get(type_)
            exact = (bool, int) if plain is int else (bool, int, float)
            if plain is not None and isinstance(value.value, exact):
                return literal(plain(value.value), type_)
        return self.emit(ir.Cast(self.new(type_, value.name), value))

    def call(self, fn: Any, args: list[ir.Value], type_: types.Type, name: str = "t") -> ir.Value:
        return self.emit(ir.Call(self.new(type_, name), fn, args))

    def binary(self, fn: Any, lhs: ir.Value, rhs: ir.Value, type_: types.Type) -> ir.Value:
        return self.emit(ir.Binary(self.new(type_), fn, lhs, rhs))

    def unsupported(self, construct: str, way_out: str) -> UnsupportedError:
        return UnsupportedError(f"{where(self.loc)}: {construct}; {way_out}")

    # ----- statements ------------------------------------------------------------------------
    def statement(self, item: Any) -> bool:
        """Read one item without suites; returns whether what follows it can run."""
        if getattr(item, "loc", None) is not None:
            self.loc = self.typed.location(item.loc)
        read = lambda variable: self.read(variable.name)
        match item:
            case SetFlag():
                if item.variable is not None:
                    self.environment[item.variable] = literal(item.value)
            case TestFlag():
                self.environment[item.target] = self.test_flag(self.environment[item.variable], item.value)
            case SetVariable():
                source = self.read(item.source) if isinstance(item.source, str) else literal(item.source)
                self.environment[item.target] = source
            case numba_ir.Assign():
                value = self.right_hand_side(item)
                if value is not None:
                    self.assign(item.target.name, value)
            case numba_ir.SetItem():
                place = self._place(read(item.target), read(item.index))
                self.emit(ir.SetItem(*place, read(item.value)))
            case numba_ir.StaticSetItem():
                place = self._place(read(item.target), self._constant_index(item.index, item.index_var))
                self.emit(ir.SetItem(*place, read(item.value)))
            case numba_ir.StoreMap():
                self.emit(ir.SetItem(read(item.dct), (read(item.key),), read(item.value)))
            case numba_ir.SetAttr():
                self.emit(ir.SetAttr(read(item.target), item.attr, read(item.value)))
            case numba_ir.Print():
                self.emit(ir.Print([read(argument) for argument in item.args]))
            case numba_ir.StaticRaise() | numba_ir.DynamicRaise():
                arguments = [read(a) if isinstance(a, numba_ir.Var) else literal(a) for a in item.exc_args or ()]
                self.emit(ir.Raise(item.exc_class, arguments))
                return False
            case numba_ir.DelItem():
                base = read(item.target)
                self.call(operator.delitem, [base, read(item.index)], types.none)
            case _:
                raise self.unsupported(f"`{item}` is not supported", "write it with assignments and calls")
        return True

    def test_flag(self, flag: ir.Value, value: int) -> ir.Value:
        """``flag == value``, decided now where the flag is known."""
        if isinstance(flag, ir.Literal):
            return literal(flag.value == value)
        return self.binary(operator.eq, flag, literal(value), types.boolean)

    def right_hand_side(self, statement: numba_ir.Assign) -> ir.Value | None:
        """The value of an assignment."""
        target, value = statement.target.name, statement.value
        match value:
            case numba_ir.Const():
                return self._const(value.value, target)
            case numba_ir.Global() | numba_ir.FreeVar():
                return constant(value.value, self.typed.typemap[target], value.name)
            case numba_ir.Arg():
                return self.arguments[value.index]
            case numba_ir.Var():
                return self.read(value.name)
            case numba_ir.Expr():
                return self.expression(value, target)
        raise self.unsupported(f"`{value}` is not supported", "write it with assignments and calls")

    def _const(self, value: Any, target: str) -> ir.Value:
        if is_simple(value):
            return literal(value, self.type_of(target))
        return ir.Global("const", self.type_of(target), value)

    def _constant_index(self, index: Any, variable: numba_ir.Var | None) -> ir.Value:
        """An index that Numba holds for a constant.

        Numba takes an argument of an inlined comprehension for the constant None, also within a tuple or a slice;
        the variable's type tells better.
        """
        if variable is not None and not _is_constant(index, self.type_of(variable.name)):
            return self.read(variable.name)
        return literal(index)

    def expression(self, e: numba_ir.Expr, target: str) -> ir.Value | None:
        """The value of a Numba expression."""
        type_ = self.type_of(target)
        read = lambda variable: self.read(variable.name)
        match e.op:
            case "cast":
                return self.cast(read(e.value), type_)
            case "binop":
                return self._binary(e.fn, read(e.lhs), read(e.rhs), type_)
            case "inplace_binop":
                if isinstance(self.typed.typemap[e.lhs.name], SCALARS):
                    return self._binary(e.immutable_fn, read(e.lhs), read(e.rhs), type_)
                return self.emit(ir.InplaceBinary(self.new(type_), e.immutable_fn, read(e.lhs), read(e.rhs)))
            case "unary":
                return self.emit(ir.Unary(self.new(type_), e.fn, self._number(read(e.value))))
            case "getattr":
                return self._getattr(read(e.value), e.attr, target)
            case "getitem":
                return self.get_item(read(e.value), read(e.index), type_)
            case "static_getitem" | "typed_getitem":
                if e.op == "typed_getitem" and isinstance(self.typed.typemap[e.value.name], types.BaseTuple):
                    return self._item_of_type(read(e.value), read(e.index), types.unliteral(e.dtype))
                index = (
                    read(e.index) if isinstance(e.index, numba_ir.Var) else self._constant_index(e.index, e.index_var)
                )
                return self.get_item(read(e.value), index, type_)
            case "build_tuple":
                return self.emit(ir.BuildTuple(self.new(type_), [read(v) for v in e.items]))
            case "build_list":
                return self.emit(ir.BuildList(self.new(type_), [read(v) for v in e.items]))
            case "build_set":
                return self.emit(ir.BuildSet(self.new(type_), [read(v) for v in e.items]))
            case "build_map":
                return self.emit(ir.BuildMap(self.new(type_), [(read(k), read(v)) for k, v in e.items]))
            case "call":
                return self._call(e, target)
            case "getiter":
                return Iterator("t", type_, self._iterable(read(e.value)))
            case "exhaust_iter":
                return self._unpack(read(e.value), e.count, type_)
            case "null" | "undef":
                return None
        raise self.unsupported(f"`{e.op}` is not supported", "write it with loops, branches and assignments")

    @staticmethod
    def _iterable(value: ir.Value) -> ir.Value:
        return value.iterable if isinstance(value, Iterator) else value

    def _binary(self, fn: Any, lhs: ir.Value, rhs: ir.Value, type_: types.Type) -> ir.Value:
        if fn in (operator.is_, operator.is_not) and isinstance(rhs, ir.Literal) and rhs.value is None:
            if not isinstance(lhs.type, types.Optional):
                return literal((lhs.type == types.none) == (fn is operator.is_))
        if fn is operator.add and isinstance(lhs.type, types.BaseTuple):
            return self.emit(ir.BuildTuple(self.new(type_), [*self.tuple_items(lhs), *self.tuple_items(rhs)]))
        if types.none not in (lhs.type, rhs.type):
            lhs, rhs = self._number(lhs), self._number(rhs)
        return self.binary(fn, lhs, rhs, type_)

    def _number(self, value: ir.Value) -> ir.Value:
        """The number that an optional one has to be where arithmetic asks for it."""
        optional = isinstance(value.type, types.Optional) and isinstance(value.type.type, types.Number)
        return self.cast(value, value.type.type) if optional else value

    def _getattr(self, base: ir.Value, attr: str, target: str) -> ir.Value:
        type_ = self.typed.typemap[target]
        if isinstance(base, ir.Global) and isinstance(base.type, (types.Module, types.EnumClass, types.EnumMember)):
            return constant(getattr(base.value, attr), type_, attr)
        if isinstance(type_, types.BoundFunction):
            return BoundMethod("t", type_, base, attr)
        if isinstance(base.type, types.ClassInstanceType) and attr in base.type.jit_props:
            getter = base.type.jit_props[attr]["get"]
            return self.inliner.inline(self, getter, (base.type,), [base], {}, types.unliteral(type_))
        return self.attribute(base, attr, types.unliteral(type_))

    def attribute(self, base: ir.Value, attr: str, type_: types.Type) -> ir.Value:
        """``base.attr`` of data."""
        if attr == "real" and base.type == type_ and isinstance(base.type, types.Array):
            return base  # as in Numba, the real part of an array of real numbers is the array
        if attr == "imag" and isinstance(base.type, types.Array) and not isinstance(base.type.dtype, types.Complex):
            return self.cast(self.call(np.zeros_like, [base], base.type.copy(layout="C")), type_)
        return self.emit(ir.GetAttr(self.new(type_), base, attr))

    # ----- indexing --------------------------------------------------------------------------
    def index(self, base: ir.Value, index: ir.Value) -> tuple[ir.IndexItem, ...]:
        """`index` as a tuple of items: tuples and slices built in place are taken apart."""
        if not isinstance(base.type, types.Buffer):
            return (self._index_item(index),)
        if isinstance(index, ir.Literal) and type(index.value) is tuple:
            return tuple(self._index_item(literal(item)) for item in index.value)
        built = self.producers.get(index)
        if isinstance(built, ir.BuildTuple):
            return tuple(self._index_item(item) for item in built.items)
        return (self._index_item(index),)

    def _index_item(self, item: ir.Value) -> ir.IndexItem:
        if isinstance(item, ir.Literal) and isinstance(item.value, slice):
            numbers = (item.value.start, item.value.stop, item.value.step)
            return ir.Slice(*(None if number is None else literal(number) for number in numbers))
        built = self.producers.get(item)
        if isinstance(built, ir.Call) and built.fn is slice:
            parts = [*built.args] if len(built.args) > 1 else [None, *built.args]
            return ir.Slice(*(None if _is_none(part) else part for part in parts))
        return item

    def get_item(self, base: ir.Value, index: ir.Value, type_: types.Type) -> ir.Value:
        """``base[index]``; an item of a tuple built in place is that item, a part of a tuple one of its items."""
        at = self._fixed_position(index) if isinstance(base.type, types.BaseTuple) else None
        if at is not None:
            built = self.producers.get(base)
            if isinstance(at, slice):
                picked = range(*at.indices(len(base.type)))
                items = [self.get_item(base, literal(k), base.type[k]) for k in picked]
                return self.emit(ir.BuildTuple(self.new(type_), items))
            if isinstance(built, ir.BuildTuple):
                return self.cast(built.items[at], type_)
            if isinstance(base, ir.Literal):
                return literal(base.value[at], type_)
        return self.emit(ir.GetItem(self.new(type_), *self._place(base, index)))

    def _place(self, base: ir.Value, index: ir.Value) -> tuple[ir.Value, tuple[ir.IndexItem, ...]]:
        """What ``base[index]`` is an element of, and where; ``array.flat[k]`` is one of the array."""
        made = self.producers.get(base)
        if isinstance(base.type, types.NumpyFlatType) and isinstance(made, ir.GetAttr):
            if isinstance(index.type, types.Integer):
                return made.base, tuple(self.position(made.base, index))
        return base, self.index(base, index)

    def _item_of_type(self, base: ir.Value, index: ir.Value, type_: types.Type) -> ir.Value:
        """The item at `index` of a tuple of several types, where it is known to have this type (`literal_unroll`)."""
        places = [k for k, item in enumerate(base.type) if types.unliteral(item) == type_]
        outer = self.block
        item: ir.Value = ir.Undefined("t", type_)
        for k in reversed(places):
            then, orelse = ir.Block(), ir.Block()
            self.block = then
            found = self.cast(self.get_item(base, literal(k), base.type[k]), type_)
            self.block = outer
            if k == places[-1]:
                outer.ops += then.ops
                item = found
                continue
            here = self.binary(operator.eq, index, literal(k), types.boolean)
            picked = self.new(type_)
            self.emit(ir.If(here, then, orelse, [picked], [found], [item]))
            item = picked
        return item

    def _fixed_position(self, index: ir.Value) -> int | slice | None:
        """The number or slice that an index always is."""
        item = self._index_item(index)
        if isinstance(item, ir.Slice):
            parts = (item.start, item.stop, item.step)
            if all(part is None or isinstance(part, ir.Literal) for part in parts):
                return slice(*(part.value if isinstance(part, ir.Literal) else None for part in parts))
        elif isinstance(item, ir.Literal) and isinstance(item.value, int):
            return item.value
        return None

    def _unpack(self, value: ir.Value, count: int, type_: types.Type) -> ir.Value:
        """``a, b = value``."""
        if isinstance(value.type, types.BaseTuple):
            return value
        length = self.call(len, [value], types.intp)
        wrong = self.binary(operator.ne, length, literal(count), types.boolean)
        refuse = ir.Raise(ValueError, [], loc=self.loc)
        self.emit(ir.If(wrong, ir.Block([refuse]), ir.Block()))
        items = [self.get_item(value, literal(k), type_[k]) for k in range(count)]
        return self.emit(ir.BuildTuple(self.new(type_), items))

    # ----- calls -----------------------------------------------------------------------------
    def _call(self, e: numba_ir.Expr, target: str) -> ir.Value:
        type_ = self.type_of(target)
        callee = self.read(e.func.name)
        args = [self.read(v.name) for v in e.args]
        kwargs = {name: self.read(v.name) for name, v in e.kws}
        if e.vararg is not None:
            args += self.tuple_items(self.read(e.vararg.name))
        if e.varkwarg is not None:
            raise self.unsupported("`**kwargs` in a call is not supported", "write the keyword arguments out")
        signature = self.typed.calltypes[e]
        if e.vararg is None and signature is not None:
            wanted = zip(args, signature.args, strict=False)
            args[: len(signature.args)] = [v if isinstance(t, types.Optional) else self._number(v) for v, t in wanted]
        if isinstance(callee, BoundMethod):
            return self.inliner.method(self, callee, signature, args, kwargs, type_)
        fn = known_function(callee)
        if fn is None:
            return self.emit(ir.CallValue(self.new(type_), callee, args, kwargs))
        if isinstance(callee.type, types.ExceptionClass):  # a raise statement has its class and arguments
            return ir.Undefined("t", type_)
        special = self._special_call(fn, args, target)
        if special is not None:
            return special
        return self.inliner.call(self, fn, signature, args, kwargs, type_)

    def tuple_items(self, value: ir.Value) -> list[ir.Value]:
        """The items of a tuple as values."""
        return [self.get_item(value, literal(k), type_) for k, type_ in enumerate(value.type)]

    def _special_call(self, fn: Any, args: list[ir.Value], target: str) -> ir.Value | None:
        """Calls that Numba's own rewriting leaves behind, and those decided by types alone."""
        type_, name = self.typed.typemap[target], getattr(fn, "__name__", None) or getattr(fn, "_name", "")
        if fn is bool and isinstance(args[0].type, types.Boolean) or name == "literal_unroll":
            return args[0]
        if name == "length_of_iterator":
            return self.iteration(self._iterable(args[0])).count
        if name == "empty_inferred":
            dtype = as_dtype(type_.dtype).type
            scalar = ir.Global(dtype.__name__, types.NumberClass(type_.dtype), dtype)
            return self.call(np.empty, [args[0], scalar], type_)
        if fn in (isinstance, hasattr) and isinstance(type_, types.Literal):
            return literal(bool(type_.literal_value))
        if fn is len and isinstance(args[0].type, types.BaseTuple):
            return literal(len(args[0].type), types.intp)
        if fn is tuple and args and isinstance(args[0].type, types.BaseTuple):
            return self.emit(ir.BuildTuple(self.new(types.unliteral(type_)), self.tuple_items(args[0])))
        return None

    def iteration(self, iterable: ir.Value) -> Any:
        raise NotImplementedError

    def position(self, array: ir.Value, number: ir.Value) -> list[ir.Value]:
        raise NotImplementedError


def _is_none(value: ir.Value | None) -> bool:
    return value is None or value.type == types.none


def known_function(callee: ir.Value) -> Any:
    """The function object that `callee` always is, or None."""
    if isinstance(callee, ir.Global):
        return callee.value
    match callee.type:
        case types.Dispatcher():
            return callee.type.dispatcher
        case types.Function():
            return callee.type.typing_key
    return None


def _is_constant(index: Any, type_: types.Type | None) -> bool:
    """Whether an index of this type can have been the constant `index`, as far as None goes."""
    if index is None:
        return type_ is None or isinstance(type_, (types.NoneType, types.Omitted))
    if isinstance(index, tuple) and isinstance(type_, types.BaseTuple):
        return all(map(_is_constant, index, type_))
    if isinstance(index, slice):
        # The type of a slice does not tell which of its parts are None.
        return index.start is not None and index.stop is not None
    return True
