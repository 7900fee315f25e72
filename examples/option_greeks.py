"""Greeks of a Monte Carlo option pricer, exact for the paths that were drawn.

One gradient gives the sensitivity to every input of the pricer at once. The payoff has a kink, which a first
derivative does not mind (the paths that end on it have probability zero); a second derivative would, so gamma is not
to be had this way.
"""

import math

import numpy as np
from numba import njit
from scipy.stats import norm

import jitgrad as jg


@njit
def price(spot, volatility, rate, maturity, strike, draws, asian):
    """The price of a European call, or of one on the path's average.

    `draws` has one row of standard normal numbers per path, one column per time step.
    """
    paths, steps = draws.shape
    dt = maturity / steps
    drift = (rate - 0.5 * volatility**2) * dt
    scale = volatility * math.sqrt(dt)
    total = 0.0
    for i in range(paths):
        value = spot
        average = 0.0
        for k in range(steps):
            value *= math.exp(drift + scale * draws[i, k])
            average += value / steps
        level = average if asian else value
        if level > strike:
            total += level - strike
    return math.exp(-rate * maturity) * total / paths


def black_scholes(spot, volatility, rate, maturity, strike):
    """Delta, vega, rho and theta (per year of maturity) of a European call, in closed form."""
    root = volatility * math.sqrt(maturity)
    d1 = (math.log(spot / strike) + (rate + 0.5 * volatility**2) * maturity) / root
    discounted = strike * math.exp(-rate * maturity) * norm.cdf(d1 - root)
    vega = spot * norm.pdf(d1) * math.sqrt(maturity)
    return np.array([norm.cdf(d1), vega, maturity * discounted, rate * discounted + vega * volatility / (2 * maturity)])


def main():
    inputs = (100.0, 0.2, 0.05, 1.0, 105.0)  # spot, volatility, rate, maturity, strike
    half = np.random.default_rng(1).standard_normal((50_000, 12))
    draws = np.concatenate([half, -half])  # antithetic paths halve the noise

    greeks = jg.value_and_grad(price, argnums=(0, 1, 2, 3))
    value, european = greeks(*inputs, draws, False)
    asian_value, asian = greeks(*inputs, draws, True)
    exact = black_scholes(*inputs)
    print("                 price     delta      vega       rho     theta")
    print(f"European call {value:8.4f}", "".join(f"{g:10.4f}" for g in european))
    print("closed form           ", "".join(f"{g:10.4f}" for g in exact))
    print(f"Asian call    {asian_value:8.4f}", "".join(f"{g:10.4f}" for g in asian))

    np.testing.assert_allclose(european, exact, rtol=0.01)
    h = 1e-4
    up, down = (price(inputs[0], inputs[1] + s * h, *inputs[2:], draws, True) for s in (1, -1))
    assert abs(asian[1] - (up - down) / (2 * h)) < 1e-2
    print("check: European Greeks within 1 % of Black-Scholes, Asian vega equals a difference quotient")


if __name__ == "__main__":
    main()
