"""Tensor, Variable, constant: what they look like to Python and NumPy."""

import copy
import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError, ShapeError, UnsupportedError
from jitgrad.tape import tensor
from jitgrad.tape.tensor import LARGE


@pytest.fixture
def x():
    return jg.Variable([1.0, 2.0, 3.0])


def gradient(f, *xs):
    with jg.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return [None if g is None else g.tolist() for g in tape.gradient(y, list(xs))]


# ----- to Python --------------------------------------------------------------------------------------
def test_attributes_are_those_of_the_array(x):
    assert (x.shape, x.ndim, x.size, x.dtype, len(x)) == ((3,), 1, 3, np.float64, 3)
    assert x.tolist() == [1.0, 2.0, 3.0] and x[1].item() == 2.0
    assert (x.name, x.trainable) == (x.name, True)


def test_numbers():
    s = jg.constant(2.75)
    assert (float(s), int(s), complex(s), bool(s), f"{s:.1f}", math.floor(s)) == (2.75, 2, 2.75, True, "2.8", 2)
    assert [10, 20][jg.constant(1)] == 20


def test_truth_of_an_array_is_refused(x):
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)


def test_repr():
    assert repr(jg.constant([1.0])) == "<Tensor shape=(1,) dtype=float64 numpy=array([1.])>"
    assert repr(jg.Variable(1.0, name="w")) == "<Variable 'w' shape=() dtype=float64 numpy=array(1.)>"


def test_iteration_is_recorded(x):
    def f(x):
        a, b, c = x
        return a * b * c

    assert gradient(f, x) == [[6.0, 3.0, 2.0]]
    assert gradient(lambda x: sum(x), x) == [[1.0, 1.0, 1.0]]
    assert gradient(max, x) == [[0.0, 0.0, 1.0]]


def test_a_value_without_axes_is_no_sequence():
    with pytest.raises(TypeError, match="without axes"):
        iter(jg.constant(1.0))
    with pytest.raises(TypeError, match="unsized"):
        len(jg.constant(1.0))


def test_equality_is_elementwise_and_hash_by_identity():
    a, b = jg.constant([1.0, 2.0]), jg.constant([1.0, 3.0])
    assert (a == b).tolist() == [True, False]
    assert len({a, b, a}) == 2
    assert 2.0 in a


# ----- to NumPy ---------------------------------------------------------------------------------------
def test_numpy_gives_a_copy_and_asarray_a_view_that_cannot_be_written(x):
    copied, view = x.numpy(), np.asarray(x)
    copied[0] = 100.0
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert not view.flags.writeable and np.shares_memory(view, x.array)
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1.0
    assert np.array(x).flags.writeable


def test_numpy_of_a_number_is_a_number():
    assert type(jg.Variable(1.0).numpy()) is type(jg.constant(1.0).numpy()) is np.float64


def test_callers_arrays_are_copied():
    a = np.array([1.0, 2.0])
    t, v, w = jg.constant(a), jg.Variable(a), jg.Variable([0.0, 0.0])
    w.assign(a)
    a[:] = 100.0
    assert t.tolist() == v.tolist() == w.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("write", [lambda a, t: a.__iadd__(t), lambda a, t: np.add(a, 1.0 * t, out=a)])
def test_writing_a_value_into_an_array_is_refused(write):
    with pytest.raises(UnsupportedError, match="write a tape value into an array"):
        write(np.ones(2), jg.constant([1.0, 2.0]))


def test_augmented_assignment_to_a_value_makes_a_new_one(x):
    def f(x):
        y = x
        y *= np.array([1.0, 2.0, 3.0])
        y += x
        return y

    assert gradient(f, x) == [[2.0, 3.0, 4.0]]
    assert x.tolist() == [1.0, 2.0, 3.0]


# ----- values that leave the tape ---------------------------------------------------------------------
@pytest.mark.parametrize(
    "leave",
    [
        lambda s: math.sin(s),
        lambda s: np.asarray(s),
        lambda s: np.full(2, s),
        lambda s: np.array([s]),
        lambda s: np.vectorize(abs)(s),
    ],
    ids=["math", "asarray", "full", "array", "vectorize"],
)
def test_leaving_the_tape_unseen_warns(leave):
    s = jg.Variable(0.5)
    with jg.GradientTape():
        y = s * s
        with pytest.warns(jg.UnconnectedGradientWarning, match="a constant for the tape") as caught:
            leave(y)
    assert caught[0].filename == __file__
    leave(y)  # no tape listens


