"""What the tests of this folder share: derivatives of a function of arrays, by tapes and by central differences."""

from __future__ import annotations

import numpy as np
import pytest

import jitgrad as jg


def inputs(*shapes, seed=3, low=0.3, high=1.7):
    """Random arrays without ties, of both signs where `low` is negative."""
    rng = np.random.default_rng(seed)
    return tuple(rng.uniform(low, high, s) for s in shapes)


def leaves(out):
    return [leaf for part in out for leaf in leaves(part)] if isinstance(out, (list, tuple)) else [out]


def scalar(f):
    """A function of the arguments of `f`: a sum of nonlinear functions of all it gives, with different weights."""

    def total(*xs):
        parts = [np.ravel(leaf) for leaf in leaves(f(*xs))]
        return sum(np.sum(np.sin(p) * (1.0 + 0.3 * np.arange(p.size)) * (k + 1.0)) for k, p in enumerate(parts))

    return total


def taped_gradient(total, xs):
    """Gradients of a scalar function with respect to all arguments, as tensors where a tape listens."""
    with jg.GradientTape() as tape:
        tape.watch(xs)
        y = total(*xs)
    return tape.gradient(y, xs, unconnected_gradients="zero")


def gradient_square(total):
    """The sum of squares of the gradient, with weights, by a tape."""

    def square(*xs):
        parts = [np.ravel(g) for g in taped_gradient(total, list(xs))]
        return sum(np.sum(p * p * (1.0 + 0.1 * np.arange(p.size))) for p in parts)

    return square


def differences(total, xs, step):
    """Central differences of a scalar function of arrays, of fourth order."""
    grads = []
    for k, x in enumerate(xs):
        g = np.zeros(x.shape)
        for at in np.ndindex(x.shape):
            values = []
            for side in (-2, -1, 1, 2):
                moved = [np.array(v) for v in xs]
                moved[k][at] += side * step
                values.append(float(total(*moved)))
            g[at] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step)
        grads.append(g)
    return grads


def check(f, xs):
    """The values against NumPy's, first and second order against central differences, forward mode."""
    total = scalar(f)
    tensors = [jg.constant(x) for x in xs]
    for mine, numpys in zip(leaves(f(*tensors)), leaves(f(*xs)), strict=True):
        assert isinstance(mine, jg.Tensor)
        assert mine.shape == np.shape(numpys)
        assert mine.dtype == np.asarray(numpys).dtype
        np.testing.assert_allclose(mine, numpys, rtol=1e-14, atol=1e-14)
    gradients = taped_gradient(total, tensors)
    for mine, slope in zip(gradients, differences(total, xs, 1e-3), strict=True):
        np.testing.assert_allclose(mine, slope, rtol=1e-8, atol=1e-8)
    tangents = [np.cos(1.0 + np.arange(x.size)).reshape(x.shape) for x in xs]
    with jg.ForwardAccumulator(tensors, tangents) as accumulator:
        y = total(*tensors)
    slope = sum(np.sum(np.asarray(g) * t) for g, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(accumulator.jvp(y), slope, rtol=1e-10, atol=1e-10)
    square = gradient_square(total)

    def by_tapes(*arrays):
        return square(*map(jg.constant, arrays))

    for mine, slope in zip(taped_gradient(square, tensors), differences(by_tapes, xs, 1e-3), strict=True):
        np.testing.assert_allclose(mine, slope, rtol=1e-6, atol=1e-6)


def cases(table):
    """A parametrization of ``(f, *xs)`` by a dict from names to such tuples."""
    return pytest.mark.parametrize(("f", "xs"), [pytest.param(f, xs, id=name) for name, (f, *xs) in table.items()])
