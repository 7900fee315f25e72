"""Derivatives of functions of tape values against central differences, of first and second order."""

import numpy as np

import jitgrad

STEP = 1e-5


def draw(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def gradients(f, *arrays, ct=None):
    """The gradients of `f` (weighted with `ct`) with respect to all arrays, as arrays."""
    xs = [jitgrad.constant(a) for a in arrays]
    with jitgrad.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return [None if g is None else g.numpy() for g in tape.gradient(y, xs, output_gradients=ct)]


def check(f, *arrays, second=True, rtol=1e-7):
    """Compare values, gradients and products of second derivatives with what arrays and differences say."""
    with np.errstate(all="raise", under="ignore"):
        want = f(*arrays)
    xs = [jitgrad.constant(a) for a in arrays]
    got = f(*xs)
    assert isinstance(got, jitgrad.Tensor) and isinstance(want, (np.ndarray, np.generic))
    np.testing.assert_array_equal(got, want)
    ct = draw(*want.shape, seed=91)
    _compare(lambda *a: np.sum(f(*a) * ct), lambda *a: gradients(f, *a, ct=ct), arrays, rtol)
    if second:
        directions = [draw(*a.shape, seed=92 + k) for k, a in enumerate(arrays)]

        def along(*values):
            with jitgrad.GradientTape() as tape:
                tape.watch(values)
                y = f(*values)
            found = tape.gradient(y, list(values), output_gradients=ct, unconnected_gradients="zero")
            return sum(np.sum(g * d) for g, d in zip(found, directions, strict=True))

        def plain(*a):
            return along(*[jitgrad.constant(v) for v in a]).numpy()

        def both_orders(*a):
            values = [jitgrad.constant(v) for v in a]
            with jitgrad.GradientTape() as tape:
                tape.watch(values)
                s = along(*values)
            return [g.numpy() for g in tape.gradient(s, values, unconnected_gradients="zero")]

        _compare(plain, both_orders, arrays, rtol)


def _compare(scalar, gradient, arrays, rtol):
    for k, g in enumerate(gradient(*arrays)):
        assert g.shape == arrays[k].shape and g.dtype == arrays[k].dtype
        want = np.empty_like(arrays[k])
        for place in np.ndindex(arrays[k].shape):
            moved = []
            for sign in (1, -1):
                a = arrays[k].copy()
                a[place] += sign * STEP
                moved.append(scalar(*arrays[:k], a, *arrays[k + 1 :]))
            want[place] = (moved[0] - moved[1]) / (2 * STEP)
        scale = max(np.abs(want).max(initial=0), 1)
        np.testing.assert_allclose(g, want, rtol=rtol, atol=rtol * scale, err_msg=f"operand {k}")


def keeps_float32(f, *arrays):
    """Whether values and gradients of float32 stay so, and are those of float64 within its precision."""
    single = [a.astype(np.float32) for a in arrays]
    got = f(*single)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, f(*arrays), rtol=3e-5, atol=3e-6)
    ct = draw(*got.shape, seed=93)
    for g, want in zip(gradients(f, *single, ct=ct.astype(np.float32)), gradients(f, *arrays, ct=ct), strict=True):
        assert g.dtype == np.float32
        np.testing.assert_allclose(g, want, rtol=1e-4, atol=1e-5 * max(np.abs(want).max(initial=0), 1))
