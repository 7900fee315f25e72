"""What the tests minimise: a problem with known gradients, for which trajectories of Keras 3.15 are recorded."""

import numpy as np

C = np.array([[1.0, -2.0], [0.5, 4.0]])
START = [
    np.array([[0.46663102733715345, -0.27871655005018336], [0.7468708147077732, -0.26309197371521353]]),
    np.array([0.5, -1.0, 3.0]),
]
SHAPES = [(3, 4), (5,), (), (2, 1, 3), (0,)]


def bowl(params):
    """Gradients of ``sum((a @ C - 1)**2) + sum(exp(b) - 2 * b)``."""
    a, b = params
    return [2.0 * (a @ C - 1.0) @ C.T, np.exp(b) - 2.0]


def after(optimizer, steps=5):
    """All weights after some steps from START, flat, in float64."""
    params = [start.copy() for start in START]
    for _ in range(steps):
        optimizer.update(params, bowl(params))
    return np.concatenate([param.ravel() for param in params])


def draw(dtype, steps=5, seed=0):
    """Parameters of many shapes, and gradients for some steps."""
    rng = np.random.default_rng(seed)
    params = [rng.normal(size=shape).astype(dtype) for shape in SHAPES]
    grads = [[rng.normal(size=shape).astype(dtype) for shape in SHAPES] for _ in range(steps)]
    return params, grads


def check_definition(make, reference, dtype):
    """Compare with ``reference(w, grads)``, the definition for one parameter in float64."""
    params, grads = draw(dtype)
    want = [reference(w.astype(float), [g[k].astype(float) for g in grads]) for k, w in enumerate(params)]
    optimizer = make()
    for g in grads:
        assert optimizer.update(params, g) is None
    for got, expected in zip(params, want):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12 if dtype == np.float64 else 2e-5, atol=1e-6)
    assert optimizer.iterations == len(grads)
