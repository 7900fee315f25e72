"""What the benchmark of the kernels measures is what it says."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.kernels import arguments, loop, units


def test_units_in_the_last_place():
    x = arguments("exp", np.float64)[:50]
    exact = np.array([math.exp(v) for v in x])
    assert units("exp", x, exact) <= 1.0
    exact[7] += 3 * np.spacing(exact[7])
    assert 2.0 <= units("exp", x, exact) <= 4.0


def test_loop_of_powers():
    x, out = np.array([1.0, 2.0]), np.empty(2)
    loop(math.pow, np.float64, binary=True)(x, out)
    np.testing.assert_allclose(out, x**2.7)
