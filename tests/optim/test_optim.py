"""Optimizers against their definitions written in NumPy, and their state."""

import numpy as np
import pytest

from jitgrad.errors import ArgumentError, DataError
from jitgrad.optim import OPTIMIZERS, SGD, Adam

SHAPES = [(3, 4), (5,), (), (2, 1, 3), (0,)]


def sgd(w, grads, rate=0.01):
    for g in grads:
        w = w - rate * g
    return w


def sgd_momentum(w, grads, rate, momentum, nesterov=False):
    velocity = np.zeros_like(w)
    for g in grads:
        velocity = momentum * velocity - rate * g
        w = w + momentum * velocity - rate * g if nesterov else w + velocity
    return w


def adam(w, grads, rate=0.001, b1=0.9, b2=0.999, eps=1e-7):
    m, v = np.zeros_like(w), np.zeros_like(w)
    for t, g in enumerate(grads, 1):
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g**2
        w = w - rate * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(v) + eps)
    return w


CASES = {
    "sgd": (lambda: SGD(), lambda w, g: sgd(w, g)),
    "sgd-rate": (lambda: SGD(0.3), lambda w, g: sgd(w, g, 0.3)),
    "momentum": (lambda: SGD(0.1, momentum=0.9), lambda w, g: sgd_momentum(w, g, 0.1, 0.9)),
    "nesterov": (
        lambda: SGD(0.1, momentum=0.9, nesterov=True),
        lambda w, g: sgd_momentum(w, g, 0.1, 0.9, True),
    ),
    "adam": (lambda: Adam(), lambda w, g: adam(w, g)),
    "adam-all": (lambda: Adam(0.1, 0.5, 0.75, 1e-3), lambda w, g: adam(w, g, 0.1, 0.5, 0.75, 1e-3)),
}


def draw(dtype, steps=5, seed=0):
    rng = np.random.default_rng(seed)
    params = [rng.normal(size=shape).astype(dtype) for shape in SHAPES]
    grads = [[rng.normal(size=shape).astype(dtype) for shape in SHAPES] for _ in range(steps)]
    return params, grads


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES)
def test_equals_its_definition(case, dtype):
    make, reference = CASES[case]
    params, grads = draw(dtype)
    want = [reference(w.astype(float), [g[k].astype(float) for g in grads]) for k, w in enumerate(params)]
    optimizer = make()
    for g in grads:
        assert optimizer.update(params, g) is None
    for got, expected in zip(params, want, strict=True):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=1e-13 if dtype == np.float64 else 2e-5, atol=1e-6)
    assert optimizer.iterations == len(grads)


def test_known_first_steps():
    # By hand: Adam's first step is the learning rate, whatever the gradient's scale.
    w = np.array([1.0, 1.0])
    Adam(0.1, epsilon=0.0).update([w], [np.array([1e-6, 1e6])])
    np.testing.assert_allclose(w, 0.9, rtol=1e-12)
    w = np.array([1.0])
    plain = SGD(0.5, momentum=0.5)
    plain.update([w], [np.array([2.0])])
    plain.update([w], [np.array([0.0])])
    assert w[0] == 1.0 - 1.0 - 0.5


def test_parameters_of_any_layout_and_dtype_are_updated_in_place():
    base = np.ones((4, 6))
    params = [base.T, base[:, ::2][:2], np.ones((2, 2), np.float32), np.asfortranarray(np.ones((2, 3)))]
    kept = list(params)
    grads = [np.zeros((6, 4)), np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 3), np.float32)]
    SGD(0.25).update(params, grads)
    assert all(a is b for a, b in zip(params, kept))
    np.testing.assert_array_equal(base[:2, ::2], 0.75)
    np.testing.assert_array_equal(base[:, 1::2], 1.0)
    np.testing.assert_array_equal(params[2], np.full((2, 2), 0.75, np.float32))
    np.testing.assert_array_equal(params[3], 0.75)


