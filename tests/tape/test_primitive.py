"""Primitives: calls, what nodes keep, pullbacks of any order."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from jitgrad.tape.primitive import Primitive, heard_by, plain
from jitgrad.tape.recording import thread
from jitgrad.tape.signatures import kept
from jitgrad.tape.tensor import Tensor

SCALE = Primitive("Scale", lambda a, b, power=1: a * b**power, (
    lambda ct, out, a, b, power=1: ct * b**power,
    lambda ct, out, a, b, power=1: ct * a * power * b ** (power - 1),
))  # fmt: skip
BOTH = Primitive(
    "Both", lambda a: (a * a, a.astype(int), -a), (lambda ct, out, a: 0.0 * a if ct[0] is None else 2 * a * ct[0],)
)
ANY = Primitive("Any", lambda *a: sum(a), lambda k, ct, out, args, kwargs: ct * (k + 1.0))


def slopes(f, *xs):
    with jg.GradientTape() as tape:
        y = f(*xs)
    return [g.tolist() for g in tape.gradient(y, list(xs), unconnected_gradients="zero")]


def test_plain_arrays_give_plain_arrays():
    with jg.GradientTape():
        assert type(SCALE(np.ones(2), 2.0)) is np.ndarray


def test_values_give_tensors_that_are_recorded_where_a_tape_knows_them():
    c = jg.constant([1.0, 2.0])
    with jg.GradientTape() as tape:
        assert SCALE(c, 2.0).node is None
        tape.watch(c)
        y = SCALE(c, 2.0)
    assert y.node.primitive is SCALE and y.node.recordings == c.node.recordings


def test_operands_and_keywords():
    assert slopes(lambda a, b: SCALE(a, b, power=2), jg.Variable(3.0), jg.Variable(5.0)) == [25.0, 30.0]
    assert slopes(lambda b: SCALE(2.0, b, power=3), jg.Variable(5.0)) == [150.0]
    with pytest.raises(UnsupportedError, match="Scale of tape values has no derivative with the argument other"):
        slopes(lambda a: Primitive("Scale", lambda a, other: a, (lambda ct, out, a: ct,))(a, other=1), jg.Variable(1.0))


def test_higher_orders_of_the_same_pullbacks():
    b = jg.Variable(5.0)
    with jg.GradientTape(persistent=True) as tape:
        y = SCALE(2.0, b, power=3)
        g = tape.gradient(y, b)
        h = tape.gradient(g, b)
    assert [float(g), float(h), float(tape.gradient(h, b))] == [150.0, 60.0, 12.0]


def test_several_results():
    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape(persistent=True) as tape:
        square, whole, minus = BOTH(x)
    assert whole.node is None and square.node is minus.node
    assert tape.gradient(square, x).tolist() == [2.0, 4.0]
    assert tape.gradient(minus, x).tolist() == [0.0, 0.0]
    assert tape.gradient([square, minus], [square, minus])[1].tolist() == [1.0, 1.0]


def test_any_number_of_operands():
    assert slopes(lambda a, b: ANY(a, 1.0, b, a), jg.Variable(1.0), jg.Variable(2.0)) == [1.0 + 4.0, 3.0]


def test_lists_with_values_in_them_are_stacked():
    assert slopes(lambda a: SCALE([a, a * a], np.array([1.0, 10.0])), jg.Variable(3.0)) == [61.0]


def test_cotangents_are_fitted_to_the_operand():
    a, b = jg.Variable(np.ones((1, 3), np.float32)), jg.Variable(np.ones((2, 1)))
    with jg.GradientTape() as tape:
        y = SCALE(a, b)
    ga, gb = tape.gradient(y, [a, b])
    assert (ga.dtype, ga.tolist(), gb.tolist()) == (np.float32, [[2.0, 2.0, 2.0]], [[3.0], [3.0]])


def test_only_tapes_that_know_an_operand_hear_it():
    a, b, c = jg.constant(1.0), jg.constant(2.0), jg.constant(3.0)
    with jg.GradientTape() as one, jg.GradientTape() as two:
        one.watch([a, c])
        two.watch([b, c])
        both = thread.recordings
        assert [len(y.node.recordings) for y in (SCALE(a, 1.0), SCALE(a, b), SCALE(c, 1.0))] == [1, 2, 2]
        assert heard_by([a]) == both[:1] and heard_by([b, c]) == both and heard_by([]) == ()


def test_kept_are_copies_of_what_the_caller_may_change():
    a = np.ones(2)
    view = a.view()
    view.flags.writeable = False
    for operand in (a, view, [a, (a, 2.0)]):
        copied = kept(operand)
        a[:] = 5.0
        assert plain(copied) is not operand
        assert np.sum(copied[0] if isinstance(copied, list) else copied) == 2.0
        a[:] = 1.0
    assert kept(2.0) == 2.0


def test_plain():
    t = jg.constant(1.0)
    assert plain({"a": [t, (t, 2)], "b": "c"}) == {"a": [1.0, (1.0, 2)], "b": "c"}


def test_python_objects_are_refused():
    with pytest.raises(UnsupportedError, match="np.stack"):
        SCALE(jg.Variable(1.0), np.array([1.0, jg.constant(2.0)], dtype=object))


def test_repr():
    assert repr(SCALE) == "<Primitive Scale>"
    assert type(SCALE(jg.constant(1.0), 1.0)) is Tensor