def test_leaving_the_tape_in_words_does_not_warn():
    s = jg.Variable(0.5)
    with jg.GradientTape():
        y = s * s
        assert [float(y), y.item(), y.numpy(), complex(y), int(y)] == [0.25, 0.25, 0.25, 0.25, 0]
        assert float(y) < 1.0 and y < 1.0 and f"{y}" == "0.25"
        np.asarray(jg.constant(1.0))  # the tape does not know it


# ----- copies -----------------------------------------------------------------------------------------
def test_a_deep_copy_of_a_variable_is_independent():
    v = jg.Variable(3.0, name="v")
    with jg.GradientTape() as tape:
        y = v * v
        w, again = copy.deepcopy([v, v])
        z = w * w * w
    assert [float(g) for g in tape.gradient([y, z], [v, w])] == [6.0, 27.0]
    w.assign(5.0)
    assert (float(v), w.name, again is w) == (3.0, "v", True)


def test_copies_of_tensors_stay_on_the_tape():
    v = jg.Variable(3.0)
    with jg.GradientTape(persistent=True) as tape:
        y = v * v
        z = copy.copy(y) * copy.deepcopy(y)
    assert float(tape.gradient(z, v)) == 108.0
    assert copy.copy(v) is v


def test_pickles_are_constants_and_new_variables():
    v = jg.Variable([3.0], trainable=False, name="v")
    with jg.GradientTape() as tape:
        tape.watch(v)
        t, w = pickle.loads(pickle.dumps([v * 2.0, v]))
    assert (t.node, t.tolist()) == (None, [6.0])
    assert (w.tolist(), w.name, w.trainable, w.node is v.node) == ([3.0], "v", False, False)


# ----- constant ---------------------------------------------------------------------------------------
def test_constant_passes_recorded_tensors_on():
    assert gradient(lambda v: jg.constant(v * v) * 1.0, jg.Variable(3.0)) == [6.0]
    assert gradient(lambda v: jg.constant([[v * v, 1.0], [v, v]])[:, 0], jg.Variable(3.0)) == [7.0]
    assert gradient(lambda v: jg.constant(v * v, dtype="float32") * v, jg.Variable(3.0)) == [27.0]


def test_constant_of_a_variable_is_a_constant():
    assert gradient(lambda v: jg.constant(v) * v, jg.Variable(3.0)) == [3.0]


@pytest.mark.parametrize("value", [None, "text", [object()], {"a": 1}])
def test_only_numbers_are_values(value):
    with pytest.raises(ArgumentError, match="array of numbers"):
        jg.constant(value)


def test_dtypes():
    assert jg.constant([1.0]).dtype == np.float64 and jg.constant([1.0], dtype="float32").dtype == np.float32
    assert jg.Variable(3).dtype.kind == "i" and jg.Variable(3, dtype=np.float64).dtype == np.float64
    assert jg.Variable(lambda: [1.0]).tolist() == [1.0]


# ----- assignments ------------------------------------------------------------------------------------
def test_assign():
    v = jg.Variable([1.0, 2.0])
    assert v.assign([3, 4]).assign_add(v).assign_sub(1.0) is v
    assert v.tolist() == [5.0, 7.0] and v.dtype == np.float64


@pytest.mark.parametrize(
    ("start", "value"), [([1.0, 2.0], [1.0]), (1.0, [1.0, 2.0]), (3, 5.7), (1.0, 1j), (1.0, "text")]
)
def test_assign_refuses(start, value):
    v = jg.Variable(start)
    with pytest.raises(ArgumentError, match="cannot assign|array of numbers"):
        v.assign(value)
    assert v.tolist() == start


