"""How the iterations of a parallel loop are dealt out: in chunks whose number does not depend on the threads.

So sums that are collected chunk by chunk have the same bits whatever the number of threads.
"""

from __future__ import annotations

from jitgrad.runtime.pipeline import helper

MOST = 32


@helper
def chunk_count(n, window):
    """Into how many chunks `n` iterations are cut, each of at least `window` iterations."""
    if n <= 0:
        return 0
    return max(1, min(MOST, n // max(window, 1)))


@helper
def few_chunks(count, work, size):
    """At most `count` chunks, such that `size` accumulators for each are no more than `work` in all."""
    return min(count, max(1, work // max(size, 1)))


@helper
def chunk_start(k, count, n):
    """The first iteration of chunk `k`; that of chunk ``k + 1`` is its end."""
    return k * n // count
