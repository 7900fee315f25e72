"""Functions without a rule are read through Numba's own implementations."""

import numba
import numpy as np
import pytest
from numba import njit
from numba.core import types
from numba.extending import overload, overload_method, register_jitable

from jitgrad.frontend.inline import MethodReference
from jitgrad.frontend.overloads import overload_implementation
from jitgrad.program import ir
from tests.frontend.round_trip import check_round_trip, program_of

X = np.array([3.0, 1.0, 2.0])


def weighted(x, weight=2.0):
    raise NotImplementedError("only for compiled code")


@overload(weighted)
def _weighted(x, weight=2.0):
    if isinstance(x, types.Float):
        return lambda x, weight=2.0: x * weight

    def implementation(x, weight=2.0):
        s = 0.0
        for v in x:
            s += doubled(v) * weight
        return s

    return implementation


@register_jitable
def doubled(v):
    return v + v


@overload_method(types.Array, "weighted_sum")
def _weighted_sum(array, weight):
    return lambda array, weight: weighted(array, weight)


def knows_ufuncs_only(fn):
    return isinstance(fn, np.ufunc) or fn in (len, range)


def calls_of(program):
    return [
        op
        for op in ir.walk(program.body)
        if isinstance(op, (ir.Call, ir.Method)) and getattr(op, "fn", None) is not len
    ]


def uses_overloads(x, s):
    return weighted(x) + weighted(s, 3.0) + weighted(weight=s, x=x)


def test_overloads_are_inlined():
    program = program_of(uses_overloads, X, 2.0, has_rule=knows_ufuncs_only)
    assert calls_of(program) == []


def test_overloaded_methods_are_inlined():
    program = program_of(lambda x: x.weighted_sum(2.5), X, has_rule=knows_ufuncs_only)
    assert calls_of(program) == []


def test_functions_with_a_rule_stay_calls():
    program = program_of(uses_overloads, X, 2.0, has_rule=lambda fn: fn is weighted or knows_ufuncs_only(fn))
    assert [call.fn for call in calls_of(program)] == [weighted] * 3


def test_methods_with_a_rule_stay_methods():
    def has_rule(fn):
        return isinstance(fn, MethodReference) and fn.name == "weighted_sum"

    (call,) = calls_of(program_of(lambda x: x.weighted_sum(2.5), X, has_rule=has_rule))
    assert isinstance(call, ir.Method)


def test_what_calls_unknown_functions_of_floats_stays_a_call():
    """An error then names the user's function, not one inside Numba."""

    def has_rule(fn):
        return knows_ufuncs_only(fn)

    (call,) = calls_of(program_of(lambda x: np.linalg.cond(x), np.eye(2), has_rule=has_rule))
    assert call.fn is np.linalg.cond


@pytest.mark.parametrize(
    "fn", [lambda x: np.vander(x, 3), lambda x: np.geomspace(1.0, x[0], 3), lambda x: np.ediff1d(x)]
)
def test_numpy_functions_compute_the_same(fn):
    check_round_trip(fn, X.copy())


def test_implementation_is_chosen_by_types():
    scalar = overload_implementation(weighted, (numba.float64,), {"weight": numba.float64})
    array = overload_implementation(weighted, (numba.float64[::1],), {})
    assert scalar(2.0, 3.0) == 6.0
    assert array.__name__ == "implementation"
    assert overload_implementation(np.sin, (numba.float64,), {}) is None
    assert overload_implementation(njit(lambda x: x), (numba.float64,), {}) is None
