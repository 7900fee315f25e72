"""Rules of random draws.

A draw is a constant. Where the distribution only shifts or scales a standard draw, the derivative in the
location and scale is exact for the run as it happened (the same seed gives the same standard draw):
``d out / d loc = 1`` and ``d out / d scale = (out - loc) / scale``. For the other parameters (degrees of
freedom, shapes) the way from parameter to draw is a rejection loop, so an active one is an error, not a zero.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from jitgrad.rules.registry import ArrayRule, MutatingRule, ZeroRule, register
from jitgrad.runtime.kernels import compiled, mul0, ratio0


def _draws(*names: str, module: Any = np.random) -> tuple:
    return tuple(dict.fromkeys(getattr(module, name) for name in names if hasattr(module, name)))


# ----- location and scale --------------------------------------------------------------------------
# `out` is a scalar or an array; each function exists once for each, chosen by Numba's typing of np.sum and *.


@compiled
def _shift_push(dot, out):
    return out * 0 + dot


@compiled
def _shift_pull(ct):
    return np.sum(ct)


@compiled
def _scale_push(dot, loc, scale, out):
    return (out - loc) * ratio0(dot, scale)


@compiled
def _scale_pull(ct, loc, scale, out):
    return ratio0(np.sum(ct * (out - loc)), scale)


@compiled
def _scale_only_push(dot, scale, out):
    return out * ratio0(dot, scale)


@compiled
def _scale_only_pull(ct, scale, out):
    return ratio0(np.sum(ct * out), scale)


# uniform(low, high): low + (high - low) * u
@compiled
def _low_push(dot, low, high, out):
    return (high - out) * ratio0(dot, high - low)


@compiled
def _low_pull(ct, low, high, out):
    return ratio0(np.sum(ct * (high - out)), high - low)


@compiled
def _high_push(dot, low, high, out):
    return (out - low) * ratio0(dot, high - low)


@compiled
def _high_pull(ct, low, high, out):
    return ratio0(np.sum(ct * (out - low)), high - low)


# lognormal(mean, sigma): exp(mean + sigma * z)
@compiled
def _log_mean_push(dot, out):
    return out * dot


@compiled
def _log_mean_pull(ct, out):
    return np.sum(ct * out)


@compiled
def _log_sigma_push(dot, mean, sigma, out):
    return out * (np.log(out) - mean) * ratio0(dot, sigma)


@compiled
def _log_sigma_pull(ct, mean, sigma, out):
    return ratio0(np.sum(ct * out * (np.log(out) - mean)), sigma)


# expovariate(lambd): a standard draw divided by lambd
@compiled
def _rate_push(dot, lambd, out):
    return mul0(dot, -out / lambd)


_LOC_SCALE: dict[str, Any] = {
    "params": "loc=0.0, scale=1.0, size=None",
    "push": {"loc": _shift_push, "scale": _scale_push},
    "pull": {"loc": _shift_pull, "scale": _scale_pull},
    "note": "shift and scale of a standard draw",
}
register(
    ArrayRule(
        functions=_draws("normal", "laplace", "logistic", "gumbel"),
        methods=("generator.normal", "generator.laplace", "generator.logistic"),
        **_LOC_SCALE,
    )
)
register(
    ArrayRule(
        functions=(random.gauss, random.normalvariate),
        params="loc=0.0, scale=1.0",
        push=_LOC_SCALE["push"],
        pull=_LOC_SCALE["pull"],
    )
)
register(
    ArrayRule(
        functions=_draws("exponential", "rayleigh"),
        methods=("generator.exponential", "generator.rayleigh"),
        params="scale=1.0, size=None",
        push={"scale": _scale_only_push},
        pull={"scale": _scale_only_pull},
    )
)
register(
    ArrayRule(
        functions=(*_draws("uniform"), random.uniform),
        methods=("generator.uniform",),
        params="low=0.0, high=1.0, size=None",
        push={"low": _low_push, "high": _high_push},
        pull={"low": _low_pull, "high": _high_pull},
    )
)
register(
    ArrayRule(
        functions=(*_draws("lognormal"), random.lognormvariate),
        methods=("generator.lognormal",),
        params="mean=0.0, sigma=1.0, size=None",
        push={"mean": _log_mean_push, "sigma": _log_sigma_push},
        pull={"mean": _log_mean_pull, "sigma": _log_sigma_pull},
    )
)
register(
    ArrayRule(functions=(random.expovariate,), params="lambd", push={"lambd": _rate_push}, pull={"lambd": _rate_push})
)

# ----- constants -----------------------------------------------------------------------------------

register(
    ZeroRule(
        functions=(
            *_draws(
                "rand",
                "randn",
                "random",
                "random_sample",
                "ranf",
                "sample",
                "standard_normal",
                "standard_exponential",
                "standard_cauchy",
                "randint",
                "seed",
                "poisson",
                "binomial",
                "geometric",
                "hypergeometric",
                "negative_binomial",
                "logseries",
                "zipf",
                "multinomial",
            ),
            *_draws("random", "randint", "randrange", "getrandbits", "seed", module=random),
        ),
        methods=tuple(
            f"generator.{name}"
            for name in (
                "random",
                "integers",
                "standard_normal",
                "standard_exponential",
                "standard_cauchy",
                "poisson",
                "binomial",
                "geometric",
                "negative_binomial",
                "logseries",
                "zipf",
            )
        ),
        note="draws are constants",
    )
)
_REASON = "the draw depends on this parameter through a rejection loop, so it has no derivative along the run"
register(
    ZeroRule(
        functions=(
            *_draws(
                "beta",
                "chisquare",
                "dirichlet",
                "f",
                "gamma",
                "noncentral_chisquare",
                "pareto",
                "power",
                "standard_gamma",
                "standard_t",
                "triangular",
                "vonmises",
                "wald",
                "weibull",
            ),
            *_draws(
                "betavariate",
                "gammavariate",
                "paretovariate",
                "triangular",
                "vonmisesvariate",
                "weibullvariate",
                module=random,
            ),
        ),
        methods=tuple(
            f"generator.{name}"
            for name in (
                "beta",
                "chisquare",
                "f",
                "gamma",
                "noncentral_chisquare",
                "noncentral_f",
                "pareto",
                "power",
                "standard_gamma",
                "standard_t",
                "triangular",
                "wald",
                "weibull",
            )
        ),
        active_reason=_REASON,
        active_way_out="draw with a constant parameter, or wrap the parameter in stop_gradient",
        note="draws are constants; an active parameter is an error",
    )
)
register(
    MutatingRule(functions=(*_draws("shuffle"), random.shuffle), methods=("generator.shuffle",), params="x", target="x")
)
