"""Elementary functions that loops vectorise with.

Numba compiles ``math.exp`` to a call of the C library, once for each element. These are polynomials of a
dozen operations without a branch: inlined into a loop, LLVM computes four or eight elements at a time. They are
at most 4 ulp off the exact result for every argument (`docs/fastmath.md` says what each of them reaches), keep the
signs of zeros, infinities, nan and denormals of the C library, and give the same bits wherever in a loop an element is.

They take float64 or float32 scalars, and integers as float64, in compiled code as well as from Python; derivatives of
all orders have rules. Numba's ``fastmath=True`` is something else and does not change them.
"""

from __future__ import annotations

from jitgrad.fastmath.functions import Function as Function
from jitgrad.fastmath.functions import cos, erf, exp, expm1, log, log1p, pow, sigmoid, sin, tan, tanh

__all__ = ["cos", "erf", "exp", "expm1", "log", "log1p", "pow", "sigmoid", "sin", "tan", "tanh"]
