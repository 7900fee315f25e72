"""GradientTape: watching, recording, differentiating, structures, errors."""

import asyncio
import collections
import contextlib
import threading

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError, ShapeError
from jitgrad.tape.recording import thread

Pair = collections.namedtuple("Pair", "a b")
quiet = pytest.mark.filterwarnings("ignore::jitgrad.tape.notices.UnconnectedGradientWarning")


@pytest.fixture
def x():
    return jg.Variable(3.0)


def number(tree):
    """Gradients as Python numbers and lists, None where there is none."""
    if isinstance(tree, (list, tuple)):
        return [number(t) for t in tree]
    return None if tree is None else tree.tolist()


# ----- watching ---------------------------------------------------------------------------------------
def test_constants_are_watched_when_told_to():
    a, b, c = jg.constant(2.0), jg.constant([1.0, 3.0]), jg.constant(5.0)
    with jg.GradientTape() as tape:
        tape.watch([a, {"k": b}])
        y = np.sum(a * b * c)
    with pytest.warns(jg.UnconnectedGradientWarning, match="was not watched"):
        assert number(tape.gradient(y, [a, b, c])) == [20.0, [10.0, 10.0], None]


def test_what_was_computed_before_watching_does_not_count():
    a = jg.constant(3.0)
    with jg.GradientTape(persistent=True) as tape:
        before = a * a
        tape.watch(a)
        after = a * before
    assert number(tape.gradient(after, a)) == 9.0
    with pytest.warns(jg.UnconnectedGradientWarning, match="no target was recorded"):
        assert tape.gradient(before, a) is None


@quiet
def test_a_value_watched_late_hides_how_it_was_made(x):
    with jg.GradientTape(persistent=True) as outer, jg.GradientTape(persistent=True) as tape:
        with tape.stop_recording():
            v = x * x
        tape.watch(v)
        y = v * x
    assert number(tape.gradient(y, [x, v])) == [9.0, 3.0]
    assert number(outer.gradient(y, [x, v])) == [27.0, 3.0]


def test_watched_intermediates_stay_connected():
    a = jg.constant(2.0)
    with jg.GradientTape(persistent=True) as tape:
        tape.watch(a)
        m = a * 3.0
        tape.watch(m)
        y = m * m
    assert number(tape.gradient(y, [m, a])) == [12.0, 36.0]


@pytest.mark.parametrize("value", [1.0, "x", np.ones(2), None, [jg.constant(1.0), 2.0]])
def test_only_values_can_be_watched(value):
    with jg.GradientTape() as tape, pytest.raises(ValueError, match=r"watch\(\) takes tensors and variables"):
        tape.watch(value)


def test_watching_integers_warns():
    with jg.GradientTape() as tape, pytest.warns(jg.UnconnectedGradientWarning, match="dtype int64") as caught:
        tape.watch(jg.constant([1, 2]))
    assert caught[0].filename == __file__


def test_variables_watched():
    a, b, frozen, n = jg.Variable(1.0), jg.Variable(2.0), jg.Variable(3.0, trainable=False), jg.Variable(4)
    with jg.GradientTape() as tape:
        y = b * frozen * n * a * b
        assert [v is w for v, w in zip(tape.watched_variables(), (a, b), strict=True)] == [True] * 2
        tape.watch(frozen)
    assert [v is w for v, w in zip(tape.watched_variables(), (a, b, frozen), strict=True)] == [True] * 3
    tape.gradient(y, a)
    assert len(tape.watched_variables()) == 3  # still known after use


def test_variables_are_not_watched_when_told_not_to(x):
    w = jg.Variable(2.0)
    with jg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = x * w * w
    with pytest.warns(jg.UnconnectedGradientWarning, match="was not watched"):
        assert number(tape.gradient(y, [x, w])) == [None, 12.0]


# ----- recording --------------------------------------------------------------------------------------
def test_a_tape_gives_one_set_of_gradients_unless_persistent(x):
    with jg.GradientTape() as tape:
        y = x * x
    assert number(tape.gradient(y, x)) == 6.0
    for again in (tape.gradient, tape.jacobian):
        with pytest.raises(jg.TapeError, match=r"of a tape that has been used, by gradient\(\): .* persistent=True"):
            again(y, x)


def test_a_tape_that_was_never_entered_says_so(x):
    with pytest.raises(jg.TapeError, match=r"gradient\(\) of a tape that has recorded nothing; compute the target in"):
        jg.GradientTape().gradient(x * x, x)


