"""Calls: compiled callees are read and put in place of the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import Signature, fold_arguments

from jitgrad.frontend.reader import BoundMethod, StatementReader, is_simple, literal
from jitgrad.program import ir
from jitgrad.program.clone import clone_block


class Inliner:
    """Decides for every call whether its callee is read.

    Parameters
    ----------
    read_python : callable
        ``read_python(python_function, argtypes, inliner) -> Program``.
    has_rule : callable
        ``has_rule(fn) -> bool``: whether calls of `fn` are differentiated as a whole.
    """

    def __init__(self, read_python: Callable, has_rule: Callable[[Any], bool]):
        self.read_python = read_python
        self.has_rule = has_rule
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
        if isinstance(fn, Dispatcher) and not self.has_rule(fn):
            inlined = self.inline(reader, fn, signature.args, args, kwargs, type_)
            if inlined is not None:
                return inlined
        return reader.emit(ir.Call(reader.new(type_), fn, args, kwargs))

    def method(
        self, reader: StatementReader, method: BoundMethod, signature: Signature, args: list, kwargs: dict, type_: types.Type
    ) -> ir.Value:
        """The value of ``obj.attr(*args, **kwargs)``; methods of a jitclass are functions of `obj`."""
        obj = method.obj
        if isinstance(obj.type, types.ClassInstanceType) and method.attr in obj.type.jit_methods:
            fn = obj.type.jit_methods[method.attr]
            inlined = self.inline(reader, fn, (obj.type, *signature.args), [obj, *args], kwargs, type_)
            if inlined is not None:
                return inlined
        return reader.emit(ir.Method(reader.new(type_), method.attr, obj, args, kwargs))

    def inline(
        self, reader: StatementReader, fn: Dispatcher, argtypes: tuple, args: list, kwargs: dict, type_: types.Type
    ) -> ir.Value | None:
        """Put the operations of `fn` here; None for a recursive call."""
        python_function = function_to_read(fn, argtypes)
        if python_function in self.in_progress:
            return None
        key = python_function, tuple(argtypes)
        if key not in self._programs:
            self._programs[key] = self.read_python(python_function, tuple(argtypes), self)
        return self._insert(reader, self._programs[key], args, kwargs, type_)

    def _insert(self, reader: StatementReader, program: ir.Program, args: list, kwargs: dict, type_: types.Type) -> ir.Value:
        def default(position: int, parameter: inspect.Parameter, value: Any) -> ir.Value:
            value = getattr(value, "value", value)  # an `Omitted` carries the default
            wanted = program.params[position].type
            return literal(value, wanted) if is_simple(value) else ir.Global(parameter.name, wanted, value)

        def star(position: int, parameter: inspect.Parameter, values: tuple) -> ir.Value:
            if len(values) == 1 and isinstance(values[0].type, (types.StarArgTuple, types.StarArgUniTuple)):
                return values[0]
            return reader.emit(ir.BuildTuple(reader.new(program.params[position].type, parameter.name), list(values)))

        bound = fold_arguments(program.signature, tuple(args), kwargs, lambda _, __, value: value, default, star)
        values = {param: reader.cast(value, param.type) for param, value in zip(program.params, bound)}
        for op in clone_block(program.body, values).ops:
            reader.emit(op)
        return reader.cast(values.get(program.result, program.result), type_)


def function_to_read(fn: Any, argtypes: tuple) -> Any:
    """The Python function whose body is what calls of `fn` run."""
    generated = getattr(fn, "generated", None)
    return generated(tuple(argtypes)) if callable(generated) else fn.py_func
