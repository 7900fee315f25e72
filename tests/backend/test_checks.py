"""The messages of checks on types."""

from __future__ import annotations

import inspect

import pytest
from numba import float32, float64, int64
from numba.core import types

from jitgrad.backend.checks import check_arguments, check_float_result, check_outs, check_scalar_result
from jitgrad.errors import ArgumentError

SIGNATURE = inspect.signature(lambda n, x, k=1.0: None)
STAR = inspect.signature(lambda x, *rest: None)


def test_arguments():
    arguments = (int64, float64[:], types.Omitted(1.0))
    check_arguments("f", SIGNATURE, arguments, (1,))
    for wrt, message in [
        (
            0,
            r"argument 0 \(n\) of f is an integer \(int64\), which is not differentiable; pass a float, or",
        ),
        (2, r"argument 2 \(k\) of f was left at its default"),
        (3, r"argnums names argument 3 of f, but the call has 3 arguments"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            check_arguments("f", SIGNATURE, arguments, (wrt,))
    with pytest.raises(ArgumentError, match=r"is an integer array \(array\(int64, 1d, A\)\).*astype"):
        check_arguments("f", SIGNATURE, (int64[:], float64, float64), (0,))
    with pytest.raises(ArgumentError, match=r"a Python object .*pass a named tuple"):
        check_arguments("f", SIGNATURE, (types.pyobject, float64, float64), (0,))
    with pytest.raises(ArgumentError, match=r"a dictionary .*pass a named tuple"):
        check_arguments("f", SIGNATURE, (types.DictType(int64, float64), float64, float64), (0,))


def test_star_arguments():
    arguments = (float64, types.StarArgTuple([float64, int64]))
    check_arguments("f", STAR, arguments, (0, 1))
    with pytest.raises(ArgumentError, match=r"argument 2 \(rest\[1\]\) of f is an integer"):
        check_arguments("f", STAR, arguments, (2,))


def test_outs():
    check_outs("f", SIGNATURE, (int64, float64[:], float64), (1,))
    with pytest.raises(ArgumentError, match=r"argument 2 \(k\) of f, which is float64, not an array"):
        check_outs("f", SIGNATURE, (int64, float64[:], float64), (2,))
    with pytest.raises(ArgumentError, match="read-only"):
        check_outs("f", SIGNATURE, (int64, types.Array(float64, 1, "C", readonly=True), float64), (1,))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (int64, r"the result of f is an integer \(int64\), which is not differentiable; return a float"),
        (types.boolean, "is a boolean"),
        (float64[:], r"grad needs a scalar result, but the result of f is an array .* use jacobian or vjp"),
        (types.UniTuple(float64, 2), "grad needs a scalar result.*tuple"),
        (types.none, "f returns None.*outs="),
        (types.complex128, "real scalar.*complex"),
    ],
)
def test_scalar_results(result, message):
    with pytest.raises(ArgumentError, match=message):
        check_scalar_result("f", result)


def test_scalar_results_that_pass():
    check_scalar_result("f", float32)
    check_scalar_result("f", types.Tuple([float64, int64]), has_aux=True)
    with pytest.raises(ArgumentError, match=r"has_aux=True, f must return \(scalar, auxiliary data\)"):
        check_scalar_result("f", float64, has_aux=True)


def test_float_results():
    check_float_result("f", types.Tuple([float64, int64]))
    with pytest.raises(ArgumentError, match=r"holds no float \(int64\)"):
        check_float_result("f", types.UniTuple(int64, 2))
