"""Numba's typed intermediate representation of one function, for one tuple of argument types.

The only module that runs compiler passes. Numba desugars comprehensions, unpacking and closures,
prunes dead branches and infers types; we stop before anything that only serves code generation
(array expressions, overload inlining, parfors).
"""

from __future__ import annotations

import contextlib
import inspect
import warnings
from dataclasses import dataclass
from typing import Any

from numba.core import compiler, compiler_lock, ir, ir_utils, types, untyped_passes, withcontexts
from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
from numba.core.cpu import ParallelOptions
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaWarning
from numba.core.registry import cpu_target
from numba.core.typed_passes import NopythonTypeInference

from jitgrad.errors import UnsupportedError, where
from jitgrad.frontend.try_blocks import drop_cleanup_handlers
from jitgrad.frontend.while_tests import merge_while_tests
from jitgrad.program.ir import Location
from jitgrad.runtime.pipeline import keep_error_model


@dataclass
class TypedFunction:
    """Numba's IR of a function with the type of every variable.

    Attributes
    ----------
    blocks : dict of int to numba.core.ir.Block
    typemap : dict of str to Type
        Type of every (versioned) variable.
    calltypes : dict of numba.core.ir.Expr to Signature
    return_type : Type
    argtypes : tuple of Type
    signature : inspect.Signature
        The Python signature, with defaults.
    context : numba.core.typing.Context
    python_function : function
    """

    blocks: dict[int, ir.Block]
    typemap: dict[str, types.Type]
    calltypes: dict[Any, Any]
    return_type: types.Type
    argtypes: tuple[types.Type, ...]
    signature: inspect.Signature
    context: Any
    python_function: Any

    def location(self, loc: ir.Loc) -> Location:
        """Our form of a Numba location."""
        return Location(str(loc.filename), loc.line)


@register_pass(mutates_CFG=True, analysis_only=False)
class RejectUnsupportedBlocks(FunctionPass):
    """Refuse object-mode blocks and exception handlers, naming the line."""

    _name = "jitgrad_reject_unsupported_blocks"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        func_ir = state.func_ir
        for block in func_ir.blocks.values():
            for statement in block.body:
                if isinstance(statement, ir.EnterWith):
                    raise _unsupported_with(func_ir, statement)
        handler = drop_cleanup_handlers(func_ir.blocks)
        if handler is not None:
            raise _unsupported(handler, "`try` blocks cannot be differentiated", "test the condition with `if`")
        func_ir._definitions = ir_utils.build_definitions(func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class MergeWhileTests(FunctionPass):
    """Undo the duplication of `while` tests by CPython's compiler where it makes loops nest."""

    _name = "jitgrad_merge_while_tests"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        return merge_while_tests(state.func_ir.blocks)


@register_pass(mutates_CFG=False, analysis_only=False)
class AdoptIdentity(FunctionPass):
    """Let the function be the one its dispatcher is known by: inference finds recursion by comparing them.

    They differ for derivatives, which run generated code.
    """

    _name = "jitgrad_adopt_identity"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        dispatcher = state.pipeline.dispatcher
        if dispatcher is not None:
            state.func_ir.func_id.func = dispatcher.py_func
        return True


@register_pass(mutates_CFG=False, analysis_only=True)
class StopHere(FunctionPass):
    """End the pipeline and hand over its state."""

    _name = "jitgrad_stop_here"

    def __init__(self):
        FunctionPass.__init__(self)

    def run_pass(self, state):
        raise compiler._EarlyPipelineCompletion(state)


# `DeadBranchPrune` must not run again after `ReconstructSSA`: it would fold the first test of a
# loop, whose variables are constants only on the first iteration.
PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    RejectUnsupportedBlocks,
    untyped_passes.InlineClosureLikes,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    MergeWhileTests,
    untyped_passes.ReconstructSSA,
    untyped_passes.LiteralPropagationSubPipelinePass,
    AdoptIdentity,
    NopythonTypeInference,
    StopHere,
)


