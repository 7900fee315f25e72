"""Every kernel of one number against mpmath: random numbers of all sizes, where formulas change, and the edges."""

import math
import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest

from jitgrad import fastmath
from tests.fastmath.accuracy import FORMATS, MOST, around, everywhere, over_array, same_bits, uniform, values, worst

inf, nan = math.inf, math.nan


def saturated(function, most):
    """`function` of arguments that are cut off where it is the same for all formats: mpmath would take ages."""
    return lambda x: function(max(min(x, mpmath.mpf(most)), -mpmath.mpf(most)))


EXACT = {
    "exp": saturated(mpmath.exp, 1e4),
    "expm1": saturated(mpmath.expm1, 1e4),
    "tanh": saturated(mpmath.tanh, 100),
    "sigmoid": saturated(lambda x: 1 / (1 + mpmath.exp(-x)), 1e4),
    "log": mpmath.log,
    "log1p": mpmath.log1p,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "erf": saturated(mpmath.erf, 20),
}
# Arguments at which a formula or a result changes its kind
SEAMS = {
    "exp": (math.log(2) / 2, 709.782712893384, 88.722839, -708.3964, -745.1332191019411, -87.33655, -103.97208, 710),
    "expm1": (math.log(2) / 2, -math.log(2) / 2, 709.782712893384, 88.722839, -40, -18, 2.0**-53, 2.0**-24),
    "tanh": (math.log(2) / 4, 20, 19.0615, 9.0109, 1e-8),
    "sigmoid": (0, -709, -745, -88, -103, 36.7, 16.6),
    "log": (1, math.sqrt(0.5), math.sqrt(2), 2, 2.0**-1022, 2.0**-126),
    "log1p": (math.sqrt(0.5) - 1, math.sqrt(2) - 1, -0.5, 1, 2.0**53, 2.0**54, 2.0**25, 2.0**50, 2.0**108, -0.999999),
    "sin": (math.pi / 4, math.pi, 2.0**20, 2.0**20 - 0.1, 355),
    "cos": (math.pi / 4, math.pi / 2, 2.0**20, 2.0**20 - 0.1, 355 / 2),
    "tan": (math.pi / 4, math.pi / 2, math.pi, 2.0**20, 2.0**20 - 0.1, 355),
    "erf": (1, 5.95, 4, 3.8, 5.8),
}  # fmt: skip
SPANS = {
    "exp": ((-20, 20), (-750, 715), (-104, 89)),
    "expm1": ((-1, 1), (-45, 45), (-100, 715)),
    "tanh": ((-1, 1), (-22, 22)),
    "sigmoid": ((-40, 40), (-750, 40), (-104, 20)),
    "log": ((0.5, 1.5), (0.999, 1.001), (0, 1e6)),
    "log1p": ((-0.5, 0.5), (-1, 1), (0, 1e6)),
    "sin": ((-1, 1), (-1e3, 1e3), (-1.1e6, 1.1e6)),
    "cos": ((-1, 1), (-1e3, 1e3), (-1.1e6, 1.1e6)),
    "tan": ((-1, 1), (-1e3, 1e3), (-1.1e6, 1.1e6)),
    "erf": ((-1, 1), (0.9, 6), (-3, 3)),
}
# What the C library's functions do, sign of zero included
EDGES = {
    "exp": ((0.0, 1), (-0.0, 1), (inf, inf), (-inf, 0.0), (nan, nan), (1e300, inf), (-1e300, 0.0)),
    "expm1": ((0.0, 0.0), (-0.0, -0.0), (inf, inf), (-inf, -1), (nan, nan)),
    "tanh": ((0.0, 0.0), (-0.0, -0.0), (inf, 1), (-inf, -1), (nan, nan)),
    "sigmoid": ((0.0, 0.5), (-0.0, 0.5), (inf, 1), (-inf, 0.0), (nan, nan)),
    "log": ((0.0, -inf), (-0.0, -inf), (1.0, 0.0), (inf, inf), (-inf, nan), (nan, nan), (-1.0, nan), (-1e-40, nan)),
    "log1p": ((0.0, 0.0), (-0.0, -0.0), (-1.0, -inf), (inf, inf), (-inf, nan), (nan, nan), (-1.5, nan)),
    "sin": ((0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)),
    "cos": ((0.0, 1), (-0.0, 1), (inf, nan), (-inf, nan), (nan, nan)),
    "tan": ((0.0, 0.0), (-0.0, -0.0), (inf, nan), (-inf, nan), (nan, nan)),
    "erf": ((0.0, 0.0), (-0.0, -0.0), (inf, 1), (-inf, -1), (nan, nan)),
}
DOMAIN = {"log": lambda x: x > 0, "log1p": lambda x: x > -1}
FILL = {name: over_array(getattr(fastmath, name)) for name in EXACT}


def arguments(name, real, count, seed=0):
    rng = np.random.default_rng(seed)
    parts = [everywhere(rng, real, count), around(SEAMS[name], real)]
    parts += [uniform(rng, real, *span, count) for span in SPANS[name]]
    if name in ("sin", "cos", "tan"):  # as close to a zero or pole as numbers come
        parts.append((rng.integers(-650_000, 650_000, count) * (np.pi / 2)).astype(real))
    x = np.concatenate(parts)
    return x[DOMAIN.get(name, np.isfinite)(x)]


@pytest.mark.parametrize("real", FORMATS, ids=lambda real: real.__name__)
@pytest.mark.parametrize("name", EXACT)
def test_within_four_units_in_the_last_place(name, real):
    most, where = worst(FILL[name], EXACT[name], arguments(name, real, 150))
    assert most <= MOST, f"{most:.2f} ulp at {where!r}"


@pytest.mark.slow
@pytest.mark.parametrize("name", EXACT)
def test_within_four_units_in_the_last_place_at_more_points(name):
    for real in FORMATS:
        most, where = worst(FILL[name], EXACT[name], arguments(name, real, 3000, seed=1))
        assert most <= MOST, f"{most:.2f} ulp at {where!r}"


@pytest.mark.parametrize("name", EXACT)
def test_edges_are_those_of_the_c_library(name):
    for real in FORMATS:
        with np.errstate(over="ignore"):
            x, want = np.array(EDGES[name]).T.astype(real)
        assert same_bits(values(FILL[name], x), want)


@pytest.mark.parametrize("name", EXACT)
def test_bits_do_not_depend_on_the_place_in_a_loop(name):
    """Vectors and the remainder of a loop, and a lone number, give the same."""
    for real in FORMATS:
        x = arguments(name, real, 20)
        x = np.concatenate((x, [real(nan), real(inf)]))
        alone = np.array([values(FILL[name], x[k : k + 1])[0] for k in range(x.size)])
        for start in range(5):
            assert same_bits(values(FILL[name], x[start:]), alone[start:])


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_arguments(name):
    x = np.array([1e300, -1e300, 2.0**1000, 1e22, 2.0**20, np.finfo(float).max, 3.0, 0.5])
    most, where = worst(FILL[name], EXACT[name], np.repeat(x, 3))
    assert most <= MOST, f"{most:.2f} ulp at {where!r}"


@pytest.mark.slow
def test_accuracy_does_not_need_fused_multiplication():
    """On a processor without it a product and a sum are rounded each."""
    program = (
        "from tests.fastmath.test_accuracy import *\n"
        "for name in EXACT:\n"
        "    for real in FORMATS:\n"
        "        most, where = worst(FILL[name], EXACT[name], arguments(name, real, 100))\n"
        "        assert most <= MOST, (name, real, most, where)\n"
    )
    environment = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, **environment})
