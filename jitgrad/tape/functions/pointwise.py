"""Functions that act element by element and are no ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitgrad.rules.kinds import ScalarRule
from jitgrad.rules.registry import lookup
from jitgrad.tape.elementwise import Elementwise, zero
from jitgrad.tape.functions.registering import operand, primitive, refuse, wrap
from jitgrad.tape.handlers import HANDLERS, handles
from jitgrad.tape.primitive import Primitive, plain


def _elementwise(name: str, function: Any) -> Elementwise:
    rule = lookup(function)
    assert isinstance(rule, ScalarRule)
    return Elementwise(name, function, rule)


# ----- selection ------------------------------------------------------------------------------------
_SELECT = _elementwise("SelectV2", np.where)


@handles(np.where)
def where(condition, x=None, y=None, /):
    if x is None and y is None:
        return np.nonzero(condition)
    return _SELECT(plain(condition), operand(x), operand(y))


def _share(x: Any, y: Any, wins: np.ufunc) -> Any:
    """The weight of `x` in the larger, or smaller, of two: a half in a tie, one where it is nan."""
    return np.where(wins(x, y) | (x != x), 1.0, np.where(x == y, 0.5, 0.0))


def _clip_pull(k, ct, out, args, kwargs):
    # np.minimum(np.maximum(x, low), high), either of which may be missing
    x, low, high = (plain(a) for a in args)
    raised = x if low is None else np.maximum(x, low)
    if k == 2:
        return _weighted(ct, _share(high, raised, np.less))
    inner = 1.0 if low is None else _share(x, low, np.greater) if k == 0 else _share(low, x, np.greater)
    return _weighted(ct, inner if high is None else inner * _share(raised, high, np.less))


def _weighted(ct: Any, weight: Any) -> Any:
    return np.where(weight == 0.0, 0.0, ct * weight)


_CLIP = Primitive("ClipByValue", np.clip, _clip_pull)


@handles(np.clip)
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, dtype=None):
    refuse("np.clip", out=out)
    if (a_min is not None and min is not None) or (a_max is not None and max is not None):
        raise ValueError("np.clip: a_min and min, or a_max and max, are the same argument")
    clipped = _CLIP(operand(a), operand(a_min if min is None else min), operand(a_max if max is None else max))
    return clipped if dtype is None else clipped.astype(dtype)


def _finite(ct, out, x, copy=True, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind == "c":
        z = plain(x)
        return np.where(np.isfinite(z.real), np.real(ct), 0.0) + 1j * np.where(np.isfinite(z.imag), np.imag(ct), 0.0)
    return np.where(np.isfinite(plain(x)), ct, 0.0)


primitive(np.nan_to_num, _finite, name="NanToNum")


# ----- complex parts --------------------------------------------------------------------------------
HANDLERS[np.real] = _elementwise("Real", np.real)
HANDLERS[np.imag] = _elementwise("Imag", np.imag)
_ANGLE = _elementwise("Angle", np.angle)


@handles(np.angle)
def angle(z, deg=False):
    return _ANGLE(z, bool(deg))


# ----- others ---------------------------------------------------------------------------------------
HANDLERS[np.sinc] = _elementwise("Sinc", np.sinc)
primitive(np.unwrap, lambda ct, out, p, discont=None, axis=-1, *, period=6.283185307179586: ct)  # moved by constants
# Flat between its steps, as floor and ceil: zero, not unconnected.
_ROUND = Primitive("Round", np.round, (zero, None))
_FIX = Primitive("Trunc", np.trunc, (zero,))


@handles(np.round, np.around)
def round_(a, decimals=0, out=None):
    refuse("np.round", out=out)
    return _ROUND(a, decimals)


@handles(np.fix)
def fix(x, out=None):
    refuse("np.fix", out=out)
    return _FIX(x)


@handles(np.astype)
def astype(x, dtype, /, *, copy=True, device=None):
    return x.astype(dtype)


@handles(np.divmod)
def divmod_(x, y):
    return np.floor_divide(x, y), np.remainder(x, y)


@handles(np.modf)
def modf(x):
    whole = np.trunc(x)
    return np.where(np.isinf(plain(x)), 0.0, x - whole), whole


@handles(np.frexp)
def frexp(x):
    exponent = np.frexp(plain(x))[1]
    return np.ldexp(x, -exponent), wrap(exponent)


_STEP = Primitive("Heaviside", lambda x: np.heaviside(x, 0.0), (zero,))


@handles(np.heaviside)
def heaviside(x, at_zero):
    return np.where(np.asarray(plain(x)) == 0, operand(at_zero), _STEP(operand(x)))


# ----- making arrays of values ----------------------------------------------------------------------
@handles(np.full_like)
def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    a, fill_value = plain(a), operand(fill_value)
    made = np.broadcast_to(fill_value, a.shape if shape is None else shape)
    return wrap(made.astype(a.dtype if dtype is None else dtype))


def _linspace_pull(k, ct, out, args, kwargs):
    num, endpoint = args[2:]
    share = np.linspace(0.0, 1.0, num, endpoint)
    share = share.reshape(-1, *(1,) * (out.ndim - 1))
    return ct * (share if k else 1.0 - share)


_LINSPACE = Primitive(
    "LinSpace", lambda start, stop, num, endpoint: np.linspace(start, stop, num, endpoint), _linspace_pull
)


@handles(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    start, stop = operand(start), operand(stop)
    made = np.moveaxis(_LINSPACE(start, stop, num, endpoint), 0, axis)
    made = made if dtype is None else made.astype(dtype)
    parts = num - 1 if endpoint else num
    return (made, (stop - start) / parts if parts > 0 else np.nan) if retstep else made


@handles(np.logspace)
def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0):
    base = operand(base)
    made = np.linspace(operand(start), operand(stop), num, endpoint, axis=axis)
    made = np.power(np.expand_dims(base, axis) if np.ndim(base) else base, made)
    return made if dtype is None else made.astype(dtype)


@handles(np.vander)
def vander(x, N=None, increasing=False):
    powers = np.arange(len(x) if N is None else N)
    return np.power(np.expand_dims(operand(x), -1), powers if increasing else powers[::-1])


def _bincount_pull(ct, out, weights, x, minlength):
    return ct[x]


_BINCOUNT = Primitive("Bincount", lambda weights, x, minlength: np.bincount(x, weights, minlength), (_bincount_pull,))


@handles(np.bincount)
def bincount(x, /, weights=None, minlength=0):
    return wrap(_BINCOUNT(operand(weights), np.asarray(plain(x)), minlength))
