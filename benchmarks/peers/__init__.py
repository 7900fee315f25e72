"""The programs of `benchmarks.programs` in other libraries, each written as one would write it there.

==============  ===============================================================================
`formulas`      whole-array formulas that libraries with NumPy's functions share
`with_...`      a module for each library: ``build(name, args, wrt)`` gives a `Built`
`worker`        the process in which a library is measured, by a Python that has it
`processes`     finding such a Python, and running it
==============  ===============================================================================

A worker imports neither Numba nor jitgrad unless these are what it measures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Built(NamedTuple):
    """A program ready to be measured.

    Attributes
    ----------
    primal, gradient : functions of nothing
        They return when the result is there; the gradient comes with the value, where the library can.
    arrays : function
        The gradients as NumPy arrays, from what `gradient` returned.
    """

    primal: Callable[[], Any]
    gradient: Callable[[], Any]
    arrays: Callable[[Any], list[np.ndarray]]
