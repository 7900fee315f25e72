"""What LLVM makes of a loop over a kernel: vectors, with no call of the C library for ordinary arguments."""

import re

import numpy as np
import pytest
from numba import float32, float64

from jitgrad import fastmath
from tests.fastmath.accuracy import over_array

NAMES = ["exp", "expm1", "tanh", "sigmoid", "log", "log1p", "sin", "cos", "tan", "erf"]


@pytest.mark.parametrize("name", NAMES)
def test_loops_vectorise(name):
    fill = over_array(getattr(fastmath, name))
    for number, kind in ((float64, "double"), (float32, "float")):
        fill.compile((number[::1], number[::1]))
        (code,) = (text for signature, text in fill.inspect_llvm().items() if signature[0].dtype == number)
        assert re.search(rf"store <\d+ x {kind}>", code)
        assert re.search(rf"call <\d+ x {kind}> @llvm\.(fmuladd|copysign)", code)
        if name in ("sin", "cos", "tan"):  # the branch for huge arguments, once for all lanes
            assert re.search(rf"call <(\d+) x {kind}> @jitgrad_{name}_from_1048576_{number}_x\1\(", code)


def test_rarely_calls_the_library_from_the_limit_on():
    from numba import njit

    from jitgrad.fastmath.instructions import rarely

    rare = rarely("sin", 10.0)

    @njit
    def fill(x, out):
        for i in range(x.size):
            out[i] = rare(x[i])

    x = np.array([0.0, 9.9, 10.0, -10.0, 1e300, np.inf, np.nan] * 5 + [11.0])
    out = np.empty_like(x)
    fill(x, out)
    beyond = np.abs(x) >= 10.0
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_max_ulp(out[beyond], np.sin(x[beyond]), 1)
