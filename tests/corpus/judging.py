"""When a result of the library counts as right."""

from __future__ import annotations

import numpy as np

from tests.corpus.corpuslib import Case


def deviation(got, want, rtol: float, scale: float | None = None) -> str | None:
    """None when `got` equals `want` within ``rtol * scale + rtol * |want|``, else what is wrong.

    `scale` is the largest finite entry of `want` unless given. Infinities and NaNs must match exactly.
    """
    got, want = np.asarray(got, float), np.asarray(want, float)
    if got.shape != want.shape:
        return f"shape {got.shape} instead of {want.shape}"
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    finite = np.where(np.isfinite(want), np.abs(want), 0.0)
    if scale is None:
        scale = np.max(finite, initial=0.0)
    with np.errstate(invalid="ignore"):
        off = np.where(same, 0.0, np.abs(got - want))
    bad = ~(off <= rtol * max(scale, 1e-12) + rtol * finite)
    if not bad.any():
        return None
    first = np.flatnonzero(bad.ravel())[:4]
    return f"entries {first.tolist()}: got {got.ravel()[first]}, want {want.ravel()[first]}"


def finite_scale(jac) -> float:
    """The largest finite entry of a Jacobian: products with it are judged on its scale."""
    return max(np.max(np.abs(jac[np.isfinite(jac)]), initial=0.0), 1e-12)


def acceptable(case: Case, got, want) -> bool:
    """Whether `got` is an allowed alternative of an edge case.

    Only the flat Jacobian entries listed last in `case.accept` are free, all others must equal the
    preferred value. For a product with the Jacobian of a vector result only non-finite entries are free.
    """
    if case.accept is None:
        return False
    kind, *bounds = case.accept
    got, want = np.asarray(got, float).ravel(), np.asarray(want, float).ravel()
    if got.shape != want.shape:
        return False
    free = np.zeros(want.size, bool)
    if want.size == case.ref_jac.size:
        free[list(bounds[-1])] = True
    else:
        free = ~np.isfinite(want)
    if not np.allclose(got[~free], want[~free], rtol=1e-9, atol=1e-12, equal_nan=True):
        return False
    got, want = got[free], want[free]
    if kind == "nan":
        return bool(np.all((got == want) | np.isnan(got)))
    if kind == "interval":
        return bool(np.all((got >= bounds[0] - 1e-12) & (got <= bounds[1] + 1e-12)))
    if kind == "simplex":  # ties: non-negative weights with the right total
        return bool(np.all(got >= -1e-12) and abs(got.sum() - want.sum()) < 1e-9)
    raise ValueError(f"unknown kind of alternative {kind!r} in {case.name}")
