"""`read`: from a function and argument types to its Program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.dispatcher import Dispatcher

from jitgrad import rules
from jitgrad.frontend.fuse import fuse
from jitgrad.frontend.inline import Inliner, MethodReference, function_to_read
from jitgrad.frontend.simplify import simplify
from jitgrad.frontend.ssa import build
from jitgrad.frontend.typed import typed_function
from jitgrad.program import ir

OPTIONS = ("fastmath", "boundscheck", "error_model", "parallel", "nogil")


def read(
    fn: Any,
    argtypes: tuple[types.Type, ...],
    *,
    options: dict[str, Any] | None = None,
    has_rule: Callable[[Any], bool] | None = None,
    forward: bool = False,
) -> ir.Program:
    """The Program of `fn` for `argtypes`.

    Parameters
    ----------
    fn : function or dispatcher
    argtypes : tuple of Type
        One per parameter, folded as Numba does: `Omitted` where a default is taken, one tuple type
        for ``*args``.
    options : dict, optional
        Target options that override those of the dispatcher.
    has_rule : callable, optional
        ``has_rule(fn)``: whether calls of `fn` (a function or a `MethodReference`) are kept as calls.
        By default those with a derivative rule are.
    forward : bool
        For forward mode, which looks into functions whose rule is for the backward sweep only.

    Returns
    -------
    Program
    """
    python_function, given, dispatcher = fn, {}, None
    if isinstance(fn, Dispatcher):
        dispatcher = fn
        python_function = function_to_read(fn, tuple(argtypes))
        given = {name: fn.targetoptions[name] for name in OPTIONS if name in fn.targetoptions}
    find = _rule_in_forward_mode if forward else rule_of
    inliner = Inliner(_read_python, find if has_rule is None else lambda fn: has_rule(fn) or None)
    program = _read_python(python_function, tuple(argtypes), inliner, dispatcher)
    fuse(program, inliner)
    program.options = given | (options or {})
    return program


def _read_python(
    python_function: Any, argtypes: tuple[types.Type, ...], inliner: Inliner, dispatcher: Dispatcher | None = None
) -> ir.Program:
    inliner.in_progress.append(python_function)
    try:
        program = build(typed_function(python_function, argtypes, dispatcher), inliner)
    finally:
        inliner.in_progress.pop()
    simplify(program)
    if dispatcher is None or not dispatcher.targetoptions.get("parallel"):
        for op in ir.walk(program.body):  # without the option `prange` is `range`, also where the function is inlined
            if isinstance(op, ir.Loop):
                op.parallel = False
    return program


def rule_of(fn: Any) -> Any:
    """The derivative rule of a function or method, or None."""
    if isinstance(fn, MethodReference):
        return rules.lookup_method(fn.name, fn.obj_type)
    return rules.lookup(fn)


def _rule_in_forward_mode(fn: Any) -> Any:
    rule = rule_of(fn)
    return None if getattr(rule, "reverse_only", False) else rule
