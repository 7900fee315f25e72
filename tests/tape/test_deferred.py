"""Recordings that repeat a known one are not computed one by one, and nobody can tell."""

from __future__ import annotations

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import jitgrad
from jitgrad import GradientTape, Variable, constant, nn
from jitgrad.tape import compile_after, deferred
from jitgrad.tape.compiled import cache, clear, known


@pytest.fixture(autouse=True)
def at_once():
    clear()
    with compile_after(1):
        yield
    clear()


def is_deferred(tensor):
    return tensor.node is not None and not deferred.has_out(tensor.node)


W, X = np.array([[0.5, -1.0], [2.0, 0.25]]), np.array([0.3, 0.7])


def hidden(w, x):
    return np.tanh(w @ x + 0.5)


def expected(w, x, by=1.0):
    """The sum of by * x * tanh(w @ x + 0.5), and its derivatives."""
    h = np.tanh(w @ x + 0.5)
    slope = by * x * (1 - h * h)
    return by * np.sum(h * x), np.outer(slope, x), by * h + w.T @ slope


def step(w, x, by=1.0):
    with GradientTape() as tape:
        h = hidden(w, x)
        loss = np.sum(by * x * h)
    was_deferred = is_deferred(loss)
    del h
    found = tape.gradient(loss, [w, x])
    return was_deferred, [loss.numpy(), *(g.numpy() for g in found)]


def close(found, values):
    for f, v in zip(found, values, strict=True):
        np.testing.assert_allclose(f, v, rtol=1e-13)


def test_from_the_second_time_on():
    w, x = Variable(W), Variable(X)
    for k in range(4):
        was_deferred, found = step(w, x, 1.0 + k)
        assert was_deferred == (k > 0)
        close(found, expected(w.numpy(), x.numpy(), 1.0 + k))
        w.assign(w.numpy() + 0.1)
    assert len(known()) == 1


def test_shapes_are_known_and_nothing_is_computed():
    w, x = Variable(W), Variable(X)
    step(w, x)
    with GradientTape() as tape:
        h = hidden(w, x)
        assert (h.shape, h.dtype, h.ndim, h.size, len(h)) == ((2,), np.float64, 1, 2, 2)
        loss = np.sum(1.0 * x * h)
    assert is_deferred(loss)
    tape.gradient(loss, w)


@pytest.mark.parametrize(
    "look",
    [
        lambda h: h.numpy(),
        lambda h: float(h[0]),
        lambda h: bool(np.all(h > -2.0)),
        repr,
        lambda h: np.asarray(h),
        np.sort,
    ],
    ids=["numpy", "float", "bool", "repr", "asarray", "unknown operation"],
)
@pytest.mark.filterwarnings("ignore::jitgrad.tape.UnconnectedGradientWarning")
def test_who_looks_gets_the_value(look):
    w, x = Variable(W), Variable(X)
    for _ in range(6):
        with GradientTape() as tape:
            h = hidden(w, x)
            look(h)
            loss = np.sum(1.0 * x * h)
        assert not is_deferred(h)
        np.testing.assert_allclose(h.numpy(), np.tanh(W @ X + 0.5))
        close([loss.numpy(), *(g.numpy() for g in tape.gradient(loss, [w, x]))], expected(W, X))
        step(w, x)  # the same without looking


def test_what_is_never_followed_to_the_end_is_forgotten():
    w, x = Variable(W), Variable(X)
    step(w, x)
    for _ in range(10):
        with GradientTape() as tape:
            loss = np.sum(np.exp(hidden(w, x)))
        loss.numpy()
        tape.gradient(loss, w)
    with GradientTape():
        assert not is_deferred(w @ x)


def test_results_that_are_kept_have_values_after_the_gradient():
    """At first they are computed apart, then the program gives them."""
    w, x = Variable(W), Variable(X)
    for _ in range(5):
        with GradientTape() as tape:
            h = hidden(w, x)
            loss = np.sum(1.0 * x * h)
        tape.gradient(loss, [w, x])
        assert not is_deferred(h) and not is_deferred(loss)
        np.testing.assert_allclose(h.numpy(), np.tanh(W @ X + 0.5), rtol=1e-14)
    (program,) = known()
    assert len(program.outs) == 2


