"""Softmax and cross entropies against SciPy, differences, and what limits say at extremes."""

import mpmath
import numpy as np
import pytest
import scipy.special

import jitgrad
from jitgrad import nn
from tests.nn.checking import check, draw, gradients, keeps_float32

INF = float("inf")
Z = 3 * draw(4, 5)
P = scipy.special.softmax(draw(4, 5, seed=1), axis=-1)
LABELS = np.array([0, 4, 2, 2])


@pytest.mark.parametrize("axis", [-1, 0, 1, (0, 1), [1, 0]])
def test_softmax_and_its_logarithm(axis):
    reference = tuple(axis) if isinstance(axis, list) else axis
    np.testing.assert_allclose(nn.softmax(Z, axis=axis), scipy.special.softmax(Z, axis=reference), rtol=1e-14)
    np.testing.assert_allclose(nn.log_softmax(Z, axis=axis), scipy.special.log_softmax(Z, axis=reference), rtol=1e-14)
    check(lambda z: nn.softmax(z, axis=axis), Z)
    check(lambda z: nn.log_softmax(z, axis=axis), Z)


def test_softmax_takes_the_last_axis_by_default():
    np.testing.assert_array_equal(nn.softmax(Z), nn.softmax(Z, axis=1))
    np.testing.assert_array_equal(nn.log_softmax(Z, axis=None), nn.log_softmax(Z, axis=-1))


LOSSES = {
    "softmax": (nn.softmax_cross_entropy_with_logits, P),
    "sigmoid": (nn.sigmoid_cross_entropy_with_logits, P),
    "weighted": (lambda y, z: nn.weighted_cross_entropy_with_logits(y, z, 2.5), P),
    "sparse": (lambda y, z: nn.sparse_softmax_cross_entropy_with_logits(LABELS, z), P),
    "axis 0": (lambda y, z: nn.softmax_cross_entropy_with_logits(labels=y, logits=z, axis=0), P),
    "any sum": (nn.softmax_cross_entropy_with_logits, 3 * P + 0.1),
}
EACH = pytest.mark.parametrize("name", LOSSES)


@EACH
def test_derivatives_in_logits(name):
    f, labels = LOSSES[name]
    check(lambda z: f(labels, z), Z)


@pytest.mark.parametrize("name", sorted(LOSSES.keys() - {"sparse"}))
def test_derivatives_in_labels_and_logits(name):
    f, labels = LOSSES[name]
    check(f, labels, Z)


@EACH
def test_float32(name):
    f, labels = LOSSES[name]
    keeps_float32(lambda z: f(labels.astype(z.dtype), z), Z)


def test_values():
    logp = scipy.special.log_softmax(Z, axis=-1)
    np.testing.assert_allclose(nn.softmax_cross_entropy_with_logits(P, Z), -(P * logp).sum(-1), rtol=1e-14)
    np.testing.assert_allclose(
        nn.sparse_softmax_cross_entropy_with_logits(labels=LABELS, logits=Z), -logp[range(4), LABELS], rtol=1e-14
    )
    s = scipy.special.expit(Z)
    want = -P * np.log(s) - (1 - P) * np.log1p(-s)
    np.testing.assert_allclose(nn.sigmoid_cross_entropy_with_logits(labels=P, logits=Z), want, rtol=1e-13)
    want = -P * np.log(s) * 2.5 - (1 - P) * np.log1p(-s)
    np.testing.assert_allclose(nn.weighted_cross_entropy_with_logits(P, Z, pos_weight=2.5), want, rtol=1e-13)


def test_sparse_labels_have_any_number_of_axes():
    z = draw(2, 3, 4, seed=5)
    labels = np.array([[0, 3, 1], [2, 2, 0]], np.uint8)
    want = nn.softmax_cross_entropy_with_logits(np.eye(4)[labels], z)
    np.testing.assert_allclose(nn.sparse_softmax_cross_entropy_with_logits(labels, z), want, rtol=1e-14)
    check(lambda z: nn.sparse_softmax_cross_entropy_with_logits(jitgrad.constant(labels), z), z)
    np.testing.assert_allclose(nn.sparse_softmax_cross_entropy_with_logits(3, z[0, 0]), -np.log(nn.softmax(z[0, 0]))[3])
    assert nn.sparse_softmax_cross_entropy_with_logits([], np.empty((0, 4))).shape == (0,)


