"""Every case of the corpus, one test for each operation.

pytest tests/corpus -k kalman_trend_nll          one case
pytest tests/corpus -k "kalman_trend_nll-grad"   one operation of it
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import jitgrad
from jitgrad.errors import JitgradError
from tests.corpus import operations
from tests.corpus.corpuslib import Case, flat, result
from tests.corpus.judging import acceptable, deviation, finite_scale
from tests.corpus.loader import load

pytestmark = pytest.mark.filterwarnings("ignore")


# A Jacobian of one row whose function returns a tuple or an array, so `grad` does not apply.
VECTOR_OF_ONE = {"kepler_newton", "viterbi_score"}


def has_scalar_result(case: Case) -> bool:
    # from the source of truth, the reference, not by running the case: collection must stay fast
    return case.ref_jac.shape[0] == 1 and not case.outs and case.name not in VECTOR_OF_ONE


def applicable(case: Case) -> list[str]:
    names = ["value"] if case.ref_value is not None else []
    if has_scalar_result(case):
        names.append("grad")
    names.append("vjp")
    if case.kind == "case":
        names.append("jvp")
    names.append("jacobian")
    if case.ref_hess is not None:
        names.append("hessian")
    return names


def expect(case: Case, operation: str):
    """A call of the operation and the result it should have."""
    n_out, n_in = case.ref_jac.shape
    random = np.random.RandomState(0)
    cotangent, tangent = random.uniform(0.5, 1.5, n_out), random.uniform(0.5, 1.5, n_in)
    if case.kind == "edge":
        cotangent = np.ones(n_out)
    args = case.args()
    if operation == "grad":
        return operations.grad(jitgrad, case, args), case.ref_jac[0]
    if operation == "vjp":
        return operations.vjp(jitgrad, case, args, cotangent), cotangent @ case.ref_jac
    if operation == "jvp":
        return operations.jvp(jitgrad, case, args, tangent), case.ref_jac @ tangent
    if operation == "jacobian":
        return operations.jacobian(jitgrad, case, args), case.ref_jac
    return operations.hessian(jitgrad, case, args), case.ref_hess


def plan() -> list:
    return [
        pytest.param(case, operation, id=f"{case.name}-{operation}")
        for case in load("case", "edge")
        for operation in applicable(case)
    ]


@pytest.mark.parametrize("case, operation", plan())
def test_operation(case: Case, operation: str):
    if operation == "value":
        rtol = 1e-4 if "float32" in case.tags else 1e-9
        problem = deviation(flat(result(case, case.args())), case.ref_value, rtol)
        assert problem is None, problem
        return
    got, want = expect(case, operation)
    scale = finite_scale(case.ref_jac) if operation in ("vjp", "jvp") else None
    problem = deviation(got, want, case.rtol, scale)
    if problem and case.kind == "edge" and acceptable(case, got, want):
        return
    assert problem is None, problem


@pytest.mark.parametrize("case", load("error"), ids=lambda case: case.name)
def test_error(case: Case):
    call = getattr(operations, case.op)
    extra = (case.bad,) if case.op in ("vjp", "jvp") else ()
    try:
        got = call(jitgrad, case, case.args(), *extra)
    except JitgradError as error:  # never a bare Numba traceback
        missing = [w for w in case.words if not re.search(w, str(error), re.IGNORECASE)]
        assert not missing, f"{type(error).__name__} lacks {missing}: {error}"
        return
    # a case that could as well be supported says which result is right
    assert case.expected is not None, f"no error; should say: {case.message}"
    assert deviation(got, case.expected, 1e-9) is None


def test_scalar_results_are_known():
    """`has_scalar_result` agrees with what the functions return."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load("case", "edge"):
            scalar = isinstance(result(case, case.args()), (float, np.floating))
            assert scalar == has_scalar_result(case), case.name


def test_corpus_is_complete():
    assert [len(load(kind)) for kind in ("case", "edge", "error")] == [64, 24, 7]