@pytest.mark.parametrize(
    "read",
    [
        lambda v: v.read_value(),
        np.asarray,
        lambda v: v.array,
        lambda v: v.array[::-1][::-1],
        lambda v: memoryview(v.array),
        lambda v: v[:],
        lambda v: jg.Variable(v),
        lambda v: jg.constant(v),
        lambda v: v.numpy(),
    ],
    ids=["read_value", "asarray", "array", "view", "memoryview", "slice", "Variable", "constant", "numpy"],
)
def test_an_update_is_not_seen_in_what_was_read(monkeypatch, read):
    monkeypatch.setattr(tensor, "LARGE", 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    v = jg.Variable([1.0, 2.0])
    with np.errstate(all="ignore"):
        v.assign_add(np.ones(2))
        before = read(v)
        v.assign_add(np.ones(2)).assign_sub(jg.constant([3.0, 3.0])).assign_add(v).assign_sub(v[::-1])
    assert np.asarray(before).tolist() == [2.0, 3.0]
    assert v.tolist() == [-2.0, 2.0]


def test_an_update_of_another_shape_is_refused():
    v = jg.Variable([1.0, 2.0])
    with pytest.raises(ArgumentError, match="whose shape is"):
        v.assign_add(np.ones(3))
    assert v.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("size", [2, LARGE])
def test_an_update_that_numpy_does_not_know_is_refused(size):
    v = jg.Variable(np.ones(size, bool))
    with np.errstate(all="ignore"), pytest.raises(ArgumentError, match="cannot subtract"):
        v.assign_sub(np.ones(size, bool))
    assert v.numpy().all()


def test_an_update_takes_no_memory_where_nobody_can_see_it(monkeypatch):
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    v, step = jg.Variable(np.zeros(LARGE)), np.ones(LARGE)
    memory = v.array.ctypes.data
    with np.errstate(all="ignore"):
        assert v.assign_sub(step).array.ctypes.data == memory
        read = v.read_value()
        assert v.assign_sub(step).array.ctypes.data != memory
    assert read.numpy()[0] == -1.0


@pytest.mark.parametrize("over", ["raise", "warn"])  # warnings are errors here
def test_an_update_that_fails_leaves_the_value(over):
    v = jg.Variable(np.full(LARGE, 1e308))
    with np.errstate(over=over), pytest.raises((FloatingPointError, RuntimeWarning)):
        v.assign_add(v.numpy())
    assert v.numpy()[0] == 1e308


def test_an_update_is_not_seen_by_another_thread_that_reads_meanwhile():
    v, end = jg.Variable(np.zeros(LARGE)), threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    memory = v.array.ctypes.data
    with np.errstate(all="ignore"):
        assert v.assign_add(np.ones(LARGE)).array.ctypes.data != memory
    end.set()
    other.join()


def test_the_tape_keeps_what_it_read():
    v, s = jg.Variable(3.0), jg.Variable(0.0)
    with jg.GradientTape(persistent=True) as tape:
        y = v * v
        s.assign(v * v)  # nothing the tape hears
        v.assign(5.0)
        z = y * v + s
    assert float(z) == 54.0
    assert float(tape.gradient(z, v)) == 2 * 3.0 * 5.0 + 9.0
    assert float(tape.gradient(z, s)) == 1.0


def test_no_warning_is_left_over():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gradient(lambda v: np.exp(v) * 2.0 - v[0], jg.Variable([1.0, 2.0]))
    assert not seen


# ----- TensorFlow's arguments, and wrong ones ---------------------------------------------------------
def test_constant_of_a_shape():
    assert jg.constant(0.5, shape=(2, 2)).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    made = jg.constant([1, 2, 3, 4], np.float32, [2, 2], name="x")
    assert made.tolist() == [[1.0, 2.0], [3.0, 4.0]] and made.dtype == np.float32
    x = jg.constant([2.0])
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = jg.constant(x, shape=(3, 1)) ** 2
    assert tape.gradient(y, x).tolist() == [12.0]
    with pytest.raises(ShapeError, match=r"constant: 2 numbers do not fill the shape \(3,\)"):
        jg.constant([1.0, 2.0], shape=(3,))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: jg.Variable([[1.0], [2.0, 3.0]]), r"not \[\[1.0\], \[2.0, 3.0\]\] \(setting an array element"),
        (lambda v: jg.constant("a", dtype=float), "must be an array of numbers, not 'a'"),
        (lambda v: v.assign_add("a"), r"cannot add 'a' and v, whose shape is \(2,\)"),
        (lambda v: v.assign_sub(np.ones(3)), r"cannot subtract array\(.*\) and v, whose shape is \(2,\)"),
    ],
)
def test_what_is_no_number_is_refused(call, words):
    v = jg.Variable([1.0, 2.0], name="v")
    with pytest.raises(ArgumentError, match=words):
        call(v)
    assert v.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("kind", [jg.Variable, type(jg.constant(1.0))])
def test_subclasses_are_refused(kind):
    with pytest.raises(TypeError, match="Mine: tensors and variables cannot be subclassed"):
        type("Mine", (kind,), {})