def test_results_that_are_kept_now_and_then():
    w, x = Variable(W), Variable(X)
    kept = []
    for k in range(12):
        with GradientTape() as tape:
            h = hidden(w, x)
            loss = np.sum(1.0 * x * h)
        tape.gradient(loss, [w, x])
        if k % 3 == 0:
            kept.append(h)
        del h
        w.assign(w.numpy() + 0.1)
    for k, h in enumerate(kept):
        np.testing.assert_allclose(h.numpy(), np.tanh((W + 0.3 * k) @ X + 0.5), rtol=1e-13)


def test_a_tape_that_is_dropped_leaves_values():
    w, x = Variable(W), Variable(X)
    step(w, x)
    with GradientTape() as tape:
        h = hidden(w, x)
    del tape
    np.testing.assert_allclose(h.numpy(), np.tanh(W @ X + 0.5))


def test_the_value_is_that_of_the_time_of_recording():
    w, x = Variable(W), Variable(X)
    step(w, x)
    array = np.array([1.0, 2.0])
    for k in range(3):
        with GradientTape() as tape:
            y = np.sum(array * x * w)
            array += 1.0
            w.assign(w.numpy() * 2.0)
        slope = tape.gradient(y, x).numpy()
        np.testing.assert_allclose(slope, (np.array([1.0, 2.0]) + k) * (W * 2.0**k).sum(0))
        assert y.numpy() == pytest.approx(np.sum((np.array([1.0, 2.0]) + k) * X * W * 2.0**k))


def test_arrays_that_are_views():
    """A node keeps a copy, which is laid out in memory in its own way."""
    images, w = np.arange(12.0).reshape(2, 2, 3), Variable(np.ones((6, 2)))
    for k in range(3):
        with GradientTape() as tape:
            y = np.sum(images.reshape(2, 6) @ w * np.array([[1.0, 2.0], [3.0, 4.0]]).T)
        assert is_deferred(y) == (k > 0)
        want = images.reshape(2, 6).T @ np.array([[1.0, 3.0], [2.0, 4.0]])
        np.testing.assert_allclose(tape.gradient(y, w).numpy(), want)


def test_a_variable_assigned_in_between():
    w, x = Variable(W), Variable(X)
    for k in range(4):
        before = x.numpy()
        with GradientTape() as tape:
            y = x * 2.0
            if k % 2:
                x.assign(before + 1.0)
            y = np.sum(y * x)
        now = x.numpy()
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2.0 * before + 2.0 * now)
        assert y.numpy() == pytest.approx(np.sum(2.0 * before * now))
    step(w, x)


def test_errors_come_where_they_arise():
    w, x = Variable(W), Variable(X)
    step(w, x)
    with GradientTape():
        with pytest.raises(ValueError, match="matmul"):
            w @ constant(np.ones(3))
        h = hidden(w, x)
        with pytest.raises(ValueError, match="broadcast"):
            h + np.ones(3)
    np.testing.assert_allclose(h.numpy(), np.tanh(W @ X + 0.5))


