"""Derivative rules: what the transforms know about functions that they do not look into.

One file per domain; `registry` has the classes and the table. Importing the package fills the table.
"""

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

from jitgrad.rules import allocation, decompositions, elementwise, indexing, joining, linalg, products, random, reductions, shapes, special  # isort: skip  # noqa: F401

__all__ = [
    "AllocRule", "ArrayRule", "Choose", "Default", "MutatingRule", "RefusedRule", "RewriteRule", "Rule", "ScalarRule", "ZeroRule",
    "all_rules", "fill", "kernels_namespace", "lookup", "lookup_attribute", "lookup_method", "register",
]  # fmt: skip