def test_a_tape_is_not_used_up_by_wrong_arguments(x):
    with jg.GradientTape() as tape:
        y = x * x
    with pytest.raises(ShapeError, match=r"an output gradient has shape \(2,\)"):
        tape.gradient(y, x, output_gradients=[1.0, 2.0])
    with pytest.raises(ArgumentError, match="sources must be a tensor or variable"):
        tape.gradient(y, 3.0)
    assert number(tape.gradient(y, x)) == 6.0


def test_entering_again_goes_on(x):
    tape = jg.GradientTape()
    with tape:
        y = x * x
    gap = y * 5.0
    with tape:
        z = [y * 2.0, gap * x]
    assert number(tape.gradient(z, x)) == 12.0 + 45.0
    with tape:  # used up: a new recording
        z = x * x * x
    assert number(tape.gradient(z, x)) == 27.0


def test_values_of_a_used_tape_can_be_watched():
    w = jg.Variable([1.0, 2.0, 3.0, 4.0])
    with jg.GradientTape() as tape:
        a = w * 2.0
        p, q = np.split(a, 2)
        y = np.sum(p * q)
    tape.gradient(y, w)
    with jg.GradientTape() as tape:
        tape.watch([a, p, q])
        z = np.sum(a * a) + np.sum(p * q) + np.sum(p * 3.0)
    found = [g.tolist() for g in tape.gradient(z, [a, p, q])]
    assert found == [[4.0, 8.0, 12.0, 16.0], [9.0, 11.0], [2.0, 4.0]]


def test_entering_twice_is_refused():
    with jg.GradientTape() as tape, pytest.raises(ValueError, match="already recording"):
        tape.__enter__()
    assert thread.recordings == ()


def test_stop_recording(x):
    with jg.GradientTape(persistent=True) as tape:
        y = x * x
        with tape.stop_recording():
            u = x * 10.0
            w = tape.gradient(y, x)
        z = y * u + w
    assert number(tape.gradient(z, x)) == 6.0 * 30.0


def test_stop_recording_and_exceptions(x):
    with jg.GradientTape() as tape:
        with contextlib.suppress(KeyError), tape.stop_recording():
            raise KeyError
        with pytest.raises(ValueError, match="not recording"), tape.stop_recording(), tape.stop_recording():
            pass
        y = x * x
    assert thread.recordings == ()
    assert number(tape.gradient(y, x)) == 6.0


def test_reset(x):
    c = jg.constant(2.0)
    with jg.GradientTape() as tape:
        tape.watch(c)
        y = x * c
        tape.reset()
        assert tape.watched_variables() == ()
        z = y * x * c
    with pytest.warns(jg.UnconnectedGradientWarning):
        assert number(tape.gradient(z, [x, c])) == [12.0, None]


def test_reset_needs_a_recording_tape():
    tape = jg.GradientTape()
    with pytest.raises(ValueError, match="not recording"):
        tape.reset()
    with tape, pytest.raises(ValueError, match="not recording"), tape.stop_recording():
        tape.reset()


def test_a_used_tape_in_its_context(x):
    with jg.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            first = tape.gradient(y, x)
        z = x * x * x
    assert number([first, tape.gradient(z, x)]) == [6.0, 27.0]
    with jg.GradientTape() as tape:
        y = x * x
        tape.gradient(y, x)
        z = y * x
    with pytest.raises(jg.TapeError, match="persistent=True"):
        tape.gradient(z, x)


def test_an_exception_in_the_context_ends_recording(x):
    with contextlib.suppress(KeyError), jg.GradientTape() as tape:
        y = x * x
        raise KeyError
    assert thread.recordings == ()
    assert number(tape.gradient(y, x)) == 6.0


def test_tapes_that_overlap(x):
    a, b = jg.GradientTape(), jg.GradientTape()
    a.__enter__()
    b.__enter__()
    y = x * x
    a.__exit__(None, None, None)
    z = y * x
    b.__exit__(None, None, None)
    assert number([a.gradient(y, x), b.gradient(z, x)]) == [6.0, 27.0]


def test_generators_and_coroutines(x):
    def generator():
        with jg.GradientTape() as tape:
            y = x * x
            yield
            z = y * x
        yield tape.gradient(z, x)

    run = generator()
    next(run)
    with jg.GradientTape() as tape:
        q = x * 2.0
    assert number([next(run), tape.gradient(q, x)]) == [27.0, 2.0]

    async def power(k):
        with jg.GradientTape() as tape:
            y = x**k
            await asyncio.sleep(0)
            z = y * x
        return float(tape.gradient(z, x))

    async def main():
        return await asyncio.gather(*map(power, range(1, 5)))

    assert asyncio.run(main()) == [6.0, 27.0, 108.0, 405.0]
    assert thread.recordings == ()