class TypingPipeline(compiler.CompilerBase):
    """Numba's front half, up to type inference."""

    dispatcher: Dispatcher | None = None

    def define_pipelines(self):
        if self.dispatcher is not None and self.state.func_id.func is not self.dispatcher.py_func:
            keep_error_model()
        manager = PassManager("jitgrad")
        for compiler_pass in PASSES:
            manager.add_pass(compiler_pass, compiler_pass.__name__)
        manager.finalize()
        return [manager]


def flags_of(dispatcher: Dispatcher) -> compiler.Flags:
    """The flags that `dispatcher` compiles with.

    Numba compiles the implementations of NumPy functions once per set of flags, already while it
    infers types: with the primal's flags inference reuses what compiling the primal has made.
    """
    compiling = dispatcher._compiler
    flags = compiler.Flags()
    compiling.targetdescr.options.parse_as_flags(flags, compiling.targetoptions)
    flags = compiling._customize_flags(flags)
    flags.auto_parallel = ParallelOptions(False)  # comprehensions would become parallel loops
    return flags


def typed_function(
    python_function: Any, argtypes: tuple[types.Type, ...], dispatcher: Dispatcher | None = None
) -> TypedFunction:
    """Type `python_function` for `argtypes` (folded: one per parameter).

    Parameters
    ----------
    dispatcher : Dispatcher, optional
        The dispatcher whose calls run `python_function`.
    """
    if inspect.isgeneratorfunction(python_function):
        code = python_function.__code__
        loc = ir.Loc(code.co_filename, code.co_firstlineno)
        raise _unsupported(loc, "generator functions cannot be differentiated", "return a list or an array")
    typing_context, target_context = cpu_target.typing_context, cpu_target.target_context
    if dispatcher is not None:
        flags = flags_of(dispatcher)
        compiling = dispatcher._compiling_counter  # lets inference see that a call of it is recursive
    else:
        flags = compiler.Flags()
        flags.nrt = True
        compiling = contextlib.nullcontext()
    with compiler_lock.global_compiler_lock, warnings.catch_warnings(), compiling:
        warnings.simplefilter("ignore", NumbaWarning)  # the primal's own compilation warns
        typing_context.refresh()
        target_context.refresh()
        pipeline = TypingPipeline(typing_context, target_context, None, tuple(argtypes), None, flags, {})
        pipeline.dispatcher = dispatcher
        state = pipeline.compile_extra(python_function)
    return TypedFunction(
        blocks=state.func_ir.blocks,
        typemap=state.typemap,
        calltypes=state.calltypes,
        return_type=state.return_type,
        argtypes=tuple(argtypes),
        signature=inspect.signature(python_function),
        context=typing_context,
        python_function=python_function,
    )


def _unsupported_with(func_ir: ir.FunctionIR, statement: ir.EnterWith) -> UnsupportedError:
    """The error for a ``with`` block."""
    manager = ir_utils.guard(ir_utils.get_definition, func_ir, statement.contextmanager)
    if isinstance(manager, ir.Expr) and manager.op == "call":
        manager = ir_utils.guard(ir_utils.get_definition, func_ir, manager.func)
    if isinstance(manager, ir.Global) and isinstance(manager.value, type(withcontexts.objmode_context)):
        return _unsupported(statement.loc, "`with objmode` runs Python code, which cannot be differentiated")
    return _unsupported(statement.loc, "this `with` block cannot be differentiated")


def _unsupported(loc: ir.Loc, what: str, instead: str = "") -> UnsupportedError:
    way_out = "move the block into a function of its own with a custom derivative (custom_jvp or custom_vjp)"
    place = where(Location(str(loc.filename), loc.line))
    return UnsupportedError(f"{place}: {what}; {instead + ', or ' if instead else ''}{way_out}")
