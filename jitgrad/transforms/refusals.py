"""Functions that are refused on purpose where they meet a value to differentiate."""

from __future__ import annotations

import numpy as np

from jitgrad import rules
from jitgrad.analysis import effects
from jitgrad.analysis.activity import Activity
from jitgrad.errors import NoRuleError, where
from jitgrad.program import ir
from jitgrad.rules.registry import function_name


def overlapping(one: str, other: str, function: str) -> str:
    """What is said where two arguments of a function are the same memory, and it writes into it."""
    return f"{one} and {other} of {function} overlap in memory, and it writes into one; pass a copy"


def refuse(program: ir.Program, activity: Activity) -> None:
    """Raise for the first call whose rule refuses an operand that the inputs influence.

    Raises
    ------
    NoRuleError
        For a `RefusedRule`, and for a `ZeroRule` that holds only while its operands are constants (draws
        by rejection, whose parameter changes which draws are accepted).
    """
    for op in ir.walk(program.body):
        if not isinstance(op, (ir.Call, ir.Method)):
            continue
        rule = effects.rule_of(op)
        if isinstance(op, ir.Call) and isinstance(op.fn, np.ufunc) and len(op.args) > op.fn.nin:
            reason, way_out = "its output may overlap an input", "write out[:] = ... of a copy"
        elif isinstance(rule, rules.RefusedRule):
            reason, way_out = rule.reason, rule.way_out
        elif isinstance(rule, rules.ZeroRule) and rule.active_reason:
            reason, way_out = rule.active_reason, rule.active_way_out
        else:
            continue
        if any(activity.varied(value) for value in op.operands):
            name = f"the method {op.name}" if isinstance(op, ir.Method) else function_name(op.fn)
            raise NoRuleError(f"{where(op.loc)}: {name} cannot be differentiated: {reason}; {way_out}")