@quiet
def test_a_tape_hears_its_own_thread(x):
    found = []
    with jg.GradientTape() as tape:
        y = x * x
        other = threading.Thread(target=lambda: found.append(x * x))
        other.start()
        other.join()
    user = threading.Thread(target=lambda: found.append(tape.gradient([y, found[0]], x)))
    user.start()
    user.join()
    assert number(found[1]) == 6.0


# ----- gradient: structures and arguments -------------------------------------------------------------
def test_results_have_the_structure_of_the_sources(x):
    w = jg.Variable(2.0)
    with jg.GradientTape(persistent=True) as tape:
        y = x * w * w
    found = tape.gradient(y, Pair({"x": x, "n": {}}, [w, (), (x,)]))
    assert type(found) is Pair and found.a["n"] == {} and found.b[1] == ()
    assert number([found.a["x"], found.b[0], found.b[2][0]]) == [4.0, 12.0, 4.0]
    assert list(tape.gradient(y, {"x": x, "a": w})) == ["x", "a"]
    assert tape.gradient(y, []) == []


def test_targets_are_summed(x):
    with jg.GradientTape(persistent=True) as tape:
        y, z = x * x, x * 3.0
    for target, want in (([y, z], 9.0), ({"k": y, "l": (z, y)}, 15.0), ([y, y], 12.0), (x, 1.0), ([y, x], 7.0)):
        assert number(tape.gradient(target, x)) == want
    assert number(tape.gradient([y, y, x], [x, x])) == [13.0, 13.0]


def test_output_gradients(x):
    w, v = jg.Variable([1.0, 2.0]), jg.Variable([10.0, 100.0])
    with jg.GradientTape(persistent=True) as tape:
        y, s = w * w, x * x
    for seed in (v, v.numpy(), v.tolist(), jg.constant(v.numpy()), [v.read_value()], np.float32([10.0, 100.0])):
        assert number(tape.gradient(y, w, output_gradients=seed)) == [20.0, 400.0]
    for seed in (2.0, [2.0], 2, np.float64(2.0), jg.constant(2.0)):
        assert number(tape.gradient(s, x, output_gradients=seed)) == 12.0
    assert number(tape.gradient([y, s], [w, x], output_gradients=[None, 5.0])) == [[2.0, 4.0], 30.0]
    assert number(tape.gradient({"b": y, "a": s}, x, output_gradients={"a": 1.0, "b": v})) == 6.0
    with pytest.raises(ArgumentError, match="structure of target"):
        tape.gradient([y, s], x, output_gradients=[v])


def test_output_gradients_are_copied():
    w, seed = jg.Variable([1.0, 2.0]), np.array([1.0, 10.0])
    with jg.GradientTape() as tape:
        y = +w
    g = tape.gradient(y, w, output_gradients=seed)
    seed[:] = 0.0
    assert number(g) == [1.0, 10.0]


@pytest.mark.parametrize("word", ["zero", jg.UnconnectedGradients.ZERO])
def test_zeros_where_nothing_is_connected(x, word):
    w = jg.Variable(np.ones((2, 1), np.float32))
    with jg.GradientTape() as tape:
        y = x * x
    g = tape.gradient(y, w, unconnected_gradients=word)
    assert (g.shape, g.dtype, g.numpy().any()) == ((2, 1), np.float32, False)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda x: (x * 2.0, jg.Variable(1.0, name="w")), r"a source \(w\) was not watched"),
        (lambda x: (x * 2.0, jg.constant(1.0)), "a source was not watched"),
        (lambda x: (jg.constant(x.numpy()), x), "no target was recorded"),
        (lambda x: (x * 2.0, jg.Variable(1)), "dtype int64"),
        (lambda x: (jg.Variable(2.0) * 2.0 + 0.0 * (x > 1.0), x), "no target depends on a source"),
        (lambda x: (x.astype(int), x), "no target was recorded"),
    ],
)
def test_none_explains_itself(x, make, reason):
    with jg.GradientTape() as tape:
        +x
        target, source = make(x)
    with pytest.warns(jg.UnconnectedGradientWarning, match=f"a gradient is None: .*{reason}") as caught:
        assert tape.gradient(target, source) is None
    assert caught[0].filename == __file__


