"""Buffers of slots: they grow, parts of them can be had, and they are saved under names."""

import numpy as np
import pytest

from jitgrad.errors import DataError
from jitgrad.optim.slots import Slots

F4 = np.dtype(np.float32)
F8 = np.dtype(np.float64)


def made():
    slots = Slots({"mean": 0.0, "square": 0.5})
    slots.add([np.ones((2, 3)), np.ones(2, F4), np.ones(()), np.ones(0)])
    return slots


def test_new_parameters_keep_the_old_ones():
    slots = made()
    with slots.rows(F8, [0, 2, 3]) as rows:
        rows[0] = np.arange(7)
    slots.add([np.ones(4), np.ones(1, F4)])
    np.testing.assert_array_equal(slots.view(0, "mean"), [[0, 1, 2], [3, 4, 5]])
    assert slots.view(2, "mean") == 6 and slots.view(2, "mean").shape == ()
    np.testing.assert_array_equal(slots.view(4, "square"), [0.5] * 4)
    assert slots.view(5, "square").dtype == F4


@pytest.mark.parametrize("chosen", [[0, 2, 3], [0], [2, 0], [3], [3, 2]])
def test_rows_of_some_parameters(chosen):
    slots = made()
    sizes = {0: 6, 2: 1, 3: 0}
    with slots.rows(F8, chosen) as rows:
        assert rows.flags.c_contiguous and rows.shape == (2, sum(sizes[k] for k in chosen))
        rows[0] = np.concatenate([np.full(sizes[k], 10.0 + k) for k in chosen])
    for k in sizes:
        np.testing.assert_array_equal(slots.view(k, "mean"), np.full(slots.places[k].shape, (10.0 + k) * (k in chosen)))


def test_without_slots_there_are_rows_of_nothing():
    slots = Slots({})
    slots.add([np.ones(3), np.ones(2)])
    for chosen in ([0, 1], [1]):
        with slots.rows(F8, chosen) as rows:
            assert rows.shape == (0, 5 if len(chosen) == 2 else 2)
    assert slots.state() == {}


def test_state_is_a_copy_and_comes_back():
    slots, other = made(), made()
    slots.view(0, "square")[...] = 7.0
    state = slots.state()
    assert [*state] == [f"{name}.{k}" for k in range(4) for name in ("mean", "square")]
    slots.view(0, "square")[...] = 8.0
    other.load(state)
    np.testing.assert_array_equal(other.view(0, "square"), np.full((2, 3), 7.0))


def test_a_state_of_other_parameters_is_refused():
    state = made().state()
    slots = Slots({"mean": 0.0})
    slots.add([np.ones(3)])
    with pytest.raises(DataError, match=r"mean\.0 is float64 of shape \(2, 3\), the parameter needs float64 of shape"):
        slots.load(state)
    slots = Slots({"mean": 0.0})
    slots.add([np.ones((2, 3))])
    with pytest.raises(DataError, match=r"there is mean\.1, but only 1 parameters were given"):
        slots.load(state)
