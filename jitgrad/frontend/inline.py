"""Calls: compiled callees are read and put in place of the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.core.typing.templates import Signature, fold_arguments
from numba.np.ufunc.dufunc import DUFunc

from jitgrad import rules
from jitgrad.errors import UnsupportedError
from jitgrad.frontend.overloads import implementations
from jitgrad.frontend.reader import BoundMethod, StatementReader, is_simple, literal
from jitgrad.program import ir
from jitgrad.program.clone import clone_block
from jitgrad.runtime.iteration import largest, listed, smallest

ONE_BY_ONE = (np.atleast_1d, np.atleast_2d, np.atleast_3d)  # several arguments give a tuple of results
PARTS = {np.real: "real", np.imag: "imag"}  # of an array they are its attributes
ARRAY_OF = (np.array, np.asarray, np.asarray_chkfinite)  # what makes arrays of other things
EXTREMA = {max: largest, min: smallest}  # of the items of one argument


@dataclass(frozen=True)
class MethodReference:
    """A method, for the question whether there is a rule for it."""

    name: str
    obj_type: types.Type


class Inliner:
    """Decides for every call whether its callee is read.

    Parameters
    ----------
    read_python : callable
        ``read_python(python_function, argtypes, inliner, dispatcher) -> Program``.
    rule_of : callable
        ``rule_of(fn or MethodReference)``: the rule by which calls are differentiated as a whole, or
        None.
    """

    def __init__(self, read_python: Callable, rule_of: Callable[[Any], Any]):
        self.read_python = read_python
        self.rule_of = rule_of
        self.in_progress: list[Any] = []
        self._programs: dict[Any, ir.Program] = {}

    # ----- what a reader asks ------------------------------------------------------------------
    def length(self, reader: StatementReader, value: ir.Value) -> ir.Value:
        """``len(value)``, for a loop over it."""
        if isinstance(value.type, types.BaseTuple):
            return literal(len(value.type))
        return reader.call(len, [value], types.intp, "n")

    def call(
        self, reader: StatementReader, fn: Any, signature: Signature, args: list, kwargs: dict, type_: types.Type
    ) -> ir.Value:
        """The value of ``fn(*args, **kwargs)``."""
        rule, inlined = self.rule_of(fn), None
        if ir.among(fn, ONE_BY_ONE) and len(args) > 1:
            made = [self.call(reader, fn, signature, [a], {}, t) for a, t in zip(args, type_, strict=True)]
            return reader.emit(ir.BuildTuple(reader.new(type_), made))
        if ir.among(fn, EXTREMA) and len(args) == 1:
            if isinstance(args[0].type, types.BaseTuple):
                return self.call(reader, fn, signature, reader.tuple_items(args[0]), {}, type_)
            if isinstance(args[0].type, (types.Array, types.List, types.ListType)):
                return self._insert(reader, self.program(EXTREMA[fn].py_func, (args[0].type,)), args, {}, type_)
        if ir.among(fn, PARTS) and isinstance(args[0].type, types.Array):
            return reader.attribute(args[0], PARTS[fn], type_)
        if isinstance(fn, DUFunc) and len(args) == fn.nin and not any(isinstance(a.type, types.Array) for a in args):
            program = self.program(fn._dispatcher.py_func, tuple(types.unliteral(a.type) for a in args))
            return self._insert(reader, program, args, kwargs, type_)
        if _takes_arrays(fn, rule):
            args = [_as_array(reader, value) for value in args]
            kwargs = {name: _as_array(reader, value) for name, value in kwargs.items()}
        if hasattr(rule, "implement"):
            inlined = self._rewritten(reader, rule, args, kwargs, type_)
        elif rule is None and isinstance(fn, Dispatcher) and fn is not listed:
            inlined = self.inline(reader, fn, signature.args, args, kwargs, type_)
        elif rule is None and not isinstance(fn, Dispatcher):
            inlined = self._overload(reader, fn, args, kwargs, type_)
        return inlined or reader.emit(ir.Call(reader.new(type_), fn, args, kwargs))

    def method(
        self,
        reader: StatementReader,
        method: BoundMethod,
        signature: Signature,
        args: list,
        kwargs: dict,
        type_: types.Type,
    ) -> ir.Value:
        """The value of ``obj.attr(*args, **kwargs)``; methods of a jitclass are functions of `obj`."""
        obj, inlined = method.obj, None
        if isinstance(obj.type, types.ClassInstanceType) and method.attr in obj.type.jit_methods:
            fn = obj.type.jit_methods[method.attr]
            inlined = self.inline(reader, fn, (obj.type, *signature.args), [obj, *args], kwargs, type_)
        else:
            rule = self.rule_of(MethodReference(method.attr, obj.type))
            if hasattr(rule, "implement"):
                inlined = self._rewritten(reader, rule, [obj, *args], kwargs, type_)
            elif rule is None and not isinstance(obj.type, (types.DictType, types.Set)):  # those are data
                inlined = self._overload(reader, method.type, [obj, *args], kwargs, type_)
        return inlined or reader.emit(ir.Method(reader.new(type_), method.attr, obj, args, kwargs))

    def _rewritten(
        self, reader: StatementReader, rule: Any, args: list, kwargs: dict, type_: types.Type
    ) -> ir.Value | None:
        """Inline the implementation that a rule names, which takes the rule's parameters in order."""
        bound = {
            name: literal(value.value) if isinstance(value, rules.Default) else value
            for name, value in rule.bind(args, kwargs).items()
        }
        types_ = {name: _bound_type(value) for name, value in bound.items()} | {"out": type_}
        fn = None if isinstance(rule, rules.ArrayRule) and rule.applies(types_) else rule.implement(types_)
        if fn is None:
            return None
        values = [v for value in bound.values() for v in (value if isinstance(value, tuple) else (value,))]
        if isinstance(type_, types.Optional):  # Numba's implementation may return None, this one does not
            type_ = type_.type
        return self.inline(reader, fn, tuple(value.type for value in values), values, {}, type_)

    def _overload(
        self, reader: StatementReader, fn: Any, args: list, kwargs: dict, type_: types.Type
    ) -> ir.Value | None:
        """Inline Numba's own implementation of a function of floats that has no rule."""
        if not any(_holds_floats(value.type) for value in [*args, *kwargs.values()]):
            return None
        argtypes, kwtypes = tuple(map(_precise_type, args)), {name: _precise_type(v) for name, v in kwargs.items()}
        for found in implementations(fn, argtypes, kwtypes):
            if found.python_function.__code__ in [getattr(f, "__code__", None) for f in self.in_progress]:
                continue
            try:
                program = self.program(found.python_function, found.argtypes)
            except (NumbaError, UnsupportedError):
                continue
            if not self._can_be_differentiated(program):
                continue
            return self._insert(reader, program, args, kwargs, type_)
        return None

    def _can_be_differentiated(self, program: ir.Program) -> bool:
        """Whether every function of floats that `program` still calls has a rule."""
        for op in ir.walk(program.body):
            match op:
                case ir.Call():
                    known = isinstance(op.fn, Dispatcher) or self.rule_of(op.fn) is not None
                case ir.Method():
                    known = self.rule_of(MethodReference(op.name, op.obj.type)) is not None
                case _:
                    continue
            if not known and any(_holds_floats(value.type) for value in op.operands):
                return False
        return True

    def inline(
        self, reader: StatementReader, fn: Dispatcher, argtypes: tuple, args: list, kwargs: dict, type_: types.Type
    ) -> ir.Value | None:
        """Put the operations of `fn` here; None for a recursive call."""
        python_function = function_to_read(fn, argtypes)
        if python_function in self.in_progress:
            return None
        program = self.program(python_function, tuple(argtypes), fn)
        return self._insert(reader, program, args, kwargs, type_)

    def program(self, python_function: Any, argtypes: tuple, dispatcher: Dispatcher | None = None) -> ir.Program:
        """The Program of a callee, read once per tuple of argument types."""
        key = python_function, argtypes
        if key not in self._programs:
            self._programs[key] = self.read_python(python_function, argtypes, self, dispatcher)
        return self._programs[key]

    def _insert(
        self, reader: StatementReader, program: ir.Program, args: list, kwargs: dict, type_: types.Type
    ) -> ir.Value:
        def default(position: int, parameter: inspect.Parameter, value: Any) -> ir.Value:
            value = getattr(value, "value", value)  # an `Omitted` carries the default
            wanted = program.params[position].type
            return literal(value, wanted) if is_simple(value) else ir.Global(parameter.name, wanted, value)

        def star(position: int, parameter: inspect.Parameter, values: tuple) -> ir.Value:
            if len(values) == 1 and isinstance(values[0].type, (types.StarArgTuple, types.StarArgUniTuple)):
                return values[0]
            return reader.emit(ir.BuildTuple(reader.new(program.params[position].type, parameter.name), list(values)))

        bound = fold_arguments(program.signature, tuple(args), kwargs, lambda _, __, value: value, default, star)
        values = {param: reader.cast(value, param.type) for param, value in zip(program.params, bound, strict=True)}
        for op in clone_block(program.body, values).ops:
            reader.emit(op)
        return reader.cast(values.get(program.result, program.result), type_)