def test_who_asks_numpy_for_errors_gets_them():
    def slope(value):
        x = Variable(value)
        with GradientTape() as tape:
            y = np.sum(np.log(x))
        return tape.gradient(y, x).numpy()

    slope([1.0, 2.0])
    slope([1.0, 2.0])
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        slope([0.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(slope([0.0, 1.0]), [np.inf, 1.0])


def test_errors_that_numpy_is_asked_for_in_between():
    x = Variable([0.0, 1.0])
    for divide in ("ignore", "ignore", "raise", "ignore"):
        with GradientTape() as tape:
            twice = x * 2.0
            with np.errstate(divide=divide):
                if divide == "raise":
                    with pytest.raises(FloatingPointError):
                        np.log(twice)
                y = np.sum(np.log(twice if divide == "ignore" else twice + 1.0))
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [np.inf, 1.0] if divide == "ignore" else [2, 2 / 3])


def test_values_are_computed_under_the_setting_of_the_recording():
    x = Variable([0.0, 1.0])
    for _ in range(3):
        with np.errstate(divide="ignore"), GradientTape() as tape:
            logs = np.log(x)
            y = np.sum(logs)
        with np.errstate(divide="raise"):
            assert logs.numpy()[0] == -np.inf
        tape.gradient(y, x)


def test_variables_that_are_constants_for_some_operations():
    """The value of a variable that was read outside is a constant until the variable itself is read."""
    w, x = Variable(W), Variable(W + 1.0)
    for kind in "vw", "vw", "ww", "vv", "ww", "vv", "vw", "wv", "vw":
        v = {"v": w.read_value(), "w": w}
        with GradientTape() as tape:
            z = np.sum(x * v[kind[0]] * v[kind[1]])
        slopes = tape.gradient(z, [w, x], unconnected_gradients="zero")
        # once it is watched, its value is
        count = {"vw": 1.0, "ww": 2.0, "vv": 0.0, "wv": 2.0}[kind]
        np.testing.assert_allclose(slopes[0].numpy(), count * W * (W + 1.0))
        np.testing.assert_allclose(slopes[1].numpy(), W * W)


def test_values_of_another_tape_are_no_operations_of_this_one():
    w, x = Variable(W), Variable(W + 1.0)
    for own in (True, True, True, False, True, False):
        with GradientTape() as before:
            a = x * x
            loss = np.sum(a * a)
        before.gradient(loss, x)
        with GradientTape() as tape:
            tape.watch(a)
            b = w * w
            c = b * b if own else a * a
            z = np.sum(c * w)
        of_w, of_a = tape.gradient(z, [w, a], unconnected_gradients="zero")
        np.testing.assert_allclose(of_w.numpy(), 5 * W**4 if own else (W + 1.0) ** 4)
        np.testing.assert_allclose(of_a.numpy(), 0 * W if own else 2 * W * (W + 1.0) ** 2)


def test_kept_values_of_recordings_that_cannot_be_deferred_after_all():
    w = Variable(W)
    for function in (None, np.linalg.inv, None):
        with GradientTape() as tape:
            twice = w * 2.0
            loss = np.sum(function(w) if function else twice)
        tape.gradient(loss, w)
        np.testing.assert_array_equal(twice.numpy(), 2.0 * W)


def test_integers_that_choose_elements_are_not_deferred():
    x = Variable([1.0, 2.0, 3.0])
    for index in ([0, 1], [2, 2], [0, 5]):
        with GradientTape() as tape:
            if 5 in index:
                with pytest.raises(IndexError):
                    x[np.array(index)]
                continue
            y = np.sum(x[np.array(index)] * 2.0)
            assert not is_deferred(y)
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), np.bincount(index, minlength=3) * 2.0)


def test_masks_are_not_deferred():
    x = Variable([1.0, -2.0, 3.0])
    for threshold in (0.0, 2.0, -5.0):
        mask = x.numpy() > threshold
        with GradientTape() as tape:
            y = np.sum(np.square(x[mask]))
        np.testing.assert_array_equal(tape.gradient(y, x).numpy(), 2.0 * x.numpy() * mask)


def test_nested_persistent_and_overridden_tapes_compute():
    w, x = Variable(W), Variable(X)
    step(w, x)
    with GradientTape(persistent=True) as tape:
        assert not is_deferred(hidden(w, x))
    with GradientTape() as outer:
        with GradientTape() as inner:
            loss = np.sum(1.0 * x * hidden(w, x))
            assert not is_deferred(loss)
        slope = inner.gradient(loss, x)
    curvature = outer.gradient(slope, x).numpy()
    step_size = 1e-6
    up, down = (expected(W, X + s * np.ones(2))[2] for s in (step_size, -step_size))
    np.testing.assert_allclose(curvature, (up - down) / (2 * step_size), rtol=1e-6)

    @jitgrad.RegisterGradient("TestDeferredTwice")
    def twice(op, grad):
        return 2.0 * grad

    with jitgrad.gradient_override_map({"Tanh": "TestDeferredTwice"}), GradientTape() as tape:
        loss = np.sum(1.0 * x * hidden(w, x))
        assert not is_deferred(loss)
    np.testing.assert_allclose(tape.gradient(loss, w).numpy(), np.outer(2.0 * X, X))
    del tape


