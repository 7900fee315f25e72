"""The two formats of numbers that every kernel is written for, and the constants that depend on them.

Constants with the suffixes ``_high`` and ``_low`` are sums in parts: the high parts end in zeros, so that their
products with the integers of a range reduction are exact (Cody and Waite, Software Manual for the Elementary
Functions, 1980; Muller, Elementary Functions, section 11.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit

# without `fastmath` in so many words, Numba takes over the caller's
OPTIONS = {"forceinline": True, "error_model": "numpy", "fastmath": False}
kernel = njit(**OPTIONS)


@dataclass(frozen=True)
class Format:
    """A format of numbers.

    Attributes
    ----------
    real : type
        Makes a number of this format.
    rounder : number
        ``1.5 * 2**digits``: added to a number it rounds it to an integer, which is then in the lowest bits.
    ln2_high, ln2_low : number
        ``log(2)``.
    least_normal, lift, lifted : number
        Below the least normal number the exponent is no longer in its bits: multiplied by `lift`, which is
        ``2**lifted``, the number is normal.
    overflow, underflow : number
        ``exp`` is infinite above the one and zero below the other.
    no_more : number
        ``1 - exp(-x)`` is one for any x above.
    tiny : number
        Half a unit in the last place of one: ``exp(x) - 1`` is x for any x closer to zero.
    """

    real: Any
    rounder: Any
    ln2_high: Any
    ln2_low: Any
    least_normal: Any
    lift: Any
    lifted: Any
    overflow: Any
    underflow: Any
    no_more: Any
    tiny: Any


DOUBLE = Format(
    real=np.float64,
    rounder=np.float64(1.5 * 2.0**52),
    ln2_high=np.float64(float.fromhex("0x1.62e42fee00000p-1")),
    ln2_low=np.float64(float.fromhex("0x1.a39ef35793c76p-33")),
    least_normal=np.float64(2.0**-1022),
    lift=np.float64(2.0**54),
    lifted=np.float64(54.0),
    overflow=np.float64(710.0),
    underflow=np.float64(-746.0),
    no_more=np.float64(40.0),
    tiny=np.float64(2.0**-53),
)
SINGLE = Format(
    real=np.float32,
    rounder=np.float32(1.5 * 2.0**23),
    ln2_high=np.float32(float.fromhex("0x1.62e4p-1")),
    ln2_low=np.float32(float.fromhex("0x1.7f7d1cp-20")),
    least_normal=np.float32(2.0**-126),
    lift=np.float32(2.0**25),
    lifted=np.float32(25.0),
    overflow=np.float32(89.0),
    underflow=np.float32(-104.0),
    no_more=np.float32(18.0),
    tiny=np.float32(2.0**-24),
)
