"""Adjoints of lists: as long as the list, of zeros like its items."""

import numpy as np
from numba import float64, njit
from numba.typed import List

from jitgrad.runtime import lists


def test_numbers():
    @njit
    def zeros(x):
        items = [x, 2 * x, np.inf]
        return lists.zero_numbers(items, 0.0)

    assert zeros(3.0)[:2] == [0.0, 0.0]


def test_infinite_items_have_zero_adjoints():
    """``inf * 0`` is nan."""
    assert lists.zero_numbers.py_func([np.inf, np.nan, -np.inf], 0.0) == [0.0, 0.0, 0.0]
    typed = List([np.inf, 1.0])
    assert list(lists.typed_zero_numbers(typed, 0.0)) == [0.0, 0.0]


def test_arrays():
    items = [np.ones(2), np.full(2, np.nan)]
    zeros = lists.zero_arrays.py_func(items)
    assert len(zeros) == 2 and not np.any(zeros) and zeros[0] is not zeros[1]


def test_typed_lists():
    items = List([np.ones(2), np.ones(2)])
    zeros = lists.typed_zero_arrays(items)
    assert isinstance(zeros, List) and len(zeros) == 2 and not np.any(zeros[0])
    zeros[0][0] = 1.0
    assert not zeros[1].any() and items[0].all()


def test_no_items():
    empty = List.empty_list(float64)
    assert len(lists.typed_zero_numbers(empty, 0.0)) == 0