def test_unknown_words_are_refused(x):
    with jg.GradientTape() as tape:
        y = x * x
    with pytest.raises(ValueError, match="'none' or 'zero', not 'zeros'"):
        tape.gradient(y, x, unconnected_gradients="zeros")


def test_targets_of_a_jacobian_are_differentiated_one_by_one(x):
    with jg.GradientTape() as tape:
        y = [x * x, x]
    with pytest.raises(ArgumentError, match="one by one, on a tape with persistent=True"):
        tape.jacobian(y, x)


@pytest.mark.parametrize("threads", ["a", 0, 1.5])
def test_threads_are_counted(x, threads):
    with jg.GradientTape() as tape:
        y = x * x
    with pytest.raises(ArgumentError, match=f"parallel_iterations must be a positive integer or None, not {threads!r}"):
        tape.jacobian(y, x, parallel_iterations=threads)


def test_output_gradients_must_be_numbers(x):
    with jg.GradientTape() as tape:
        y = x * x
    with pytest.raises(ArgumentError, match="an output gradient must be an array of numbers, not 'one'"):
        tape.gradient(y, x, output_gradients="one")


@pytest.mark.parametrize("wrong", [None, 3.0, np.ones(2), "y", [None]])
def test_targets_and_sources_must_be_values(x, wrong):
    with jg.GradientTape(persistent=True) as tape:
        y = x * x
    with pytest.raises(ArgumentError, match="target must be"):
        tape.gradient(wrong, x)
    with pytest.raises(ArgumentError, match="sources must be"):
        tape.gradient(y, wrong)


# ----- higher orders ----------------------------------------------------------------------------------
def test_four_orders():
    x = jg.Variable(1.3)
    tapes = [jg.GradientTape() for _ in range(4)]
    with contextlib.ExitStack() as stack:
        for tape in tapes:
            stack.enter_context(tape)
        y = np.sin(x) * np.exp(x)
        for tape in reversed(tapes[1:]):
            y = tape.gradient(y, x)
    np.testing.assert_allclose(tapes[0].gradient(y, x).numpy(), -4 * np.sin(1.3) * np.exp(1.3), rtol=1e-14)


def test_a_persistent_tape_differentiates_what_it_computed_itself(x):
    with jg.GradientTape(persistent=True) as tape:
        orders = [x**4]
        for _ in range(4):
            orders.append(tape.gradient(orders[-1], x))
    assert number(orders) == [81.0, 108.0, 108.0, 72.0, 24.0]
    assert number(tape.gradient(orders[2], x)) == 72.0


def test_inner_and_outer_are_not_confused():
    x = jg.Variable(1.0)
    with jg.GradientTape() as outer:
        y = jg.constant(1.0)
        with jg.GradientTape() as inner:
            inner.watch(y)
            z = x * y
        out = x * inner.gradient(z, y)
    assert number(outer.gradient(out, x)) == 2.0


@quiet
def test_mixed_partials_and_nones():
    x, w, b = jg.Variable(2.0), jg.Variable(3.0), jg.Variable(1.0)
    with jg.GradientTape(persistent=True) as outer:
        with jg.GradientTape() as inner:
            y = x * w + b
        slopes = inner.gradient(y, [x, w, b])
    assert number(slopes) == [3.0, 2.0, 1.0]
    assert [number(outer.gradient(s, [x, w, b])) for s in slopes] == [[None, 1.0, None], [1.0, None, None], [None] * 3]


def test_a_closed_outer_tape_hears_nothing_more(x):
    with jg.GradientTape(persistent=True) as outer, jg.GradientTape() as inner:
        y = x * x * x
    g = inner.gradient(y, x)
    with pytest.warns(jg.UnconnectedGradientWarning, match="no target was recorded"):
        assert outer.gradient(g, x) is None


# ----- Jacobians --------------------------------------------------------------------------------------
@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize(
    ("shape", "f"),
    [
        ((), lambda x: x * x),
        ((), lambda x: np.stack([x, x * x])),
        ((3,), lambda x: np.sum(x * x)),
        ((1,), lambda x: x * x),
        ((2, 3), lambda x: np.sin(x) @ np.ones((3, 2))),
        ((0, 3), lambda x: np.sum(x, axis=0)),
        ((3,), lambda x: x[:0] * 2.0),
    ],
)
def test_jacobians(shape, f, persistent):
    x = jg.Variable(np.linspace(0.5, 1.5, int(np.prod(shape))).reshape(shape))
    with jg.GradientTape(persistent=persistent) as tape:
        y = f(x)
    found = tape.jacobian(y, x, experimental_use_pfor=not persistent)
    assert found.shape == y.shape + x.shape
    columns = [np.imag(f(x.numpy() + 1e-30j * e.reshape(shape))) / 1e-30 for e in np.eye(x.size)]
    want = np.reshape(columns, (x.size, *y.shape)) if columns else np.zeros((0, *y.shape))
    np.testing.assert_allclose(found.numpy(), np.moveaxis(want, 0, -1).reshape(found.shape), rtol=1e-13)


