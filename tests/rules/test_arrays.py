"""Every array rule at its own cases: tangents against differences, pullbacks against tangents, float32."""

import numpy as np
import pytest

import jitgrad.rules as rules
from tests.rules.harness import Case, is_floating, leaves, like, noise

# The primal of some cases multiplies strided arrays on purpose,
# and lists reach compiled code as reflected lists.
pytestmark = [
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPerformanceWarning"),
    pytest.mark.filterwarnings("ignore::numba.core.errors.NumbaPendingDeprecationWarning"),
]

ROWS = [r for r in rules.all_rules() if isinstance(r, rules.ArrayRule) and r.push]


def ids(rule):
    return rule.name


# Vectors are unique only up to their sign, which differs between precisions
UP_TO_SIGN = (np.linalg.eig, np.linalg.eigh, np.linalg.svd, np.linalg.qr)


def case_of(rule, args):
    return Case(rule, args, method=None if rule.functions else rule.methods[0])


CASES = [pytest.param(r, k, id=f"{r.name}-{k}") for r in ROWS for k in range(len(r.cases))]


@pytest.mark.parametrize("rule, k", CASES)
def test_case(rule, k):
    rng = np.random.default_rng(k)
    case = case_of(rule, rule.cases[k](rng))
    assert case.active, "a case without an active argument tests nothing"
    assert rule.applies(case.types)
    case.check(rng)


@pytest.mark.parametrize("rule", ROWS, ids=ids)
def test_float32_stays_float32(rule):
    if not rule.cases:
        pytest.skip("tested in test_conventions")
    args = rule.cases[0](np.random.default_rng(0))
    single = tuple(
        like(a, lambda v: v.astype(np.complex64 if v.dtype.kind == "c" else np.float32))
        if isinstance(a, (np.ndarray, tuple)) and is_floating(a)
        else np.float32(a)
        if is_floating(a)
        else a
        for a in args
    )
    if not any(isinstance(a, np.ndarray) or isinstance(a, tuple) for a in single if is_floating(a)):
        pytest.skip("scalars only")
    case, wide = case_of(rule, single), case_of(rule, args)
    rng = np.random.default_rng(1)
    ct = noise(rng, wide.out)
    narrow = like(ct, lambda v: v)
    narrow = (
        tuple(np.asarray(c).astype(o.dtype) for c, o in zip(leaves(ct), leaves(case.out), strict=True))
        if isinstance(ct, tuple)
        else np.asarray(ct).astype(np.asarray(case.out).dtype)[()]
    )
    got, want = case.pulls(narrow), wide.pulls(ct)
    for name in case.active:
        for g, w, v in zip(leaves(got[name]), leaves(want[name]), leaves(case.values[name]), strict=True):
            if v.ndim:
                assert g.dtype == v.dtype, (rule, name, g.dtype)
            if not set(rule.functions) & set(UP_TO_SIGN):
                np.testing.assert_allclose(g, w, rtol=2e-3, atol=2e-4)
