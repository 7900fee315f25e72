"""erf.

A polynomial in ``x**2`` times x up to one; from there on ``1 - exp(P(x - 1))`` with a polynomial P for the logarithm of
``erfc``, whose error counts the less the larger x is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jitgrad.fastmath.exponential import reduce32, reduce64
from jitgrad.fastmath.instructions import absolute, copysign, mad, polynomial, power_of_two, select

# erf(x) / x - 1 in x**2 on [0, 1]; relative error of erf 2**-56 and 2**-29.4
NEAR64 = (
    0.12837916709551256, -0.37612638903183365, 0.1128379167093849, -0.02686617064225782, 0.005223977599481473,
    -0.0008548325626945086, 0.00012055284966608965, -1.4924554537292125e-05, 1.6445271767900196e-06,
    -1.619268269119664e-07, 1.3654460449196741e-08, -7.678172022153825e-10,
)  # fmt: skip
NEAR32 = (
    0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853350922465324, 0.005187179893255234,
    -0.0007998113287612796, 7.808114605722949e-05,
)  # fmt: skip
# log(erfc(1 + t)) on t in [0, 4.95], [0, 3], weighted with erfc / erf: 2**-56.5 and 2**-26.7
FAR64 = (
    -1.8496055099332482, -2.6389675142347837, -0.8431072563591071, -0.041561098030206044, 0.010033825225761085,
    -0.001977901474954336, 0.00023731738030469436, 2.629395205721259e-05, -2.719473543510335e-05,
    9.665896514719566e-06, -2.126741965013272e-06, 2.011841361748081e-07, 5.98659969519887e-08, -3.407522024986546e-08,
    8.695488821653778e-09, -1.349378976030399e-09, 1.224088860743866e-10, -5.00599578699044e-12,
)  # fmt: skip
FAR32 = (
    -1.8496055603027344, -2.63896107673645, -0.8432323932647705, -0.04069870710372925, 0.007293598726391792,
    0.002486220095306635, -0.0035763191990554333, 0.0016270873602479696, -0.0002731822896748781,
)  # fmt: skip


def _kernels(real, largest: float, reduce, near_terms: Sequence[float], far_terms: Sequence[float]):
    one, most = real(1), real(largest)
    near, far = polynomial(near_terms), polynomial(far_terms)

    def erf(x):
        size = absolute(x)
        a = select(size > most, most, size)
        t, q = reduce(far(a - one))
        power = power_of_two(t)
        y = select(a < one, mad(near(a * a), a, a), one - mad(q, power, power))
        return copysign(y, x)

    return erf


# erf rounds to one from the largest argument on
erf64 = _kernels(np.float64, 5.95, reduce64, NEAR64, FAR64)
erf32 = _kernels(np.float32, 4.0, reduce32, NEAR32, FAR32)