def test_a_tape_within_a_deferred_one():
    w, x = Variable(W), Variable(X)
    step(w, x)
    for _ in range(3):
        with GradientTape() as outer:
            first = w @ x
            with GradientTape() as inner:
                z = np.sum(x * x)
            middle = inner.gradient(z, x)
            loss = np.sum(1.0 * x * np.tanh(first + 0.5) * middle)
        h = np.tanh(W @ X + 0.5)
        slope = 2 * X * X * (1 - h * h)
        np.testing.assert_allclose(outer.gradient(loss, x).numpy(), 4 * X * h + W.T @ slope, rtol=1e-13)


def test_stop_recording_and_reset():
    w, x = Variable(W), Variable(X)
    step(w, x)
    for _ in range(2):
        with GradientTape() as tape:
            h = hidden(w, x)
            with tape.stop_recording():
                twice = h * 2.0
            loss = np.sum(1.0 * x * h)
            np.testing.assert_allclose(twice.numpy(), 2 * np.tanh(W @ X + 0.5))
        close([g.numpy() for g in tape.gradient(loss, [w, x])], expected(W, X)[1:])
        with GradientTape() as tape:
            hidden(w, x)
            tape.reset()
            loss = np.sum(1.0 * x * hidden(w, x))
        close([g.numpy() for g in tape.gradient(loss, [w, x])], expected(W, X)[1:])


def test_watched_late():
    """What was recorded before does not depend on it."""
    w, x = constant(W), constant(X)
    for late in (False, True, False, True):
        with GradientTape() as tape:
            tape.watch(w if late else [w, x])
            h = hidden(w, x)
            if late:
                tape.watch(x)
            loss = np.sum(1.0 * x * h)
        full = expected(W, X)[2]
        np.testing.assert_allclose(tape.gradient(loss, x).numpy(), np.tanh(W @ X + 0.5) if late else full, rtol=1e-13)


def test_other_shapes_dtypes_and_layouts_are_other_structures():
    for a in (W, W.astype(np.float32), np.asfortranarray(W), W[:1], np.vstack([W, W]), W):
        w, x = Variable(a), Variable(X.astype(a.dtype))
        with GradientTape() as tape:
            loss = np.sum(np.tanh(w @ x))
        slope = tape.gradient(loss, w).numpy()
        assert slope.dtype == a.dtype and loss.dtype == a.dtype
        want = np.outer(1 - np.tanh(a @ X) ** 2, X)
        np.testing.assert_allclose(slope, want, rtol=1e-5 if a.dtype == np.float32 else 1e-13)


def test_jacobians_targets_and_sources_that_are_asked_for_once():
    w, x = Variable(W), Variable(X)
    step(w, x)
    with GradientTape() as tape:
        h = hidden(w, x)
    slope = 1 - np.tanh(W @ X + 0.5) ** 2
    np.testing.assert_allclose(tape.jacobian(h, x).numpy(), slope[:, None] * W)
    for _ in range(2):
        with GradientTape() as tape:
            h = hidden(w, x)
            loss = np.sum(1.0 * x * h)
        of_h, of_w = tape.gradient([loss, h], [h, w], output_gradients=[2.0, np.array([1.0, 0.0])])
        np.testing.assert_allclose(of_h.numpy(), 2.0 * X + [1.0, 0.0])
        np.testing.assert_allclose(of_w.numpy(), np.outer((2.0 * X + [1.0, 0.0]) * slope, X))


def test_losses_of_networks():
    generator = np.random.default_rng(0)
    x, sparse = generator.normal(size=(5, 3)), np.array([0, 1, 2, 1, 0])
    labels = np.eye(3)[sparse]
    for dtype in (np.float64, np.float32):
        w = Variable(generator.normal(size=(3, 3)).astype(dtype))
        slopes = []
        for k in range(4):
            images = constant(x.astype(dtype))
            with GradientTape() as tape:
                logits = nn.relu(images @ w) @ w
                if k < 2:
                    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=sparse, logits=logits)
                else:
                    losses = nn.softmax_cross_entropy_with_logits(labels=labels.astype(dtype), logits=logits)
                loss = np.mean(losses)
            assert is_deferred(loss) == (k % 2 == 1)
            slopes.append(tape.gradient(loss, w).numpy())
            del losses, logits
            slopes.append(loss.numpy())
        for found, want in zip(slopes[2:], slopes[:2] * 3, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-5 if dtype == np.float32 else 1e-12)
    with pytest.raises(jitgrad.errors.ArgumentError, match="labels must lie between 0 and 2"), GradientTape():
        nn.sparse_softmax_cross_entropy_with_logits(labels=sparse + 1, logits=images @ w)


