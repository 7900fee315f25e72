"""pow against mpmath, and at the edges of C's standard."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from numba import njit

from jitgrad import fastmath
from tests.fastmath.accuracy import FORMATS, MOST, error, everywhere, same_bits


@njit(error_model="numpy")
def fill(x, y, out):
    for i in range(x.size):
        out[i] = fastmath.pow(x[i], y[i])


def powers(x, y):
    out = np.empty_like(x)
    fill(x, y, out)
    return out


def pairs(real, count, seed=0):
    """Bases of all sizes, exponents so that the results are of all sizes."""
    rng = np.random.default_rng(seed)
    x = np.abs(everywhere(rng, real, count))
    near = (1 + rng.uniform(-0.01, 0.01, count)).astype(real)
    ordinary = rng.uniform(0, 20, count).astype(real)
    x = np.concatenate((x[x > 0], near[near != 1], ordinary))
    range_of_log = math.log(2) * float(np.finfo(real).maxexp)
    y = (rng.uniform(-1.05, 1.03, x.size) * range_of_log / np.log(x.astype(np.float64))).astype(real)
    return x, y


def worst(x, y):
    with mpmath.workprec(200):
        exact = [mpmath.power(mpmath.mpf(float(a)), mpmath.mpf(float(b))) for a, b in zip(x, y)]
        errors = [error(z, w, x.dtype.type) for z, w in zip(powers(x, y), exact)]
    k = int(np.argmax(errors))
    return errors[k], x[k], y[k]


@pytest.mark.parametrize("real", FORMATS, ids=lambda real: real.__name__)
def test_within_four_units_in_the_last_place(real):
    most, *where = worst(*pairs(real, 300))
    assert most <= MOST, f"{most:.2f} ulp at {where}"


@pytest.mark.slow
def test_within_four_units_in_the_last_place_at_more_points():
    for real in FORMATS:
        most, *where = worst(*pairs(real, 5000, seed=1))
        assert most <= MOST, f"{most:.2f} ulp at {where}"


def test_whole_powers_of_negative_numbers():
    x = np.array([-2.0, -2.0, -1.5, -3.0, -0.5, -1.0, -1.0, -1.0, -10.0, -2.0, -2.0])
    y = np.array([3.0, 4.0, -3.0, -2.0, 11.0, 2.0**52 + 1, 2.0**53 - 1, 2.0**53, 22.0, 0.5, 2.0**51 + 0.5])
    want = np.array([-8.0, 16.0, -1 / 3.375, 1 / 9, -(0.5**11), -1.0, -1.0, 1.0, 1e22, np.nan, np.nan])
    np.testing.assert_array_max_ulp(powers(x, y), want, MOST)


def test_edges_are_those_of_the_c_library():
    special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1e300, -1e300]
    special += [5e-324, -5e-324, 2.0**53, 2.0**53 + 2, 2.0**52 + 1, 1.0000000000000002, 0.9999999999999999]
    x, y = np.array(list(itertools.product(special, special))).T.copy()
    with np.errstate(all="ignore"):
        want = np.power(x, y)
    got = powers(x, y)
    exact = (np.abs(want) == 0) | np.isinf(want) | np.isnan(want) | (np.abs(want) == 1)
    assert exact.sum() > 300
    assert same_bits(got[exact], want[exact])
    np.testing.assert_array_max_ulp(got[~exact], want[~exact], MOST)


def test_single_precision_at_the_edges():
    special = np.array([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -3.0, 0.5], np.float32)
    x, y = np.array(list(itertools.product(special, special)), np.float32).T.copy()
    with np.errstate(all="ignore"):
        np.testing.assert_array_max_ulp(powers(x, y), np.power(x, y), MOST)