def test_jacobians_of_several_sources(x):
    v, w = jg.Variable([1.0, 2.0]), jg.Variable([5.0])
    with jg.GradientTape(persistent=True) as tape:
        y = v * v * x
    found = tape.jacobian(y, {"v": v, "x": (x,)})
    assert number([found["v"], found["x"]]) == [[[6.0, 0.0], [0.0, 12.0]], [[1.0, 4.0]]]
    with pytest.warns(jg.UnconnectedGradientWarning):
        assert tape.jacobian(y, [w]) == [None]
    assert tape.jacobian(y, w, unconnected_gradients="zero").shape == (2, 1)


def test_loops_need_a_persistent_tape(x):
    with jg.GradientTape() as tape:
        y = x * x
    for ask in (tape.jacobian, tape.batch_jacobian):
        with pytest.raises(jg.TapeError, match="persistent=True"):
            ask(y, x, experimental_use_pfor=False)


@pytest.mark.parametrize("batch", [0, 1, 3])
@pytest.mark.parametrize("inner", [(), (2,), (2, 2), (0,)])
def test_batch_jacobians(batch, inner):
    x = jg.Variable(np.linspace(0.5, 1.5, batch * 2).reshape(batch, 2))
    with jg.GradientTape(persistent=True) as tape:
        s = np.reshape(np.sum(x * x, axis=1), (batch,) + (1,) * len(inner))
        y = s * np.arange(1.0, 1.0 + np.prod(inner)).reshape(inner)
    found = tape.batch_jacobian(y, x).numpy()
    assert found.shape == (batch, *inner, 2)
    full = tape.jacobian(y, x).numpy()
    np.testing.assert_allclose(found, [full[(b, ..., b, slice(None))] for b in range(batch)] if batch else found)


@pytest.mark.parametrize("shapes", [((2, 2), (3, 2)), ((), (2,)), ((2,), ())])
def test_batch_jacobians_need_one_batch(shapes):
    y, x = (jg.Variable(np.ones(s)) for s in shapes)
    with jg.GradientTape() as tape, pytest.raises(ShapeError, match="same first dimension"):
        tape.batch_jacobian(+y, x)


# ----- dtypes -----------------------------------------------------------------------------------------
def test_complex_values_follow_the_conjugate_convention():
    z, x = jg.Variable(3.0 + 4.0j), jg.Variable(3.0)
    with jg.GradientTape(persistent=True) as tape:
        size, power = abs(z), (x + 1j * x * x) ** 2
    assert tape.gradient(size, z).numpy() == pytest.approx(0.6 + 0.8j)
    assert number(tape.gradient(power, x)) == -102.0  # as TensorFlow


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble", "complex64"])
def test_gradients_have_the_dtype_of_their_source(dtype):
    x = jg.Variable(np.ones(2, dtype))
    with jg.GradientTape() as tape:
        y = np.exp(x) * x
    assert tape.gradient(y, x).dtype == np.dtype(dtype)


def test_empty_and_strided_arrays():
    x, f = jg.Variable(np.zeros((0, 3))), jg.Variable(np.arange(6.0).reshape(2, 3).T)
    with jg.GradientTape(persistent=True) as tape:
        y, z = np.sum(x @ np.ones((3, 2))), np.ravel(f, order="F") * np.arange(6.0)
    assert tape.gradient(y, x).shape == (0, 3)
    assert tape.gradient(z, f).tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_callers_arrays_may_change_after_recording():
    x, a, index, mask = jg.Variable([1.0, 2.0]), np.array([3.0, 5.0]), np.array([1, 1]), np.array([True, False])
    with jg.GradientTape(persistent=True) as tape:
        ys = [x * a, x[index], np.take(x, index), x[mask], np.where(mask, x, 0.0), np.clip(x, a - 2.0, a)]
    a[:], index[:], mask[:] = 100.0, 0, False
    want = [[3.0, 5.0], [0.0, 2.0], [0.0, 2.0], [1.0, 0.0], [1.0, 0.0]]
    assert [number(tape.gradient(y, x)) for y in ys[:5]] == want