def _takes_arrays(fn: Any, rule: Any) -> bool:
    """Whether lists of numbers are arrays to a function: its rule knows arrays only."""
    numpys = (getattr(fn, "__module__", None) or "").startswith("numpy")
    return numpys and type(rule) is rules.ArrayRule and not ir.among(fn, ARRAY_OF)


def _as_array(reader: StatementReader, value: ir.Value) -> ir.Value:
    """A list or tuple of numbers as the array that NumPy makes of it; else `value`, as for tuples that are shapes."""
    part, depth = value.type, 0
    while isinstance(part, (types.List, types.ListType, types.UniTuple)):
        part, depth = part.dtype, depth + 1
    leaves = set(part.types) if isinstance(part, types.Tuple) else {part}
    depth += isinstance(part, types.Tuple)
    if not depth or not leaves <= {types.float64, types.int64}:
        return value
    if types.float64 not in leaves and isinstance(value.type, types.BaseTuple):
        return value
    dtype = types.float64 if types.float64 in leaves else types.int64
    return reader.emit(ir.Call(reader.new(types.Array(dtype, depth, "C")), np.asarray, [value], {}))


def _bound_type(value: ir.Value | tuple[ir.Value, ...]) -> types.Type:
    """The type of a rule's parameter; a star parameter is bound to a Python tuple of values."""
    return types.BaseTuple.from_types([v.type for v in value]) if isinstance(value, tuple) else value.type


def _holds_floats(type_: types.Type) -> bool:
    match type_:
        case types.Float() | types.Complex():
            return True
        case types.Buffer() | types.List() | types.ListType():
            return _holds_floats(type_.dtype)
        case types.BaseTuple():
            return any(_holds_floats(item) for item in type_)
    return False


def _precise_type(value: ir.Value) -> types.Type:
    """The type of an argument, as a literal type where it is a constant that can be one."""
    if isinstance(value, ir.Literal) and type(value.value) in (int, str, bool, slice):
        return types.literal(value.value)
    return value.type


def function_to_read(fn: Any, argtypes: tuple) -> Any:
    """The Python function whose body is what calls of `fn` run."""
    readable = getattr(fn, "readable", None)
    return readable(tuple(argtypes)) if callable(readable) else fn.py_func