def test_nothing_is_kept():
    """A deferred recording holds its operands until its gradient is taken, and no longer."""

    class Array(np.ndarray):
        """Of which weak references can be made."""

    x = Variable(np.ones(3))
    kept = []
    for _ in range(3):
        weights = constant(np.arange(3.0))
        weights._array = weights._array.view(Array)
        kept.append(weakref.ref(weights._array))
        with GradientTape() as tape:
            y = np.sum(weights * x * x)
        tape.gradient(y, x)
        del weights
    gc.collect()
    assert y.numpy() == 3.0
    assert [k() for k in kept] == [None] * 3


def test_threads():
    wrong = []

    def work(seed):
        generator = np.random.default_rng(seed)
        for _ in range(30):
            w, x = generator.normal(size=(2, 2)), generator.normal(size=2)
            _, found = step(Variable(w), Variable(x))
            for f, e in zip(found, expected(w, x), strict=True):
                if not np.allclose(f, e, rtol=1e-12):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_known_structures_are_bounded(monkeypatch):
    monkeypatch.setattr(cache, "STRUCTURES", 3)
    for length in range(1, 6):
        x = Variable([0.1, 0.2])
        for _ in range(2):
            with GradientTape() as tape:
                y = x * 1.0
                for _ in range(length):
                    y = np.sin(y)
            tape.gradient(y, x)

    def programs(state):
        return len(state.programs) + sum(programs(s) for s in state.edges.values())

    assert programs(deferred.root) <= 3


def test_different_questions_in_turn():
    w, x = Variable(W), Variable(X)
    ones = np.ones(2)

    def ask(sources, **options):
        with GradientTape() as tape:
            h = hidden(w, x)
            loss = np.sum(1.0 * x * h)
        return tape.gradient(loss, sources, **options)

    for k in range(4):
        _, dw, dx = expected(w.numpy(), x.numpy())
        for _ in range(2):  # the second one is the one asked last
            close(ask([w, x]), [dw, dx])
        close(ask([x, w]), [dx, dw])
        first, second = ask((w, x))
        close([first, second], [dw, dx])
        close([ask(x), ask(w), ask({"w": w})["w"]], [dx, dw, dw])
        close(ask([w, w]), [dw, dw])
        close(ask([w, x], output_gradients=constant(2.0 + k)), [(2.0 + k) * dw, (2.0 + k) * dx])
        close(ask([w, constant(ones)], unconnected_gradients="zero"), [dw, 0 * ones])
        w.assign_sub(0.1 * W)


def test_a_question_about_nothing():
    x = Variable(X)
    for _ in range(4):
        with GradientTape() as tape:
            y = np.sum(x * x)
        assert tape.gradient(y, []) == []
        with GradientTape() as tape:
            y = np.sum(x * x)
        assert tape.gradient([], []) == []


def test_the_last_question_with_a_target_of_several_elements():
    x = Variable(X)
    found = []
    for _ in range(4):
        with GradientTape() as tape:
            y = np.sin(x) * x
        found.append(tape.gradient(y, x))
    close(found, [np.cos(X) * X + np.sin(X)] * 4)


def test_the_last_question_asked_on_a_tape_that_listens():
    x = Variable(X)
    for _ in range(3):
        with GradientTape() as outer:
            with GradientTape() as tape:
                y = np.sum(x * x * x)
            slope = tape.gradient(y, x)
        curvature = outer.gradient(slope, x)
        with GradientTape() as tape:
            y = np.sum(x * x * x)
        close([slope, curvature, tape.gradient(y, x)], [3 * X * X, 6 * X, 3 * X * X])


def test_the_last_question_with_an_argument_that_is_refused():
    x = Variable(X)
    for _ in range(3):
        with GradientTape() as tape:
            y = np.sum(np.sin(x) * x)
        with pytest.raises(ValueError, match="unconnected_gradients must be"):
            tape.gradient(y, x, unconnected_gradients="nothing")
        close([tape.gradient(y, x)], [np.cos(X) * X + np.sin(X)])
