"""Functions that are refused on purpose where they meet a value to differentiate."""

from __future__ import annotations

from jitgrad import rules
from jitgrad.analysis import effects, sharing
from jitgrad.analysis.activity import Activity
from jitgrad.errors import NoRuleError, UnsupportedError, where
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
    UnsupportedError
        Where memory changes under a result that is taken for a copy, or that sees it as another type.
    """
    for op, store in sharing.overwritten(program, activity):
        raise UnsupportedError(
            f"{where(store.loc)}: this writes into memory that the result of {_name(op)} {_line(op)} shares, "
            "which derivatives take for a copy; copy the result where it is made"
        )
    for op, store in sharing.reinterpreted(program):
        raise UnsupportedError(
            f"{where(store.loc)}: this may write into memory that {_name(op)} {_line(op)} reinterprets, "
            "which derivatives do not follow; copy the array first"
        )
    for op in ir.walk(program.body):
        if not isinstance(op, (ir.Call, ir.Method)):
            continue
        rule = effects.rule_of(op)
        if ir.output(op) is not None:
            reason, way_out = "it writes its result into an argument", "write out[:] = ... (of a copy, if they overlap)"
        elif isinstance(rule, rules.RefusedRule):
            reason, way_out = rule.reason, rule.way_out
        elif isinstance(rule, rules.ZeroRule) and rule.active_reason:
            reason, way_out = rule.active_reason, rule.active_way_out
        else:
            continue
        if any(activity.varied(value) for value in op.operands):
            raise NoRuleError(f"{where(op.loc)}: {_name(op)} cannot be differentiated: {reason}; {way_out}")


def _line(op: ir.Op) -> str:
    return f"in line {op.loc.line}" if op.loc is not None else "before"


def _name(op: ir.Op) -> str:
    assert isinstance(op, (ir.Call, ir.Method))
    return f"the method {op.name}" if isinstance(op, ir.Method) else function_name(op.fn)
