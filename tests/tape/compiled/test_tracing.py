"""Traced values write down what is done to them, and do not let their content be looked at."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from jitgrad import GradientTape, constant
from jitgrad.tape.compiled.tracing import Trace, Traced, Untraceable
from jitgrad.tape.compiled.views import VIEWS, Gather, access


@pytest.fixture
def trace():
    x = constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with GradientTape() as tape:
        tape.watch(x)
        y = np.sin(x) * 2.0
    return Trace(tape._recording, [y], [np.ones((2, 3))], [x])


@pytest.fixture
def value(trace):
    return next(v for v in trace.inputs.values() if np.shape(v.value) == (2, 3))


def test_the_backward_program(trace):
    (result,) = trace.results
    np.testing.assert_allclose(result.value, 2.0 * np.cos([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert np.cos in [step.function for step in trace.steps]
    assert ("seed", 0) in [v.origin for v in trace.inputs.values()]


def test_the_same_call_is_written_down_once(value):
    assert np.cos(value) is np.cos(value)
    assert np.cos(value) is not np.sin(value)
    assert value * 1 is not value * 1.0
    assert np.sum(value, axis=0) is not np.sum(value, axis=1)


LOOKS = {
    "bool": bool, "float": float, "int": int, "iter": list, "index": operator.index, "array": np.asarray,
    "item": lambda x: x.item(), "if": lambda x: 1 if x > 0 else 2, "contains": lambda x: 1.0 in x,
    "into": lambda x: np.zeros((2, 3)).__setitem__(0, x), "write": lambda x: x.__setitem__(0, 1.0),
    "out": lambda x: np.add(x, x, out=np.zeros((2, 3))) * 1.0,
}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in LOOKS if n != "out"])
def test_content_is_out_of_sight(value, name):
    with pytest.raises((Untraceable, AttributeError)):
        LOOKS[name](value)


def test_shapes_are_not(value):
    assert (value.shape, value.ndim, value.size, value.dtype, len(value)) == ((2, 3), 2, 6, np.float64, 2)
    assert np.shape(value) == (2, 3) and np.result_type(value, np.float32) == np.float64


def test_floats_have_no_dtype(trace):
    (factor,) = (v for v in trace.inputs.values() if type(v.value) is float)
    assert not hasattr(factor, "dtype")


SEEN = {
    "transpose": lambda x: np.transpose(x), "swapaxes": lambda x: np.swapaxes(x, 0, 1), "T": lambda x: x.T,
    "moveaxis": lambda x: np.moveaxis(np.expand_dims(x, 1), [0, 2], [2, 0]), "flip": lambda x: np.flip(x, 1),
    "broadcast": lambda x: np.broadcast_to(x, (4, 2, 3)), "row": lambda x: np.broadcast_to(x[:1], (5, 3)),
    "expand": lambda x: np.expand_dims(x, (0, 2)), "squeeze": lambda x: np.squeeze(x[:, :1]),
    "reshape": lambda x: np.reshape(x, (2, 1, 3)), "slice": lambda x: x[::-1, 1:], "integer": lambda x: x[-1],
    "ellipsis": lambda x: x[..., 2], "new axis": lambda x: x[None, 1, :, None], "steps": lambda x: x[:, ::2][1:, ::-1],
    "gather": lambda x: x[np.array([1, 0, -1])], "two arrays": lambda x: x[np.array([1, 0]), np.array([[2], [0]])],
    "gather of a view": lambda x: x.T[::2][:, np.array([1, 1])],
}  # fmt: skip


@pytest.mark.parametrize("name", SEEN)
def test_views_are_found_where_numpy_has_them(value, name):
    seen = SEEN[name](value)
    assert isinstance(seen, Traced) and seen.function in VIEWS

    def element(found, at):
        """The element that an access finds at an index."""
        places = []
        for place in found.places:
            if isinstance(place, Gather):
                places.append(int(element(place.index, at)))
            else:
                places.append(place.start + (place.step * at[place.axis] if place.axis is not None else 0))
        return found.source.value[tuple(places)]

    found = access(seen)
    assert found.source is value
    for at in np.ndindex(seen.shape):
        assert element(found, at) == seen.value[at]


@pytest.mark.parametrize(
    "index",
    [np.array([True, False]), (0, np.array([1, 2])), (np.array([0]), slice(None), None, np.array([0]))],
    ids=repr,
)
def test_indices_that_are_not_views(value, index):
    with pytest.raises((Untraceable, IndexError)):
        access(value[index])
