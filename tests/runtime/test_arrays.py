"""Adjoints of broadcasting and of index arrays."""

import numpy as np
import pytest

from jitgrad.runtime import arrays

RNG = np.random.default_rng(0)


SHAPES = [
    ((3,), (3,)),
    ((1,), (3,)),
    ((3,), (2, 3)),
    ((2, 1), (2, 3)),
    ((1, 3), (2, 3)),
    ((1, 1), (2, 3)),
    ((3, 1), (2, 3, 4)),
    ((), (2, 3)),
    ((1, 3), (3,)),  # a store drops leading axes of size one
    ((0,), (0,)),
    ((1,), (0,)),
    ((3,), (0, 3)),
]


@pytest.mark.parametrize("sign", ["+", "-"])
@pytest.mark.parametrize("target, source", SHAPES)
def test_add_reduced_is_the_adjoint_of_broadcasting(target, source, sign):
    got, ct = RNG.normal(size=target), RNG.normal(size=source)
    expected = got.copy()
    probe = RNG.normal(size=target)
    fn = arrays.add_reduced(len(source), len(target), sign)
    assert fn.__name__ == ("add_reduced" if sign == "+" else "subtract_reduced")
    fn.py_func(got, ct)
    # <ct, broadcast(probe)> = <reduced ct, probe>
    stretched = np.broadcast_to(probe.reshape(source) if len(target) > len(source) else probe, source)
    added = np.sum((got - expected) * probe) * (1 if sign == "+" else -1)
    assert added == pytest.approx(np.sum(ct * stretched), abs=1e-13)


def test_add_reduced_of_parts_of_one_array_is_the_adjoint_of_an_update_first_to_last():
    # forward: for k: a[k + 1] += a[k]; the Jacobian is lower triangular of ones
    bar = RNG.normal(size=4)
    expected = np.tril(np.ones((4, 4))).T @ bar
    arrays.add_reduced(1, 1).py_func(bar[:-1], bar[1:])
    np.testing.assert_allclose(bar, expected)
    # forward: for k: a[k] += a[k + 1], each with what was there before
    bar = RNG.normal(size=4)
    expected = (np.eye(4) + np.eye(4, k=1)).T @ bar
    arrays.add_reduced(1, 1).py_func(bar[1:], bar[:-1])
    np.testing.assert_allclose(bar, expected)


def test_add_reduced_to_itself_doubles():
    bar = np.array([1.0, 2.0])
    arrays.add_reduced(1, 1).py_func(bar, bar)
    np.testing.assert_array_equal(bar, [2.0, 4.0])
    arrays.add_reduced(1, 1, "-").py_func(bar, bar)
    np.testing.assert_array_equal(bar, [0.0, 0.0])


def test_add_at_sums_what_is_repeated():
    a = np.zeros(4)
    arrays.advanced("add_at", 1, 1).py_func(a, np.array([0, 2, 0, -1]), np.array([1.0, 2.0, 4.0, 8.0]))
    np.testing.assert_array_equal(a, [5.0, 0.0, 2.0, 8.0])
    m = np.zeros((3, 2))
    arrays.advanced("add_at", 2, 1)(m, np.array([2, 2]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_array_equal(m, [[0, 0], [0, 0], [4, 6]])


def test_add_at_with_a_matrix_of_indices():
    a = np.zeros(3)
    arrays.advanced("add_at", 1, 2).py_func(a, np.array([[0, 1], [1, 1]]), np.array([[1.0, 2.0], [4.0, 8.0]]))
    np.testing.assert_array_equal(a, [1.0, 14.0, 0.0])


def test_take_at_gives_the_last_store_everything():
    bar = np.array([1.0, 2.0, 4.0])
    ct = arrays.advanced("take_at", 1, 1).py_func(bar, np.array([0, 2, 0]))
    np.testing.assert_array_equal(ct, [0.0, 4.0, 1.0])
    np.testing.assert_array_equal(bar, [0.0, 2.0, 0.0])


def test_take_at_sees_negative_and_positive_names_of_one_place():
    bar = np.array([1.0, 2.0, 4.0])
    ct = arrays.advanced("take_at", 1, 1).py_func(bar, np.array([2, -1]))
    np.testing.assert_array_equal(ct, [0.0, 4.0])


def test_take_at_of_rows():
    bar = np.arange(6.0).reshape(3, 2) + 1
    ct = arrays.advanced("take_at", 2, 1)(bar, np.array([1, 0, 1]))
    np.testing.assert_array_equal(ct, [[0, 0], [1, 2], [3, 4]])
    np.testing.assert_array_equal(bar, [[0, 0], [0, 0], [5, 6]])


@pytest.mark.parametrize("shape, mask_ndim", [((4,), 1), ((2, 3), 2), ((3, 2), 1)])
def test_masks(shape, mask_ndim):
    mask = RNG.random(shape[:mask_ndim]) > 0.4
    bar = RNG.normal(size=shape)
    before = bar.copy()
    ct = arrays.advanced("take_where", len(shape), mask_ndim).py_func(bar, mask)
    np.testing.assert_array_equal(ct, before[mask])
    assert not bar[mask].any() and (bar[~mask] == before[~mask]).all()
    if mask_ndim == len(shape):
        arrays.advanced("add_where", len(shape), mask_ndim).py_func(bar, mask, ct)
        np.testing.assert_array_equal(bar, before)


def test_masks_that_select_nothing():
    bar = np.ones(3)
    ct = arrays.advanced("take_where", 1, 1)(bar, np.zeros(3, np.bool_))
    assert ct.shape == (0,) and bar.all()


def test_types_stay():
    bar = np.ones(3, np.float32)
    assert arrays.advanced("take_at", 1, 1)(bar, np.array([1])).dtype == np.float32


def test_put_number():
    out = np.zeros((1, 1))
    arrays.put_number(out, 3.0)
    assert out[0, 0] == 3.0
    with pytest.raises(ValueError, match="size 1"):
        arrays.put_number(np.zeros(2), 3.0)
