"""Scalar expressions compute what the ufuncs compute."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit

from jitgrad.tape.compiled import scalars
from jitgrad.tape.compiled.tracing import Untraceable

NAMED = [
    np.negative, np.positive, np.absolute, np.fabs, np.square, np.reciprocal, np.logical_not, np.power, np.float_power,
]  # fmt: skip
UFUNCS = sorted({*scalars._OPERATORS, *scalars._MATH, *scalars._SAME, *NAMED}, key=lambda u: u.__name__)
ONLY_BOOLEANS = {np.bitwise_and, np.bitwise_or, np.bitwise_xor}
VALUES = np.array([-2.5, -1.0, -0.3, 0.0, 0.4, 1.0, 1.7, np.inf, np.nan])


@pytest.fixture(scope="module")
def compiled():
    """All expressions as one function, since compiling each takes its time."""
    texts = []
    for ufunc in UFUNCS:
        dtype = np.dtype(bool) if ufunc in ONLY_BOOLEANS else np.dtype(float)
        *loop, _ = scalars.loop_dtypes(ufunc, [dtype.type(0)] * ufunc.nin)
        texts.append(
            scalars.expression(ufunc, [scalars.cast(n, np.float64, d) for n, d in zip("xy", loop, strict=False)])
        )
    names = {"np": np, "math": math}
    lines = [f"    out[{k}] = {text}" for k, text in enumerate(texts)]
    exec("\n".join([f"def f(x, y):\n    out = np.empty({len(texts)})", *lines, "    return out"]), names)
    return njit(error_model="numpy")(names["f"])


@pytest.mark.parametrize("x", VALUES)
def test_as_the_ufunc(compiled, x):
    for y in VALUES:
        found = compiled(x, y)
        for ufunc, value in zip(UFUNCS, found, strict=True):
            operands = [x != 0, y != 0] if ufunc in ONLY_BOOLEANS else [x, y]
            with np.errstate(all="ignore"):
                expected = float(ufunc(*operands[: ufunc.nin]))
            np.testing.assert_allclose(value, expected, rtol=1e-14, atol=1e-300, err_msg=f"{ufunc.__name__}({x}, {y})")


@pytest.mark.parametrize("exponent", [0.5, 1, 2, 2.0, -1, 3, -0.5])
def test_powers_with_known_exponents(exponent):
    text = scalars.expression(np.power, ["x", repr(float(exponent))], exponent)
    assert eval(text, {"math": math, "x": 1.75}) == pytest.approx(1.75**exponent, rel=1e-15)


def test_what_numba_does_not_know():
    with pytest.raises(Untraceable, match=r"np\.spacing"):
        scalars.expression(np.spacing, ["x"])


@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
def test_booleans_are_no_numbers(ufunc):
    with pytest.raises(Untraceable, match="booleans"):
        scalars.loop_dtypes(ufunc, [np.bool_(True), np.zeros(2, bool)])
    assert scalars.loop_dtypes(ufunc, [np.bool_(True), np.float32(1)]) == [np.float32] * 3


def test_literals():
    assert scalars.literal(2, np.dtype(np.float64)) == "2.0"
    assert scalars.literal(-2.5, np.dtype(np.float64)) == "(-2.5)"
    assert scalars.literal(2.5, np.dtype(np.float32)) == "np.float32(2.5)"
    assert scalars.literal(1, np.dtype(bool)) == "True"
    assert scalars.literal(3.0, np.dtype(np.int64)) == "3"
