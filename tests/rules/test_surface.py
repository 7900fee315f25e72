"""Everything that Numba compiles is covered: a rule, the front end's own, or an implementation that can be read.

What Numba supports is asked of Numba (its typing context), so a new release that supports more fails here.
"""

import cmath
import operator
import types
import weakref

import numpy as np
import pytest
from numba.core import types as nbtypes
from numba.core.extending import _Intrinsic
from numba.core.registry import cpu_target

import jitgrad.rules as rules

# Language constructs: the front end reads these itself
LANGUAGE = {
    operator.getitem,
    operator.setitem,
    operator.delitem,
    operator.iadd,
    operator.iand,
    operator.ifloordiv,
    operator.ilshift,
    operator.imod,
    operator.imul,
    operator.ior,
    operator.ipow,
    operator.irshift,
    operator.isub,
    operator.itruediv,
    operator.ixor,
    operator.imatmul if hasattr(operator, "imatmul") else None,
    bytes,
    dict,
    enumerate,
    filter,
    getattr,
    iter,
    list,
    map,
    next,
    set,
    sorted,
    sum,
    tuple,
    zip,
    np.ndenumerate,
    np.nditer,
    frozenset,
    reversed,
    min,
    max,
    abs,
    all,
    any,
}

# Composed of others: Numba's own implementation is ordinary Python code that the front end inlines
READABLE = {
    cmath.polar,
    cmath.rect,
    np.append,
    np.average,
    np.corrcoef,
    np.cov,
    np.cross,
    np.delete,
    np.ediff1d,
    np.geomspace,
    np.insert,
    np.intersect1d,
    np.kaiser,
    np.logspace,
    np.resize,
    np.roots,
    np.select,
    np.setdiff1d,
    np.setxor1d,
    np.trim_zeros,
    np.union1d,
    np.unwrap,
    np.vander,
    np.polynomial.polynomial.polyadd,
    np.polynomial.polynomial.polydiv,
    np.polynomial.polynomial.polyint,
    np.polynomial.polynomial.polymul,
    np.polynomial.polynomial.polysub,
    np.polynomial.polynomial.polyval,
    np.polynomial.polyutils.as_series,
    np.polynomial.polyutils.trimseq,
    np.random.choice,
    np.random.permutation,
}

MODULES = ("numpy", "math", "cmath", "builtins", "_operator", "operator", "random")


def typing_context():
    """Numba's typing context with all implementations loaded (that is what declares overloads)."""
    cpu_target.target_context.refresh()
    cpu_target.typing_context.refresh()
    return cpu_target.typing_context


def supported():
    """Functions of the standard library and NumPy that Numba types."""
    context = typing_context()
    found = {}
    for key in list(context._globals):
        fn = key() if isinstance(key, weakref.ref) else key
        module = getattr(fn, "__module__", "") or ("numpy" if isinstance(fn, np.ufunc) else "")
        if module.split(".")[0] in MODULES or isinstance(fn, np.ufunc):
            found[id(fn)] = fn
    return sorted(found.values(), key=lambda fn: (str(getattr(fn, "__module__", "")), getattr(fn, "__name__", "")))


def test_every_function_that_numba_supports_is_covered():
    functions = supported()
    assert len(functions) > 400 and np.linalg.svd in functions, "Numba's overloads are not loaded"
    missing = [fn for fn in functions if rules.lookup(fn) is None and fn not in LANGUAGE and fn not in READABLE]
    assert not missing, missing


def test_every_array_attribute_and_method_is_covered():
    context = typing_context()
    names = set()
    for template in context._attributes[nbtypes.Array]:
        names |= {n[8:] for n in dir(template) if n.startswith("resolve_")} | {getattr(template, "_attr", "ctypes")}
    internal = {"ctypes", "__hash__", "_zero_fill"}
    internal.add("weighted_sum")  # tests/frontend/test_overloads.py adds it to Numba, in the same process
    array = nbtypes.Array(nbtypes.float64, 2, "C")
    missing = {n for n in names - internal if not (rules.lookup_method(n, array) or rules.lookup_attribute(n, array))}
    assert not missing


def intrinsics_of(fn):
    """Intrinsics that an overload, or the implementations inside it, refers to by name."""
    found, codes = set(), [fn.__code__]
    while codes:
        code = codes.pop()
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
        for name in code.co_names:
            value = fn.__globals__.get(name)
            if isinstance(value, _Intrinsic):
                found.add(value)
    return found


# Tuple surgery by intrinsics, on integers only
HARMLESS = {"tuple_setitem", "build_full_slice_tuple", "normalize_axis", "_zero_fill_array"}


@pytest.mark.parametrize("fn", sorted(READABLE, key=lambda f: f.__name__), ids=lambda f: f.__name__)
def test_readable_implementations_use_no_intrinsics(fn):
    context = typing_context()
    templates = [t for t in context.resolve_value_type(fn).templates if hasattr(t, "_overload_func")]
    assert templates, "not an overload"
    for template in templates:
        found = intrinsics_of(template._overload_func)
        assert {i._name for i in found} <= HARMLESS, found


def test_no_function_has_two_rules():
    with pytest.raises(ValueError, match="already has the rule"):
        rules.register(rules.ZeroRule(functions=(np.sin,)))


def test_refused_rules_say_why_and_what_to_do():
    for rule in rules.all_rules():
        if isinstance(rule, rules.RefusedRule):
            assert rule.reason and rule.way_out


def test_a_user_rule_is_found_and_a_package_can_bring_rules(monkeypatch):
    from numba import njit

    @njit
    def softplus(x):
        return np.log1p(np.exp(x))

    rule = rules.register(
        rules.ScalarRule(functions=(softplus,), partials=("1.0 / (1.0 + np.exp(-x))",), points=((0.5,),))
    )
    assert rules.lookup(softplus) is rule

    import importlib.metadata

    from jitgrad.rules import registry

    class Point:
        def load(self):
            return [rules.ZeroRule(functions=(test_a_user_rule_is_found_and_a_package_can_bring_rules,))]

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Point()] if group == "jitgrad.rules" else [])
    monkeypatch.setattr(registry, "_loaded", False)
    assert isinstance(rules.lookup(test_a_user_rule_is_found_and_a_package_can_bring_rules), rules.ZeroRule)
