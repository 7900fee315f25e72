"""Structures at the Python boundary: conversion, copies."""

from __future__ import annotations

import numpy as np
import pytest

from jitgrad.api.values import conform, copies, has_float, none_where_no_float
from jitgrad.errors import ArgumentError, ShapeError

RECORD = np.dtype([("a", float), ("n", int)])


@pytest.mark.parametrize("value", [1.0, 1j, np.float32(1), np.zeros(2), np.zeros(2, RECORD), (1, (2, 3.0)), [1.0]])
def test_what_has_floats(value):
    assert has_float(value)


@pytest.mark.parametrize("value", [1, True, None, "a", np.zeros(2, int), (1, "a"), [], (), np.zeros(2, [("n", int)])])
def test_what_has_none(value):
    assert not has_float(value)


@pytest.mark.parametrize(
    ("value", "like", "expected"),
    [
        (1, 2.0, 1.0),
        (np.float32(2.0), 2.0, 2.0),
        (np.array(3.0), 2.0, 3.0),
        (1, np.float32(2.0), np.float32(1.0)),
        (1, 1j, 1 + 0j),
        ((1, 5), (2.0, 7), (1.0, 0)),
        ((1, None), (2.0, "a"), (1.0, 0)),
    ],
)
def test_scalars(value, like, expected):
    found = conform(value, like, "t", "x")
    assert found == expected
    assert repr(found) == repr(expected)  # type and all


def test_arrays_are_fresh_and_contiguous():
    value = np.arange(6.0).reshape(2, 3).T
    found = conform(value, np.zeros((3, 2)), "t", "x")
    assert found.flags.c_contiguous and not np.shares_memory(found, value)
    assert conform([1, 2], np.zeros(2, np.float32), "t", "x").dtype == np.float32
    assert conform(1, np.zeros(()), "t", "x").shape == ()


def test_records():
    like = np.zeros(2, RECORD)
    assert conform(like, like, "t", "x").dtype == RECORD
    with pytest.raises(ArgumentError, match="structured"):
        conform(np.zeros(2), like, "t", "x")
    with pytest.raises(ShapeError):
        conform(np.zeros(3, RECORD), like, "t", "x")


def test_none_where_no_float():
    assert none_where_no_float((1.0, 0.0, (0.0,)), (1.0, 2, ("a",))) == (1.0, None, None)


def test_copies_keep_layout():
    fortran = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    (found,) = copies((fortran,))
    assert found.flags.f_contiguous and not np.shares_memory(found, fortran)
    n, text = copies((3, "a"))
    assert (n, text) == (3, "a")


@pytest.mark.parametrize(
    "views",
    [
        lambda x: (x, x),
        lambda x: (x[:3], x[1:]),
        lambda x: (x[::2], x[1::2]),
        lambda x: (x[::-1], x),
        lambda x: (x.reshape(2, 3), x[2:4]),
        lambda x: (x, (x[:2], x[4:])),
    ],
)
def test_copies_share_what_the_originals_share(views):
    def write(structure):
        first, second = structure
        first[...] = 10.0 * first + 1.0
        return np.array(second[0] if isinstance(second, tuple) else second)

    x = np.arange(6.0)
    copied = copies(views(x))
    before = x.copy()
    found = write(copied)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(found, write(views(x)))


def test_copies_of_unrelated_arrays_are_separate():
    a, b = copies((np.zeros(2), np.ones(2)))
    assert a.base is None and b.base is None
