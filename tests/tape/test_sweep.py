"""The backward sweep: graphs, cotangents, what is followed."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import DifferentiationError, ShapeError
from jitgrad.tape.primitive import Primitive
from jitgrad.tape.recording import Recording, only
from jitgrad.tape.sweep import Graph, backward
from jitgrad.tape.tensor import Tensor


@pytest.fixture
def recorded():
    """A recording, x = 3, and y = (x * x) * x + x."""
    recording, x = Recording(False), jg.constant(3.0)
    x.watch(recording)
    with only((recording,)):
        u = x * x
        y = u * x + x
    return recording, x, u, y


def test_contributions_add_up(recorded):
    recording, x, u, y = recorded
    found = backward([y], [np.float64(1.0)], [x, u, y], recording)
    assert [float(g) for g in found] == [28.0, 3.0, 1.0]
    assert float(backward([y, u, y], [np.float64(k) for k in (1.0, 10.0, 100.0)], [x], recording)[0]) == 101 * 28 + 60
    assert backward([y], [np.float64(1.0)], [jg.constant(1.0)], recording) == [None]


def test_only_the_way_from_sources_to_targets_is_walked(recorded):
    recording, x, u, y = recorded
    graph = Graph([y], [u], recording)
    assert x.node not in graph.needed and {u.node, y.node} <= graph.needed
    assert [n.number for n in graph.order] == sorted(n.number for n in graph.order)
    assert Graph([x], [u], recording).needed == set()


def test_stops(recorded):
    recording, x, u, y = recorded
    found = backward([y], [np.float64(1.0)], [x, u], recording, stops={u.node})
    assert [float(g) for g in found] == [10.0, 3.0]


def test_other_recordings_are_not_followed(recorded):
    recording, x, u, y = recorded
    other = Recording(False)
    u.watch(other)
    with only((recording, other)):
        z = u * x
    assert [float(g) if g else g for g in backward([z], [np.float64(1.0)], [x, u], other)] == [None, 3.0]
    assert float(backward([z], [np.float64(1.0)], [x], recording)[0]) == 27.0


def test_a_released_graph_is_an_error(recorded):
    recording, x, _, y = recorded
    recording.release()
    with pytest.raises(DifferentiationError, match="used up or was reset"):
        backward([y], [np.float64(1.0)], [x])


def test_sweeps_are_recorded_where_a_tape_listens(recorded):
    recording, x, _, y = recorded
    with only((recording,)):
        (g,) = backward([y], [np.float64(1.0)], [x], recording)
    assert float(backward([g], [np.float64(1.0)], [x], recording)[0]) == 18.0
    (plain,) = backward([y], [np.float64(1.0)], [x], recording)
    assert plain.node is None


def test_long_and_wide_graphs():
    x = jg.Variable(1.0)
    with jg.GradientTape() as tape:
        y = x
        for _ in range(20_000):
            y = y + 1e-4 * y
    assert float(tape.gradient(y, x)) == pytest.approx(1.0001**20_000)
    with jg.GradientTape() as tape:
        y = x
        for _ in range(60):  # 2**60 paths
            y = y + y
    assert float(tape.gradient(y, x)) == 2.0**60


@pytest.mark.parametrize("shape", [(3,), (2, 2), (5, 1)])
def test_cotangents_of_impossible_shapes_are_refused(shape):
    wrong = Primitive("Wrong", lambda a: a * 1.0, (lambda ct, out, a: np.ones(shape),))
    x = jg.Variable([1.0, 2.0] if shape != (2, 2) else np.ones((3, 2)))
    with jg.GradientTape() as tape:
        y = wrong(x)
    if shape == (5, 1):  # broadcasts: summed, then spread
        assert tape.gradient(y, x).tolist() == [5.0, 5.0]
    else:
        with pytest.raises(ShapeError, match="the gradient of Wrong gave a cotangent of shape"):
            tape.gradient(y, x)


def test_results_are_tensors(recorded):
    recording, x, _, y = recorded
    assert all(type(g) is Tensor for g in backward([y], [np.float64(1.0)], [x, y], recording))
