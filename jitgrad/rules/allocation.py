"""Rules of functions that make new arrays from shapes and numbers."""

from __future__ import annotations

import numpy as np

from jitgrad.rules.registry import AllocRule, ArrayRule, Choose, register
from jitgrad.rules.support import is_none
from jitgrad.runtime.kernels import compiled

for _fn, _params in (
    (np.zeros, "shape, dtype=None"),
    (np.ones, "shape, dtype=None"),
    (np.empty, "shape, dtype=None"),
    (np.identity, "n, dtype=None"),
    (np.eye, "N, M=None, k=0, dtype=None"),
    (np.indices, "dimensions"),
    (np.tri, "N, M=None, k=0"),
    (np.hamming, "M"),
    (np.hanning, "M"),
    (np.bartlett, "M"),
    (np.blackman, "M"),
):
    register(AllocRule(functions=(_fn,), params=_params))
for _like in (np.zeros_like, np.ones_like, np.empty_like):
    register(AllocRule(functions=(_like,), params="a, dtype=None", like="a"))
register(AllocRule(functions=(np.full,), params="shape, fill_value, dtype=None", fill="fill_value"))
register(AllocRule(functions=(np.full_like,), params="a, fill_value, dtype=None", fill="fill_value", like="a"))

# ----- ranges: linear in their ends ----------------------------------------------------------------


@compiled
def _linspace_push_start(dot, num):
    return np.linspace(dot, 0.0, num)


@compiled
def _linspace_push_stop(dot, num):
    return np.linspace(0.0, dot, num)


@compiled
def _linspace_pull_start(ct):
    n = ct.size
    s = np.sum(ct[:0])
    for k in range(n):
        s += ct[k] * (1.0 - k / (n - 1)) if n > 1 else ct[k]
    return s


@compiled
def _linspace_pull_stop(ct):
    n = ct.size
    s = np.sum(ct[:0])
    for k in range(1, n):
        s += ct[k] * (k / (n - 1))
    return s


register(
    ArrayRule(
        functions=(np.linspace,),
        params="start, stop, num=50",
        push={"start": _linspace_push_start, "stop": _linspace_push_stop},
        pull={"start": _linspace_pull_start, "stop": _linspace_pull_stop},
        cases=(lambda rng: (0.5, 3.0, 6), lambda rng: (0.5, 3.0, 1), lambda rng: (0.5, 3.0)),
    )
)


@compiled
def _arange_push_start(dot, out):
    return np.full(out.size, dot)


@compiled
def _arange_push_step(dot, out):
    return np.arange(out.size) * dot


@compiled
def _arange_pull_start(ct):
    return np.sum(ct)


@compiled
def _arange_pull_step(ct):
    s = np.sum(ct[:0])
    for k in range(ct.size):
        s += k * ct[k]
    return s


# The end of the range, the only argument where there is one, sets the length and nothing else.
_NOTHING = Choose(lambda t: None)


def _unless_alone(fn):
    return Choose(lambda t: None if is_none(t.get("stop")) else fn)


register(
    ArrayRule(
        functions=(np.arange,),
        params="start, stop=None, step=None, dtype=None",
        push={"start": _unless_alone(_arange_push_start), "stop": _NOTHING, "step": _arange_push_step},
        pull={"start": _unless_alone(_arange_pull_start), "stop": _NOTHING, "step": _arange_pull_step},
        cases=(lambda rng: (0.5, 3.25, 0.5),),
        note="the end of the range only sets the length",
    )
)
