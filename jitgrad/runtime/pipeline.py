"""How helpers are compiled: calls of small functions become a few instructions of the calling code.

`runtime.direct` has the instructions. `helper` is the decorator of nopython helpers; derivatives are compiled with
`WriteInPlace` as well (`backend.dispatcher`). What the caller's own functions compile to is left alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.registry import cpu_target
from numba.core.targetconfig import ConfigStack
from numba.core.typing.templates import signature
from numba.core.untyped_passes import LiteralPropagationSubPipelinePass
from numba.extending import models, register_model


class DirectFunction(types.Callable, types.Opaque):
    """The type of a function that is written in place for some types of arguments, and called for all others."""

    def __init__(self, function: Any, write: Callable):
        self._function = function
        self._write = write
        self._arity = _arity(write)
        self._written: dict[tuple[types.Type, ...], Callable] = {}
        super().__init__(f"Direct({function!r})")

    @property
    def _ordinary(self) -> Any:
        return cpu_target.typing_context.resolve_value_type(self._function)

    def get_call_type(self, context, args, kws):
        plain = tuple(types.unliteral(a) for a in args)
        if not kws and len(plain) in self._arity:
            result, write = self._write(*plain)
            if result is not None:
                self._written.setdefault(plain, write)
                return signature(result, *plain)
        return self._ordinary.get_call_type(context, args, kws)

    def get_call_signatures(self):
        return self._ordinary.get_call_signatures()

    def get_impl_key(self, sig):
        write = self._written.get(sig.args)
        if write is None:
            return self._ordinary.get_impl_key(sig)
        key = (DirectFunction, self._function, sig.args)
        if key not in cpu_target.target_context._defns:
            cpu_target.target_context.insert_func_defn([(write, key, sig.args)])
        return key


register_model(DirectFunction)(models.OpaqueModel)


def _arity(write: Callable) -> range:
    """How many arguments it takes."""
    parameters = inspect.signature(write).parameters.values()
    most = 1000 if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters)
    return range(sum(p.default is p.empty and p.kind is not p.VAR_POSITIONAL for p in parameters), most + 1)


class Direct:
    """Stands for a function among the globals of code that is compiled."""

    def __init__(self, function: Any, write: Callable):
        self._numba_type_ = DirectFunction(function, write)


@functools.cache
def _directs() -> dict[Any, Direct]:
    """What stands for each function of the table."""
    from jitgrad.runtime.direct import DIRECT  # where code is compiled, not where it comes from the disk cache

    return {function: Direct(function, write) for function, write in DIRECT.items()}


def keep_error_model() -> None:
    """Let the functions that generated code calls not inherit its error model, while it is compiled or typed.

    They inherit what is on the stack. The primal's callees would lose their ZeroDivisionError, and as flags enter
    symbols, a recursive callee would not find its other signatures.
    """
    ConfigStack.top_or_none().discard("error_model")


@register_pass(mutates_CFG=False, analysis_only=False)
class WriteInPlace(FunctionPass):
    """Let calls of the functions in `runtime.direct` be written in place."""

    _name = "jitgrad_write_in_place"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        from jitgrad.runtime.direct import EXACT, METHODS

        func_ir = state.func_ir
        assigns = [inst for block in func_ir.blocks.values() for inst in block.find_insts(ir.Assign)]
        calls = {a.value.func.name: a.value for a in assigns if isinstance(a.value, ir.Expr) and a.value.op == "call"}
        for assign in assigns:
            value, call = assign.value, calls.get(assign.target.name)
            if call is None or not assign.target.is_temp:  # what is on CPython's stack has no other use
                continue
            method = isinstance(value, ir.Expr) and value.op == "getattr" and METHODS.get(value.attr)
            function = _constant(value, func_ir)
            if function is None and method and not (call.args or call.kws or call.vararg):
                function, call.args = method, [value.value]
            direct = None if state.flags.fastmath and function in EXACT else _directs().get(function)
            if direct is not None:
                assign.value = ir.Global(function.__name__, direct, assign.loc)
                func_ir._definitions[assign.target.name] = [assign.value]
        return True


def _constant(value: Any, func_ir: Any) -> Any:
    """The function that a global or an attribute of NumPy is; else None."""
    found = None
    if isinstance(value, (ir.Global, ir.FreeVar)):
        found = value.value
    elif isinstance(value, ir.Expr) and value.op == "getattr":
        base = func_ir._definitions[value.value.name]
        if len(base) == 1 and isinstance(base[0], (ir.Global, ir.FreeVar)) and base[0].value is np:
            found = getattr(np, value.attr, None)
    return found if callable(found) and getattr(found, "__hash__", None) is not None else None


class HelperPipeline(CompilerBase):
    """Numba's compiler for our own helpers, which call each other."""

    def define_pipelines(self):
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.add_pass_after(WriteInPlace, LiteralPropagationSubPipelinePass)
        manager.finalize()
        return [manager]


helper = numba.njit(error_model="numpy", pipeline_class=HelperPipeline)
