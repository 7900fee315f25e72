"""`read`: from a function and argument types to its Program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import types
from numba.core.dispatcher import Dispatcher

from jitgrad.frontend.inline import Inliner, function_to_read
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
        ``has_rule(fn)``: whether calls of `fn` are kept as calls. By default those with a derivative
        rule are.

    Returns
    -------
    Program
    """
    python_function, given = fn, {}
    if isinstance(fn, Dispatcher):
        python_function = function_to_read(fn, tuple(argtypes))
        given = {name: fn.targetoptions[name] for name in OPTIONS if name in fn.targetoptions}
    program = _read_python(python_function, tuple(argtypes), Inliner(_read_python, has_rule or _has_rule))
    program.options = given | (options or {})
    return program


def _read_python(python_function: Any, argtypes: tuple[types.Type, ...], inliner: Inliner) -> ir.Program:
    inliner.in_progress.append(python_function)
    try:
        program = build(typed_function(python_function, argtypes), inliner)
    finally:
        inliner.in_progress.pop()
    simplify(program)
    return program


def _has_rule(fn: Any) -> bool:
    from jitgrad import rules  # rules are Programs' users: imported late to keep the rooms' order

    return rules.lookup(fn) is not None
