"""Functions that only move elements get their pullback from the function itself."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.tape.functions.rearranging import SCATTER, rearrangement
from tests.tape.functions.derivatives import check, inputs, taped_gradient


def test_fills_get_no_cotangent_and_repeats_are_summed():
    weave = rearrangement("Weave", lambda a, b: np.stack([a, np.zeros_like(a), np.broadcast_to(b, a.shape)]))
    a, b = jg.constant([1.0, 2.0]), jg.constant(3.0)
    weights = np.array([[1.0, 10.0], [100.0, 1000.0], [5.0, 6.0]])
    in_a, in_b = taped_gradient(lambda x, y: np.sum(weave(x, y) * weights), [a, b])
    np.testing.assert_array_equal(in_a, [1.0, 10.0])
    np.testing.assert_array_equal(in_b, 11.0)


def test_plain_arrays_give_plain_arrays():
    assert type(rearrangement("Flip", np.flip)(np.arange(3.0))) is np.ndarray


@pytest.mark.parametrize("index", [(slice(1, None),), (np.array([1, 1, 0]),), (np.array([True, False, True]),), 2])
def test_scatter(index):
    x = np.arange(3.0)[index]
    check(lambda c: SCATTER(c, (3,), index), [np.array(x + 0.3)])


def test_scatter_is_the_transpose_of_an_item():
    (x, ct) = inputs(4, 3)
    index = np.array([2, 2, 0])
    assert np.sum(x[index] * ct) == pytest.approx(np.sum(x * SCATTER(ct, (4,), index)))
