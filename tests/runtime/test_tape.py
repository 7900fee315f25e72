"""The tape's memory."""

import numpy as np
import pytest

from jitgrad.runtime import tape


def test_a_strip_with_room_is_returned_itself():
    strip = np.arange(4.0)
    assert tape.grow(strip, 4) is strip and tape.grow.py_func(strip, 0) is strip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_, np.complex128])
def test_growing_keeps_entries_and_type(dtype):
    strip = np.arange(3).astype(dtype)
    larger = tape.grow.py_func(strip, 4)
    assert larger.dtype == dtype and larger.size >= 4
    np.testing.assert_array_equal(larger[:3], strip)


def test_growing_is_by_doubling():
    strip, copies = np.empty(1), 0
    for k in range(1000):
        larger = tape.grow.py_func(strip, k + 1)
        copies += larger is not strip
        strip = larger
    assert copies <= 11


def test_growing_to_a_given_size_at_once():
    assert tape.grow.py_func(np.empty(4), 100).size == 100
    assert tape.grow.py_func(np.empty(0), 1).size == 1


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3).T, np.zeros((0, 3)), np.array(3.0)]
)
def test_storing_is_in_c_order(array):
    strip = np.full(10, -1.0)
    tape.store.py_func(strip, 2, array)
    np.testing.assert_array_equal(strip[2 : 2 + array.size], array.ravel())
    assert (strip[:2] == -1).all() and (strip[2 + array.size :] == -1).all()


def test_compiled():
    strip = tape.grow(np.zeros(2), 6)
    view = np.arange(8.0).reshape(4, 2)[::2, ::-1]
    tape.store(strip, 1, view)
    np.testing.assert_array_equal(strip[1:5], view.ravel())


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0), (2, 3, 2)])
def test_put(shape):
    array = np.arange(float(np.prod(shape))).reshape(shape) if shape else np.array(2.5)
    strip = np.zeros((4, *shape))
    put = tape.put(len(shape))
    assert put is tape.put(len(shape))  # made once
    put.py_func(strip, 2, array)
    np.testing.assert_array_equal(strip[2], array)
    assert not strip[[0, 1, 3]].any()


def test_put_takes_any_layout():
    strip, array = np.zeros((2, 3, 2)), np.arange(6.0).reshape(2, 3).T
    tape.put(2)(strip, 1, array)
    np.testing.assert_array_equal(strip[1], array)
