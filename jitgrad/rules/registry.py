"""The table that finds the rule of a function, a method or an attribute.

`lookup` and its companions answer "which rule stands for this function"; `register` adds one.
Packages add rules through the entry point group ``jitgrad.rules``: each entry point is a function of
no arguments that calls `register`, or a list of rules.
"""

from __future__ import annotations

from typing import Any

from numba.core import types as nbtypes

from jitgrad.rules.kinds import (
    AllocRule,
    ArrayRule,
    Choose,
    Default,
    Factor,
    MutatingRule,
    RefusedRule,
    Regular,
    RewriteRule,
    Rule,
    ScalarRule,
    ZeroRule,
    fill,
    function_name,
)

__all__ = [
    "ENTRY_POINT_GROUP",
    "AllocRule",
    "ArrayRule",
    "Choose",
    "Default",
    "MutatingRule",
    "RefusedRule",
    "Factor",
    "Regular",
    "RewriteRule",
    "Rule",
    "ScalarRule",
    "ZeroRule",
    "all_rules",
    "fill",
    "function_name",
    "kind_of",
    "lookup",
    "lookup_attribute",
    "lookup_method",
    "register",
]

ENTRY_POINT_GROUP = "jitgrad.rules"

_functions: dict[Any, Rule] = {}
_methods: dict[tuple[str, str], Rule] = {}
_attributes: dict[tuple[str, str], Rule] = {}
_rules: list[Rule] = []
_loaded = False


def register(rule: Rule, *, replace_existing: bool = False) -> Rule:
    """Add a rule to the table.

    Parameters
    ----------
    rule : Rule
    replace_existing : bool
        Allow it to replace the rule a function already has; otherwise that is an error.
    """
    for fn in rule.functions:
        if fn in _functions and not replace_existing:
            raise ValueError(f"{function_name(fn)} already has the rule {_functions[fn]!r}")
        _functions[fn] = rule
    for table, entries in ((_methods, rule.methods), (_attributes, rule.attributes)):
        for entry in entries:
            kind, _, name = entry.rpartition(".")
            key = (kind or "array", name)
            if key in table and not replace_existing:
                raise ValueError(f"{'.'.join(key)} already has the rule {table[key]!r}")
            table[key] = rule
    _rules.append(rule)
    return rule


def all_rules() -> list[Rule]:
    """Every rule in the table, in order of registration."""
    _load()
    return [r for r in _rules if any(v is r for t in (_functions, _methods, _attributes) for v in t.values())]


def _load() -> None:
    """Load the rules of other packages, once."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINT_GROUP):
        found = point.load()
        for rule in found() or () if callable(found) else found:
            register(rule)


def _get(table: dict[Any, Rule], key: Any) -> Rule | None:
    try:
        return table.get(key)
    except TypeError:  # unhashable: cannot be in the table
        return None


def lookup(fn: Any) -> Rule | None:
    """The rule of a function object, or None. A dispatcher is found by itself or its function."""
    own = getattr(fn, "__jitgrad_rule__", None)  # custom_jvp, custom_vjp, stop_gradient carry theirs
    if own is not None:
        return own()
    _load()
    rule = _get(_functions, fn)
    if rule is None and hasattr(fn, "py_func"):
        rule = _get(_functions, fn.py_func)
    return rule


def kind_of(obj_type: Any) -> str:
    """The kind of object that method and attribute rules are filed under."""
    if isinstance(obj_type, nbtypes.Array):
        return "array"
    if isinstance(obj_type, (nbtypes.Number, nbtypes.Boolean)):
        return "number"
    if isinstance(obj_type, (nbtypes.List, nbtypes.ListType)):
        return "list"
    if isinstance(obj_type, nbtypes.NumPyRandomGeneratorType):
        return "generator"
    return type(obj_type).__name__


def lookup_method(name: str, obj_type: Any) -> Rule | None:
    """The rule of a method of an object of this Numba type, or None."""
    _load()
    return _methods.get((kind_of(obj_type), name))


def lookup_attribute(name: str, obj_type: Any) -> Rule | None:
    """The rule of an attribute (``.T``, ``.real``) of an object of this Numba type, or None."""
    _load()
    return _attributes.get((kind_of(obj_type), name))
