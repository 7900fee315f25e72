"""Derivative rules: what the transforms know about functions that they do not look into.

One file per domain; `kinds` has the classes, `registry` the table. Importing the package fills the table.
"""

from importlib import import_module

from jitgrad.rules.registry import (
    AllocRule,
    ArrayRule,
    Choose,
    Default,
    MutatingRule,
    RefusedRule,
    RewriteRule,
    Rule,
    ScalarRule,
    ZeroRule,
    all_rules,
    fill,
    lookup,
    lookup_attribute,
    lookup_method,
    register,
)
from jitgrad.runtime.kernels import namespace as kernels_namespace

_DOMAINS = (
    "arithmetic", "elementwise", "special", "reductions", "statistics", "shapes", "joining", "allocation", "indexing",
    "interpolation", "products", "linalg", "decompositions", "singular", "random", "fastmath",
)  # fmt: skip
for _domain in _DOMAINS:
    import_module(f"{__name__}.{_domain}")

__all__ = [
    "AllocRule",
    "ArrayRule",
    "Choose",
    "Default",
    "MutatingRule",
    "RefusedRule",
    "RewriteRule",
    "Rule",
    "ScalarRule",
    "ZeroRule",
    "all_rules",
    "fill",
    "kernels_namespace",
    "lookup",
    "lookup_attribute",
    "lookup_method",
    "register",
]
