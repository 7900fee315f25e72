"""Scalar rules of arithmetic: operators, conversions, kinks and selections, complex parts.

One row per function. Functions that differ only in name (`math.sin`, `np.sin`, `cmath.sin`) share a row.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.registry import Factor, Regular, Rule, ScalarRule, ZeroRule, register
from jitgrad.runtime import kernels
from jitgrad.runtime.sums import accumulate

inf, nan = math.inf, math.nan
# Points for functions defined on the whole line, and for functions of two operands
LINE = ((0.0,), (0.7,), (-0.7,), (2.5,), (-2.5,), (1e-8,), (-9.0,))
PLANE = ((1.5, 2.5), (-1.5, 2.5), (1.5, -2.5), (-1.5, -2.5), (4.0, 0.5))


def scalar(*functions: Any, **fields: Any) -> Rule:
    """Register one scalar row."""
    return register(ScalarRule(functions=tuple(dict.fromkeys(functions)), **fields))


def unary(*functions: Any, partial: str, points=LINE, reference="", **fields: Any) -> Rule:
    """Register a row of one operand."""
    return scalar(*functions, partials=(partial,), points=points, reference=reference, **fields)


def binary(*functions: Any, dx: str | None, dy: str | None, points=PLANE, **fields: Any) -> Rule:
    """Register a row of two operands."""
    return scalar(*functions, params=("x", "y"), partials=(dx, dy), points=points, **fields)


# ----- arithmetic ----------------------------------------------------------------------------------

binary(operator.add, np.add, dx="1.0", dy="1.0", reference="x + y")
binary(accumulate, dx="1.0", dy="1.0", reference="x + y")
binary(operator.sub, np.subtract, dx="1.0", dy="-1.0", reference="x - y")
binary(operator.mul, np.multiply, dx="y", dy="x", reference="x * y", points=(*PLANE, (0.0, 3.0), (0.0, 0.0)))
binary(
    operator.truediv,
    np.true_divide,
    np.divide,
    dx="1.0 / y",
    dy="-out / y",
    singular=True,
    reference="x / y",
    points=(*PLANE, (0.0, 3.0)),
    edges={(1.0, 0.0): (inf, -inf), (-1.0, 0.0): (inf, inf)},
)
binary(
    operator.mod,
    np.remainder,
    np.mod,
    dx="1.0",
    dy="-(x // y)",
    singular=True,
    points=(*PLANE[:4], (7.3, 2.0), (-7.3, 2.0), (7.3, -2.0), (-7.3, -2.0)),
    edges={(4.0, 2.0): (1.0, -2.0)},
)
binary(
    np.fmod,
    dx="1.0",
    dy="-np.rint((x - out) / y)",
    singular=True,
    points=(*PLANE[:4], (7.3, 2.0), (-7.3, 2.0), (7.3, -2.0), (-7.3, -2.0)),
    edges={(4.0, 2.0): (1.0, -2.0)},
    note="what Numba compiles for the `%` of C",
)
unary(operator.neg, np.negative, partial="-1.0", reference="-x")
unary(operator.pos, np.positive, partial="1.0", reference="x")
unary(np.square, partial="x + x", reference="x ** 2")
unary(np.reciprocal, partial="-out * out", singular=True, reference="1 / x", points=LINE[1:], edges={(0.0,): (-inf,)})


def _power_literal(param: str, values: Mapping[str, Any]) -> str | None:
    """Partials of ``x ** y`` for a constant exponent or a constant base, without the general power."""
    if param == "y":
        base = values.get("x")
        return f"out * {math.log(base)!r}" if isinstance(base, (int, float)) and 0 < base < inf else None
    n = values.get("y")
    if not isinstance(n, (int, float)) or isinstance(n, bool):
        return None
    if n == 0.5:
        return "0.5 / out"
    if n != int(n):
        return f"{n!r} * x ** {n - 1!r}"
    n = int(n)
    known = {0: "0.0", 1: "1.0", 2: "x + x", 3: "3.0 * (x * x)", -1: "-(out * out)"}
    text = known.get(n, f"{float(n)!r} * x ** {n - 1}" if abs(n) < 64 else None)
    return Regular(text) if text is not None and n >= 0 else text


_POWER = {
    "singular": True,
    "literal": _power_literal,
    "points": ((2.0, 3.5), (2.0, -1.5), (0.5, 2.0), (3.0, 0.0), (3.0, 1.0)),
    "edges": {
        (0.0, 0.0): (0.0, 0.0),
        (0.0, 1.0): (1.0, 0.0),
        (0.0, 2.0): (0.0, 0.0),
        (0.0, 0.5): (inf, 0.0),
        (0.0, 1.5): (0.0, 0.0),
        (-2.0, 0.0): (0.0, nan),
        (-2.0, 3.0): (12.0, nan),
        (inf, 0.0): (0.0, inf),
        (nan, 0.0): (0.0, nan),
        (-0.5, 3.0): (0.75, nan),
        (-0.5, -2.0): (16.0, nan),
        (-0.5, 1.0): (1.0, nan),
    },
    "complex": ScalarRule(
        params=("x", "y"),
        partials=("y * x ** (y - 1)", "out * np.log(x)"),
        singular=True,
        literal=_power_literal,
        points=((1.0 + 2.0j, 2.5 + 0.5j),),
    ),
    "note": "x ** 0 has slope 0; the slope in the exponent is nan for a negative base, if asked for",
}
binary(operator.pow, pow, math.pow, np.power, np.float_power, dx="pow_dx(x, y)", dy="pow_dy(x, y)", **_POWER)
binary(
    kernels.pow_dx,
    dx="mul0(y, pow_dx(x, y - 1))",
    dy="pow_dxdy(x, y)",
    singular=True,
    points=((2.0, 3.5), (0.5, -1.5)),
    edges={(0.0, 1.0): (0.0, -inf), (0.0, 2.0): (2.0, 0.0), (-2.0, 2.0): (2.0, nan)},
)
binary(
    kernels.pow_dy,
    dx="pow_dxdy(x, y)",
    dy="pow_dy(x, y) * math.log(x) if x != 0 else 0.0",
    singular=True,
    points=((2.0, 3.5), (0.5, -1.5)),
    edges={(0.0, 1.5): (0.0, 0.0)},
)
binary(kernels.mul0, dx="y", dy=Factor("x"), singular=True, points=((2.0, 3.0),), edges={(0.0, 3.0): (3.0, 0.0)})
binary(
    kernels.div0,
    dx="1.0 / y",
    dy=Factor("-div0(out, y)"),
    singular=True,
    points=((2.0, 3.0),),
    edges={(0.0, 0.0): (inf, 0.0), (0.0, 2.0): (0.5, 0.0)},
)
register(
    ZeroRule(
        functions=(
            kernels.larger,
            kernels.smaller,
            kernels.larger_number,
            kernels.smaller_number,
            kernels.same,
            kernels.ldexp1,
        )
    )
)

# ----- conversions: the value stays ----------------------------------------------------------------

unary(
    float,
    np.float64,
    np.float32,
    nbtypes.float64,
    nbtypes.float32,
    np.float16,
    nbtypes.complex64,
    nbtypes.complex128,
    np.complex64,
    np.complex128,
    partial="1.0",
    reference="x",
)
scalar(
    complex,
    params=("x", "y"),
    keywords=("real", "imag"),
    push=("dot * (1.0 + 0.0j)", "dot * 1j"),
    pull=("np.real(ct)", "np.imag(ct)"),
    points=((1.0, 2.0),),
)

# ----- kinks and selections ------------------------------------------------------------------------

_ABS = ScalarRule(
    push=("np.real(np.conj(ratio0(x, out)) * dot)",),
    pull=("ct * ratio0(x, out)",),
    points=((1 + 2j,),),
    edges={(0j,): (0.0,)},
)
unary(
    abs,
    np.absolute,
    np.fabs,
    math.fabs,
    partial="np.sign(x)",
    points=LINE[1:],
    edges={(0.0,): (0.0,)},
    complex=_ABS,
    reference="abs(x)",
)
binary(
    math.copysign,
    np.copysign,
    dx="np.sign(x) * math.copysign(1.0, y)",
    dy=None,
    edges={(0.0, -1.0): (0.0, None)},
)
binary(
    np.maximum,
    dx="larger(x, y)",
    dy="larger(y, x)",
    select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (1.0, 0.0), (1.0, nan): (0.0, 1.0)},
)
binary(
    np.minimum,
    dx="smaller(x, y)",
    dy="smaller(y, x)",
    select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (1.0, 0.0), (1.0, nan): (0.0, 1.0)},
)
binary(
    np.fmax,
    dx="larger_number(x, y)",
    dy="larger_number(y, x)",
    select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (0.0, 1.0), (1.0, nan): (1.0, 0.0)},
)
binary(
    np.fmin,
    dx="smaller_number(x, y)",
    dy="smaller_number(y, x)",
    select=True,
    edges={(1.0, 1.0): (0.5, 0.5), (nan, 1.0): (0.0, 1.0), (1.0, nan): (1.0, 0.0)},
)


def _extremum(fn: Any, weight: str) -> Any:
    """The builtins `max` and `min` for any number of operands: equal shares among those tied."""

    def choose(types):
        n = len(types)
        if n < 2:
            return None  # of an iterable: Numba's implementation is a readable loop
        if n == 2:
            return ScalarRule(
                functions=(fn,),
                params=("x", "y"),
                partials=(f"{weight}(x, y)", f"{weight}(y, x)"),
                select=True,
                points=PLANE,
                edges={(1.0, 1.0): (0.5, 0.5)},
            )
        names = tuple(f"x{k}" for k in range(n))
        total = " + ".join(f"same({name}, out)" for name in names)
        return ScalarRule(
            functions=(fn,),
            params=names,
            partials=tuple(f"same({name}, out) / ({total})" for name in names),
            select=True,
            points=(tuple(float((7 * k) % n) for k in range(n)), tuple(-float(k) for k in range(n))),
            edges={(2.0,) * n: (1.0 / n,) * n},
        )

    return choose


scalar(max, choose=_extremum(max, "larger"))
scalar(min, choose=_extremum(min, "smaller"))


def _clip(types):
    """``np.clip`` with both bounds, or with None for one of them."""
    none = [isinstance(t, (nbtypes.NoneType, nbtypes.Omitted)) or t is None for t in types]
    lo, hi = (len(types) > 1 and not none[1]), (len(types) > 2 and not none[2])
    if lo and hi:
        partials = (
            "larger(x, lo) * smaller(max(x, lo), hi)",
            "larger(lo, x) * smaller(max(x, lo), hi)",
            "smaller(hi, max(x, lo))",
        )
        return replace(
            _CLIP,
            choose=None,
            value="min(max(x, lo), hi)",
            partials=partials,
            points=_CLIP_POINTS,
            edges={(1.0, 1.0, 4.0): (0.5, 0.5, 0.0), (4.0, 1.0, 4.0): (0.5, 0.0, 0.5)},
        )
    if lo:
        return replace(_CLIP, choose=None, value="max(x, lo)", partials=("larger(x, lo)", "larger(lo, x)", None))
    return replace(_CLIP, choose=None, value="min(x, hi)", partials=("smaller(x, hi)", None, "smaller(hi, x)"))


_CLIP_POINTS = ((0.5, 1.0, 4.0), (2.0, 1.0, 4.0), (9.0, 1.0, 4.0), (-3.0, -2.0, -1.0))
_CLIP = ScalarRule(
    functions=(np.clip,),
    methods=("clip",),
    params=("x", "lo", "hi"),
    keywords=("a", "a_min", "a_max"),
    select=True,
    choose=_clip,
    note="as min(max(x, lo), hi): half each where they tie",
)
register(_CLIP)

_WHERE = ScalarRule(
    functions=(np.where,),
    params=("c", "x", "y"),
    keywords=("condition", "x", "y"),
    value="x if c else y",
    push=(None, "dot if c else 0.0", "0.0 if c else dot"),
    pull=(None, "ct if c else 0.0", "0.0 if c else ct"),
    select=True,
    points=((True, 2.0, 3.0), (False, 2.0, 3.0)),
    note="with one argument a shape query: see `np.nonzero`",
)
register(replace(_WHERE, choose=lambda types: _WHERE if len(types) == 3 else None))

scalar(
    np.nan_to_num,
    params=("x", "copy", "nan", "posinf", "neginf"),
    push=("dot if np.isfinite(x) else 0.0", None, None, None, None),
    pull=("ct if np.isfinite(x) else 0.0", None, None, None, None),
    select=True,
    points=((2.0,), (-3.0,)),
    note="elements that are replaced have slope zero, and the replacements are constants",
)

# ----- complex parts -------------------------------------------------------------------------------

unary(
    np.conjugate,
    methods=("number.conjugate", "conj", "conjugate"),
    partial="1.0",
    points=LINE[:2],
    complex=ScalarRule(push=("np.conj(dot)",), pull=("np.conj(ct)",), points=((1 + 2j,),)),
)
# .real and .imag of arrays are views, see shapes.py; NumPy's functions on scalars are these
unary(
    np.real,
    attributes=("number.real",),
    partial="1.0",
    points=LINE[:2],
    complex=ScalarRule(push=("np.real(dot)",), pull=("ct * (1.0 + 0.0j)",), points=((1 + 2j,),)),
)
scalar(
    np.imag,
    attributes=("number.imag",),
    partials=(None,),
    complex=ScalarRule(push=("np.imag(dot)",), pull=("ct * 1j",), points=((1 + 2j,),)),
)
_ANGLE = ScalarRule(
    params=("x", "deg"),
    push=(
        "np.imag(np.conj(x) * dot) / (np.real(x) ** 2 + np.imag(x) ** 2) * (57.29577951308232 if deg else 1.0)",
        None,
    ),
    pull=("ct * (57.29577951308232 if deg else 1.0) * (1j * x) / (np.real(x) ** 2 + np.imag(x) ** 2)", None),
    points=((1 + 2j, False), (1 + 2j, True), (-3 - 2j, False)),
)
_PHASE = ScalarRule(
    push=("np.imag(np.conj(x) * dot) / (np.real(x) ** 2 + np.imag(x) ** 2)",),
    pull=("ct * (1j * x) / (np.real(x) ** 2 + np.imag(x) ** 2)",),
    points=((1 + 2j,), (-3 - 2j,)),
)
_ANGLE_ONE = ScalarRule(functions=(np.angle,), params=("x",), keywords=("z",), partials=(None,), complex=_PHASE)
_ANGLE_TWO = ScalarRule(
    functions=(np.angle,), params=("x", "deg"), keywords=("z", "deg"), partials=(None, None), complex=_ANGLE
)
register(replace(_ANGLE_TWO, choose=lambda types: _ANGLE_ONE if len(types) == 1 else _ANGLE_TWO))
scalar(cmath.phase, params=("x",), partials=(None,), complex=_PHASE)