# ----- extremes -------------------------------------------------------------------------------------
EXTREME = np.array([[1000.0, 0.0, -1000.0], [-1000.0, -1000.0, -1001.0], [0.0, -INF, 0.0], [3e4, -3e4, 1.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_softmax_at_extremes(dtype):
    z = EXTREME.astype(dtype)
    w = draw(4, 3, dtype=dtype)
    e = 1 / (2 + np.exp(-1.0))
    p = np.array([[1, 0, 0], [e, e, e * np.exp(-1.0)], [0.5, 0, 0.5], [1, 0, 0]])
    with np.errstate(all="raise", under="ignore"):
        tolerance = dict(rtol=1e-6 if dtype == np.float32 else 1e-14)
        np.testing.assert_allclose(nn.softmax(z), p, **tolerance)
        logp = nn.log_softmax(z)
        np.testing.assert_allclose(logp[0], [0, -1000, -2000])
        np.testing.assert_allclose(logp[2], [-np.log(2), -INF, -np.log(2)], **tolerance)
        want = p * (w - (p * w).sum(-1, keepdims=True))
        np.testing.assert_allclose(gradients(nn.softmax, z, ct=w)[0], want, rtol=1e-5, atol=1e-7)
        want = w - p * w.sum(-1, keepdims=True)
        np.testing.assert_allclose(gradients(nn.log_softmax, z, ct=w)[0], want, rtol=1e-5, atol=1e-7)


def test_cross_entropy_at_extremes():
    labels = np.array([2, 0, 0, 1])
    one_hot = np.eye(3)[labels]
    with np.errstate(all="raise", under="ignore"):
        sparse = nn.sparse_softmax_cross_entropy_with_logits(labels, EXTREME)
        np.testing.assert_allclose(sparse, [2000, np.log(2 + np.exp(-1.0)), np.log(2), 6e4])
        # a class of label 0 and probability 0 adds nothing
        np.testing.assert_allclose(nn.softmax_cross_entropy_with_logits(one_hot, EXTREME), sparse)
        want = nn.softmax(EXTREME) - one_hot
        for f in (
            lambda z: nn.sparse_softmax_cross_entropy_with_logits(labels, z),
            lambda z: nn.softmax_cross_entropy_with_logits(one_hot, z),
        ):
            np.testing.assert_allclose(gradients(f, EXTREME)[0], want, rtol=1e-14)


def test_an_impossible_class_costs_infinity_with_a_finite_gradient():
    z = np.array([[-INF, 0.0]])
    assert nn.sparse_softmax_cross_entropy_with_logits([0], z) == INF
    np.testing.assert_array_equal(
        gradients(lambda z: nn.sparse_softmax_cross_entropy_with_logits([0], z), z)[0], [[-1, 1]]
    )


@pytest.mark.parametrize("z", [-INF, -1000.0, -40.0, 0.0, 40.0, 1000.0, INF])
@pytest.mark.parametrize("label", [0.0, 0.25, 1.0])
def test_sigmoid_cross_entropy_at_extremes(z, label):
    with np.errstate(all="raise", under="ignore"):
        got = nn.sigmoid_cross_entropy_with_logits(np.array([label]), np.array([z]))
        slope = gradients(lambda v: nn.sigmoid_cross_entropy_with_logits(np.array([label]), v), np.array([z]))[0]
    if np.isinf(z):
        want = 0.0 if label == (z > 0) else INF
    else:
        with mpmath.workdps(600):
            x = mpmath.mpf(z)
            want = float(label * mpmath.log1p(mpmath.exp(-x)) + (1 - mpmath.mpf(label)) * mpmath.log1p(mpmath.exp(x)))
    np.testing.assert_allclose(got, want, rtol=1e-14)
    np.testing.assert_allclose(slope, scipy.special.expit(z) - label, rtol=1e-14, atol=1e-16)


# ----- errors ---------------------------------------------------------------------------------------
def test_errors():
    sparse = nn.sparse_softmax_cross_entropy_with_logits
    with pytest.raises(jitgrad.ArgumentError, match="labels must lie between 0 and 4, and 5 does not"):
        sparse([0, 1, 5, 0], Z)
    with pytest.raises(jitgrad.ArgumentError, match="-1 does not"):
        sparse([0, 1, -1, 0], Z)
    with pytest.raises(jitgrad.ArgumentError, match="labels must be integers, not float64"):
        sparse(P[:, 0], Z)
    with pytest.raises(jitgrad.ShapeError, match=r"labels of shape \(3,\) and logits of shape \(4, 5\)"):
        sparse([0, 1, 2], Z)
    with pytest.raises(jitgrad.ShapeError, match="axis of classes"):
        sparse(0, 1.0)
    for f in (nn.softmax_cross_entropy_with_logits, nn.sigmoid_cross_entropy_with_logits):
        with pytest.raises(jitgrad.ShapeError, match=r"same shape, got \(4, 5\) and \(4, 4\)"):
            f(labels=P, logits=Z[:, :4])
