"""Which states of a loop to keep, so that it can be gone through backwards in little memory.

The binomial schedule of A. Griewank, A. Walther, "Algorithm 799: revolve: an implementation of checkpointing for the
reverse or adjoint mode of computational differentiation", ACM TOMS 26 (2000). With `s` states kept, a loop of `n` steps
needs no fewer than ``r n - C(s + r, r - 1)`` steps beside the `n` that go backwards, where the number of repetitions
`r` is the least with ``n <= C(s + r, s)``; `split` reaches that.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit


@njit
def split(length, snapshots):
    """How far to go before the next state is kept.

    Parameters
    ----------
    length : int
        Steps still to be reversed from the state that was kept last, at least 2.
    snapshots : int
        States that can be held, that one included.

    Returns
    -------
    int
        In ``1 .. length - 1``.

    Notes
    -----
    The minimal cost ``t(l, s) = min over m of m + t(l - m, s - 1) + t(m, s)`` is attained where ``m`` steps can be
    reversed with ``r - 1`` repetitions and the ``l - m`` others with `r` (section 2 of the paper):
    ``m <= C(s + r - 1, s)`` and ``l - m >= C(s + r - 2, s - 1)``. The largest such m is taken. O(r) operations.
    """
    reach, before, repetitions = 1, 1, 0
    while reach < length:
        repetitions += 1
        before = reach
        reach = reach * (snapshots + repetitions) // repetitions
    return min(before, length - before * snapshots // (snapshots + repetitions - 1))


@njit
def square_root(n):
    """So many states that no step of `n` runs more than twice before it goes backwards: about ``sqrt(2 n)``."""
    return int(math.ceil(math.sqrt(2.0 * n)))


@njit
def logarithm(n):
    """So many states that no step of `n` runs more than about ``log2(n)`` times."""
    return int(math.ceil(math.log2(n + 1.0)))


@njit
def every(n):
    """All states: no step runs more than once before it goes backwards."""
    return n


@njit
def contiguous_copy(array):
    """A copy in C order."""
    made = np.empty(array.shape, array.dtype)
    made[...] = array
    return made


@njit
def keep(states, k, array):
    """``states[k] = array``, for an array of the same shape."""
    if states.shape[1:] != array.shape:
        raise ValueError("the state of a repeated step changed its shape")
    states[k] = array