@pytest.mark.parametrize("case", CASES)
def test_restored_state_continues_bit_for_bit(case):
    make, _ = CASES[case]
    params, grads = draw(np.float32, steps=6)
    straight = [w.copy() for w in params]
    one = make()
    for g in grads:
        one.update(straight, g)
    two = make()
    for g in grads[:3]:
        two.update(params, g)
    state = two.state_dict()
    three = make()
    three.load_state_dict(state, params)
    two.update([w.copy() for w in params], grads[3])  # the saved state is a copy
    for g in grads[3:]:
        three.update(params, g)
    for got, expected in zip(params, straight, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_state_before_the_first_update():
    optimizer = Adam()
    optimizer.load_state_dict(Adam().state_dict(), [np.ones(2)])
    w = np.ones(2)
    optimizer.update([w], [np.ones(2)])
    np.testing.assert_allclose(w, 0.999)


def test_state_of_another_optimizer_or_model_is_refused():
    w, g = [np.ones((2, 3))], [np.ones((2, 3))]
    momentum = SGD(0.1, momentum=0.9)
    momentum.update(w, g)
    with pytest.raises(DataError, match=r"momentum\.0 is missing; was it saved by another optimizer\?"):
        Adam().load_state_dict(momentum.state_dict(), w)
    with pytest.raises(DataError, match=r"velocity\.0 is float64 of shape \(6,\), the parameter needs float32"):
        SGD(0.1, momentum=0.9).load_state_dict(momentum.state_dict(), [np.ones((2, 3), np.float32)])
    with pytest.raises(DataError, match=r"velocity\.1 is missing"):
        SGD(0.1, momentum=0.9).load_state_dict(momentum.state_dict(), w * 2)
    with pytest.raises(DataError, match="iterations is missing"):
        SGD().load_state_dict({}, w)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SGD(-1.0), "learning_rate must be at least 0 and below inf, not -1.0"),
        (lambda: SGD(float("nan")), "learning_rate must be at least 0"),
        (lambda: SGD("fast"), "learning_rate must be a number, not 'fast'"),
        (lambda: SGD(momentum=1.0), "momentum must be at least 0 and below 1, not 1.0"),
        (lambda: SGD(nesterov=True), "nesterov needs a momentum above 0"),
        (lambda: Adam(beta_1=1.0), "beta_1 must be at least 0 and below 1"),
        (lambda: Adam(beta_2=-0.1), "beta_2 must be"),
        (lambda: Adam(epsilon=-1e-9), "epsilon must be"),
        (lambda: SGD().update([np.ones(2)], []), "update: 1 parameters but 0 gradients"),
        (
            lambda: SGD().update([np.ones(2)], [np.ones(3)]),
            "gradient 0 has shape (3,), its parameter has (2,)",
        ),
        (
            lambda: SGD().update([np.ones(2, int)], [np.ones(2)]),
            "parameter 0 must be a float32 or float64 array, not",
        ),
        (lambda: SGD().update([np.broadcast_to(1.0, 2)], [np.ones(2)]), "update: parameter 0 is read-only"),
        (lambda: SGD().update([1.0], [1.0]), "parameter 0 must be a float32 or float64 array, not float"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ArgumentError) as caught:
        make()
    assert words in str(caught.value)


def test_parameters_cannot_change_shape_between_updates():
    optimizer = SGD(0.1, momentum=0.5)
    optimizer.update([np.ones(3)], [np.ones(3)])
    with pytest.raises(ArgumentError, match="state for parameter 0 is of 3 float64 numbers, the parameter is float64"):
        optimizer.update([np.ones(4)], [np.ones(4)])
    with pytest.raises(ArgumentError, match="state is of 1 parameters, not 2"):
        optimizer.update([np.ones(3)] * 2, [np.ones(3)] * 2)


def test_nan_gradient_is_not_hidden():
    for make, _ in CASES.values():
        w = np.ones(3)
        make().update([w], [np.array([0.0, np.nan, 1.0])])
        assert list(np.isnan(w)) == [False, True, False]


def test_minimizes_a_quadratic():
    target = np.array([1.0, -2.0, 3.0])
    for name, options in [("sgd", {"learning_rate": 0.1}), ("adam", {"learning_rate": 0.05})]:
        w, optimizer = np.zeros(3), OPTIMIZERS[name](**options)
        for _ in range(500):
            optimizer.update([w], [2 * (w - target)])
        np.testing.assert_allclose(w, target, atol=1e-3)
