"""Every iteration falls into one chunk, and chunks are as wide as they were asked to be."""

import itertools

import pytest

from jitgrad.runtime.chunks import MOST, chunk_count, chunk_start, few_chunks


@pytest.mark.parametrize(("n", "window"), [*itertools.product([-3, 0, 1, 2, 7, 31, 32, 33, 1000], [0, 1, 2, 5, 100])])
def test_chunks(n, window):
    count = chunk_count.py_func(n, window)
    assert 0 <= count <= MOST
    bounds = [chunk_start.py_func(k, count, n) for k in range(count + 1)] if count else [0]
    assert bounds[0] == 0
    assert bounds[-1] == max(n, 0)
    widths = [b - a for a, b in itertools.pairwise(bounds)]
    assert all(w >= 1 for w in widths)
    assert count <= 1 or all(w >= window for w in widths)


def test_few_chunks():
    assert few_chunks.py_func(32, 1000, 10) == 32
    assert few_chunks.py_func(32, 1000, 100) == 10
    assert few_chunks.py_func(32, 1000, 10**6) == 1
    assert few_chunks.py_func(0, 0, 0) == 0
