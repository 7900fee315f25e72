"""Every language feature, read, printed, compiled and compared bit by bit."""

import numpy as np
import pytest
from numba import njit

from tests.frontend.features import FEATURES, raises
from tests.frontend.round_trip import check_round_trip, printed_function, program_of


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature[0].__name__)
def test_feature_round_trips(feature):
    fn, *args = feature
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    check_round_trip(fn, *args)


@pytest.mark.parametrize("bad", [-1.0, 200.0])
def test_raising_paths_raise(bad):
    printed, _ = printed_function(program_of(raises, bad))
    with pytest.raises((ValueError, AssertionError), match="negative|too large"):
        njit(printed)(bad)
