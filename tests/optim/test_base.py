"""What all optimizers share: steps of variables and of arrays, options, state, errors."""

import copy
import io
import pickle
import warnings

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError, DataError, JitgradError
from jitgrad.optim import OPTIMIZERS, SGD, Adam, AdamW, MomentumOptimizer, NoGradientError, Optimizer
from jitgrad.optim.schedules import ExponentialDecay
from tests.optim.problem import START, after, bowl, draw

# Each with what makes it keep as much state as it can.
CASES = {name: kind for name, kind in OPTIMIZERS.items()} | {
    "momentum": lambda: SGD(0.1, momentum=0.9, nesterov=True),
    "v1": lambda: MomentumOptimizer(0.1, 0.9),
    "amsgrad": lambda: Adam(amsgrad=True),
    "rmsprop-all": lambda: OPTIMIZERS["rmsprop"](momentum=0.5, centered=True),
    "average": lambda: Adam(0.1, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2),
    "accumulating": lambda: Adam(0.1, gradient_accumulation_steps=4),
    "schedule": lambda: Adam(ExponentialDecay(0.1, 2, 0.5)),
    "everything": lambda: AdamW(
        0.1, amsgrad=True, use_ema=True, gradient_accumulation_steps=2, clipnorm=0.1, loss_scale_factor=8.0
    ),
}
ALL = pytest.mark.parametrize("case", CASES)


# ----- steps ---------------------------------------------------------------------------------------
@ALL
def test_variables_and_arrays_take_the_same_steps(case):
    params, grads = draw(np.float32)
    variables = [jg.Variable(param) for param in params]
    by_array, by_variable = CASES[case](), CASES[case]()
    for g in grads:
        by_array.update(params, g)
        by_variable.apply([jg.constant(grad) for grad in g], variables)
    for param, variable in zip(params, variables):
        assert variable.dtype == np.float32
        np.testing.assert_array_equal(variable.numpy(), param)


@ALL
def test_steps_do_not_depend_on_what_else_is_updated(case):
    params, grads = draw(np.float64)
    together = [param.copy() for param in params]
    optimizer = CASES[case]()
    for g in grads:
        optimizer.update(together, g)
    for k, param in enumerate(params):
        alone = CASES[case]()
        for g in grads:
            alone.update([param], [g[k]])
        np.testing.assert_array_equal(param, together[k])


def test_arrays_of_any_layout_and_dtype_are_updated_in_place():
    base = np.ones((4, 6))
    params = [base.T, base[:, ::2][:2], np.ones((2, 2), np.float32), np.asfortranarray(np.ones((2, 3)))]
    kept = list(params)
    grads = [np.zeros((6, 4)), np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 3), np.float32)]
    SGD(0.25).update(params, grads)
    assert all(a is b for a, b in zip(params, kept))
    np.testing.assert_array_equal(base[:2, ::2], 0.75)
    np.testing.assert_array_equal(base[:, 1::2], 1.0)
    np.testing.assert_array_equal(params[2], np.full((2, 2), 0.75, np.float32))
    np.testing.assert_array_equal(params[3], 0.75)


def test_a_tape_keeps_the_values_from_before_the_step():
    w = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        loss = np.sum(w * w)
    SGD(0.5).apply([np.ones(2)], [w])
    np.testing.assert_array_equal(tape.gradient(loss, w), [2.0, 4.0])
    np.testing.assert_array_equal(w.numpy(), [0.5, 1.5])


def test_a_step_is_not_recorded():
    w = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        SGD(0.5).apply([w * w], [w])
        loss = np.sum(w)
    np.testing.assert_array_equal(tape.gradient(loss, w), [1.0, 1.0])


def test_variables_may_come_in_any_choice_and_order():
    a, b, c = (jg.Variable(np.full(k, 1.0)) for k in (1, 2, 3))
    optimizer = SGD(0.5, momentum=0.5)
    optimizer.build([a, b])
    optimizer.apply([np.ones(2), np.ones(1)], [b, a])
    optimizer.apply([np.ones(3)], [c])
    optimizer.apply([np.zeros(3), np.zeros(1)], [c, a])
    np.testing.assert_array_equal(a.numpy(), [0.25])
    np.testing.assert_array_equal(b.numpy(), [0.5, 0.5])
    np.testing.assert_array_equal(c.numpy(), [0.25] * 3)
    optimizer.apply([np.zeros(1), np.zeros(2), np.zeros(3)])
    np.testing.assert_array_equal(b.numpy(), [0.25, 0.25])
    assert optimizer.iterations == 4


@ALL
def test_nan_gradient_is_not_hidden(case):
    w, optimizer = np.ones(3), CASES[case]()
    for _ in range(optimizer.gradient_accumulation_steps or 1):
        optimizer.update([w], [np.array([0.0, np.nan, 1.0])])
    assert np.isnan(w[1])
    assert case == "everything" or list(np.isnan(w)) == [False, True, False]  # the norm is NaN


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sgd", {"learning_rate": 0.1}),
        ("adam", {"learning_rate": 0.05}),
        ("rmsprop", {"learning_rate": 0.01}),
        ("adagrad", {"learning_rate": 1.0}),
        ("adadelta", {"learning_rate": 100.0}),
        ("nadam", {"learning_rate": 0.05}),
        ("adamax", {"learning_rate": 0.05}),
        ("lion", {"learning_rate": ExponentialDecay(0.1, 50, 0.5)}),
        ("ftrl", {"learning_rate": 1.0}),
    ],
)
def test_minimizes_a_quadratic(name, options):
    target = np.array([1.0, -2.0, 3.0])
    w, optimizer = np.zeros(3), OPTIMIZERS[name](**options)
    for _ in range(500):
        optimizer.update([w], [2 * (w - target)])
    np.testing.assert_allclose(w, target, atol=2e-2)


# ----- from a loss ---------------------------------------------------------------------------------
def test_minimize_a_function():
    v, w = jg.Variable([1.0, 2.0]), jg.Variable(3.0)
    optimizer = SGD(0.25)
    assert optimizer.minimize(lambda: np.sum(v * v) + w * w, [v, w]) == 1
    np.testing.assert_array_equal(v.numpy(), [0.5, 1.0])
    assert w.numpy() == 1.5
    assert optimizer.minimize(lambda: w * w, var_list=w) == 2
    assert w.numpy() == 0.75


def test_minimize_what_a_tape_has_recorded():
    w = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        loss = np.sum(w * w)
    SGD(0.25).minimize(loss, [w], tape=tape)
    np.testing.assert_array_equal(w.numpy(), [0.5, 1.0])


def test_variables_found_by_the_tape_or_by_a_function():
    v, w = jg.Variable(1.0), jg.Variable(2.0)
    SGD(0.25).minimize(lambda: v * v)
    assert (v.numpy(), w.numpy()) == (0.5, 2.0)
    made = []

    def loss():
        made.append(w)
        return w * w

    SGD(0.25).minimize(loss, lambda: made)
    assert w.numpy() == 1.0


def test_untrainable_variables_can_be_asked_for():
    w = jg.Variable(2.0, trainable=False)
    SGD(0.25).minimize(lambda: w * w, [w])
    assert w.numpy() == 1.0


def test_compute_gradients_pairs_them_with_their_variables():
    v, w = jg.Variable([1.0, 2.0]), jg.Variable(3.0)
    (dv, of_v), (dw, of_w) = SGD().compute_gradients(lambda: np.sum(v * v * w), [v, w])
    assert of_v is v and of_w is w
    np.testing.assert_array_equal(dv, [6.0, 12.0])
    assert float(dw) == 5.0


def test_missing_gradients_leave_variables_alone_with_a_warning():
    v, w = jg.Variable([1.0], name="v"), jg.Variable([5.0], name="unused")
    optimizer = Adam(0.125)
    with pytest.warns(UserWarning, match="no gradient for unused: left unchanged") as caught:
        optimizer.apply_gradients([(np.ones(1), v), (None, w)])
    assert caught[0].filename == __file__
    assert w.numpy() == 5.0 and optimizer.iterations == 1
    np.testing.assert_array_equal(optimizer.get_slot(w, "momentum"), [0.0])


@pytest.mark.parametrize("step", [
    lambda optimizer, loss, variables: optimizer.minimize(loss, variables),
    lambda optimizer, loss, variables: optimizer.apply_gradients(optimizer.compute_gradients(loss, variables)),
])  # fmt: skip
def test_a_missing_gradient_is_told_once(step):
    v, w, u = (jg.Variable([1.0], name=name) for name in ("v", "w", "u"))
    optimizer = SGD(0.25)
    for _ in range(2):
        with pytest.warns(UserWarning) as caught:
            step(optimizer, lambda: np.sum(v * v), [v, w, u])
        assert len(caught) == 1 and caught[0].filename == __file__
        assert "no target depends on a source (w, u) through recorded operations" in str(caught[0].message)
    assert v.numpy() == 0.25 and w.numpy() == u.numpy() == 1.0
    with pytest.warns(UserWarning, match="no gradient for w: left unchanged"):
        optimizer.apply_gradients([(np.ones(1), v), (None, w)])


def test_no_gradient_at_all_is_an_error():
    v = jg.Variable([1.0], name="v")
    optimizer = SGD()
    with pytest.raises(NoGradientError, match=r"no gradient for any variable \(v\); does the loss depend on them\?"):
        optimizer.apply_gradients([(None, v)])
    with pytest.raises(NoGradientError, match="no gradient to apply"):
        optimizer.apply_gradients([])
    assert issubclass(NoGradientError, ValueError) and issubclass(NoGradientError, JitgradError)
    assert optimizer.iterations == 0
    optimizer.apply([], [])
    assert optimizer.iterations == 0


# ----- hyper-parameters ----------------------------------------------------------------------------
def test_learning_rate_is_read_and_assigned():
    optimizer = SGD(0.125)
    assert float(np.asarray(optimizer.learning_rate)) == 0.125
    optimizer.learning_rate = np.float32(0.5)
    assert optimizer.learning_rate == 0.5
    rates = iter([0.5, 0.25])
    optimizer.learning_rate = lambda: next(rates)
    w = np.ones(1)
    optimizer.update([w], [np.ones(1)])
    optimizer.update([w], [np.ones(1)])
    assert w == 0.25


def test_a_variable_as_learning_rate_stays_one():
    rate, w = jg.Variable(0.5), np.ones(1)
    optimizer = SGD(rate)
    optimizer.update([w], [np.ones(1)])
    rate.assign(0.25)
    optimizer.update([w], [np.ones(1)])
    assert w == 0.25


def test_iterations_and_name():
    optimizer = Adam()
    assert (int(np.asarray(optimizer.iterations)), optimizer.name, Adam(name="mine").name) == (0, "adam", "mine")


def test_weight_decay_equals_keras():
    want = [5.370851617, -9.424657758, 6.279362753, -10.993572675, 0.549773331, -0.549019125, 0.63700287]
    np.testing.assert_allclose(after(SGD(0.125, weight_decay=0.25), steps=2), want, rtol=1e-6)


def test_weight_decay_can_leave_variables_out():
    kernel, bias, scale = (jg.Variable([1.0], name=name) for name in ("dense/kernel", "dense/bias", "scale"))
    optimizer = SGD(0.5, weight_decay=0.5)
    optimizer.exclude_from_weight_decay(var_list=[scale], var_names=["bias$"])
    optimizer.apply([np.zeros(1)] * 3, [kernel, bias, scale])
    assert [float(v.numpy()[0]) for v in (kernel, bias, scale)] == [0.75, 1.0, 1.0]


def test_running_mean_of_the_parameters():
    optimizer = SGD(1.0, use_ema=True, ema_momentum=0.75)
    w, mean, seen = jg.Variable([8.0]), None, 8.0
    for _ in range(4):
        optimizer.apply([[2.0]], [w])
        seen -= 2.0
        mean = seen if mean is None else 0.75 * mean + 0.25 * seen
        assert w.numpy() == seen and optimizer.get_slot(w, "average") == mean
    optimizer.finalize_variable_values([w])
    assert w.numpy() == mean


def test_parameters_are_overwritten_by_their_mean():
    optimizer = SGD(1.0, use_ema=True, ema_momentum=0.5, ema_overwrite_frequency=2)
    w, values = np.array([8.0]), []
    for _ in range(4):
        optimizer.update([w], [[2.0]])
        values.append(float(w[0]))
    # 6 (mean 6), 4 (mean 5, taken over), 3 (mean 4), 1 (mean 2.5, taken over)
    assert values == [6.0, 5.0, 3.0, 2.5]


def test_the_mean_of_a_variable_met_later_starts_at_its_value():
    optimizer = SGD(1.0, use_ema=True, ema_momentum=0.5)
    v, w = jg.Variable(1.0), jg.Variable(8.0)
    optimizer.apply([0.0], [v])
    optimizer.apply([2.0], [w])
    assert optimizer.get_slot(w, "average") == 7.0


def test_gradients_are_accumulated():
    params, grads = draw(np.float64, steps=6)
    want = [param.copy() for param in params]
    optimizer, plain = Adam(gradient_accumulation_steps=3, clipnorm=0.5), Adam(clipnorm=0.5)
    for k, g in enumerate(grads):
        before = [param.copy() for param in params]
        optimizer.update(params, g)
        if k % 3 < 2:
            assert all(np.array_equal(param, old) for param, old in zip(params, before))
        assert optimizer.iterations == (k + 1) // 3
    for group in (grads[:3], grads[3:]):
        plain.update(want, [sum(g) / 3 for g in zip(*group)])
    for param, expected in zip(params, want):
        np.testing.assert_allclose(param, expected, rtol=1e-12)


def test_loss_scale():
    w = jg.Variable(np.array([1.0, 2.0], np.float32))
    optimizer = SGD(0.25, loss_scale_factor=1024.0, clipvalue=3.0)

    def loss():
        return np.sum(w * w)

    ((grad, _),) = optimizer.compute_gradients(loss, [w])
    np.testing.assert_array_equal(grad, [2048.0, 4096.0])
    assert optimizer.scale_loss(2.0) == 2048.0 and SGD().scale_loss(2.0) == 2.0
    optimizer.minimize(loss, [w])
    np.testing.assert_array_equal(w.numpy(), [0.5, 1.25])
    with jg.GradientTape() as tape:
        value = loss()
        optimizer.minimize(value, [w], tape=tape)
    np.testing.assert_array_equal(w.numpy(), [0.25, 0.625])


# ----- state ---------------------------------------------------------------------------------------
@ALL
def test_restored_state_continues_bit_for_bit(case):
    params, grads = draw(np.float32, steps=6)
    straight = [w.copy() for w in params]
    one = CASES[case]()
    for g in grads:
        one.update(straight, g)
    two = CASES[case]()
    for g in grads[:3]:
        two.update(params, g)
    file = io.BytesIO()
    np.savez(file, **two.state_dict())
    two.update([w.copy() for w in params], grads[3])  # the saved state is a copy
    three = CASES[case]()
    file.seek(0)
    with np.load(file, allow_pickle=False) as state:
        three.load_state_dict(state, params)
    assert three.iterations == 3 // (three.gradient_accumulation_steps or 1)
    for g in grads[3:]:
        three.update(params, g)
    for got, expected in zip(params, straight, strict=True):
        np.testing.assert_array_equal(got, expected)


@ALL
def test_optimizers_can_be_copied_and_pickled(case):
    v = [jg.Variable(start) for start in START]
    optimizer = CASES[case]()
    optimizer.apply(bowl([w.numpy() for w in v]), v)
    others = [copy.deepcopy((optimizer, v)), pickle.loads(pickle.dumps((optimizer, v)))]
    optimizer.apply(bowl([p.numpy() for p in v]), v)
    for other, w in others:
        other.apply(bowl([p.numpy() for p in w]), w)
        for a, b in zip(v, w):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_state_belongs_to_variables_by_their_order():
    v = [jg.Variable([1.0]), jg.Variable([[2.0, 3.0]])]
    one = SGD(0.5, momentum=0.5)
    one.apply([np.ones(1), np.ones((1, 2))], v)
    state = one.state_dict()
    assert {name: value.tolist() for name, value in state.items()} == {
        "iterations": 1,
        "learning_rate": 0.5,
        "momentum.0": [-0.5],
        "momentum.1": [[-0.5, -0.5]],
    }
    two = SGD(0.1, momentum=0.5)
    two.build(v)
    two.load_state_dict(state)
    assert two.learning_rate == 0.5
    np.testing.assert_array_equal(two.get_slot(v[1], "momentum"), [[-0.5, -0.5]])


def test_a_learning_rate_that_is_no_number_is_not_state():
    rate = ExponentialDecay(0.5, 1, 0.5)
    optimizer = SGD(rate)
    optimizer.update([np.ones(1)], [np.ones(1)])
    state = optimizer.state_dict()
    assert [*state] == ["iterations"]
    other = SGD(rate)
    other.load_state_dict({**state, "learning_rate": np.array(7.0)}, [np.ones(1)])
    assert other.learning_rate == 0.25


def test_state_before_the_first_update():
    optimizer = Adam()
    optimizer.load_state_dict(Adam().state_dict(), [np.ones(2)])
    w = np.ones(2)
    optimizer.update([w], [np.ones(2)])
    np.testing.assert_allclose(w, 0.999)


def test_state_of_another_optimizer_or_model_is_refused():
    w, g = [np.ones((2, 3))], [np.ones((2, 3))]
    momentum = SGD(0.1, momentum=0.9)
    momentum.update(w, g)
    state = momentum.state_dict()
    with pytest.raises(DataError, match=r"velocity\.0 is missing; was it saved by another optimizer\?"):
        Adam().load_state_dict(state, w)
    with pytest.raises(DataError, match=r"momentum\.0 is float64 of shape \(2, 3\), the parameter needs float32"):
        SGD(0.1, momentum=0.9).load_state_dict(state, [np.ones((2, 3), np.float32)])
    with pytest.raises(DataError, match=r"momentum\.1 is missing"):
        SGD(0.1, momentum=0.9).load_state_dict(state, [np.ones((2, 3)), np.ones((2, 3))])
    with pytest.raises(DataError, match=r"there is momentum\.0, but only 0 parameters were given"):
        SGD(0.1, momentum=0.9).load_state_dict(state)
    with pytest.raises(DataError, match="iterations is missing"):
        SGD().load_state_dict({}, w)
    other = SGD(0.5, momentum=0.5)
    with pytest.raises(DataError):
        other.load_state_dict(state, [np.ones(3)])
    assert (other.iterations, other.learning_rate, other.state_dict().keys()) == (
        0,
        0.5,
        {"iterations", "learning_rate"},
    )


def test_slots():
    w = jg.Variable([1.0, 2.0], name="w")
    optimizer = Adam(amsgrad=True)
    assert optimizer.get_slot_names() == ["momentum", "velocity", "velocity_hat"]
    with pytest.raises(ArgumentError, match="adam has no slots for Variable w: float64 of shape"):
        optimizer.get_slot(w, "momentum")
    optimizer.apply([[1.0, 2.0]], [w])
    np.testing.assert_allclose(optimizer.get_slot(w, "momentum"), [0.1, 0.2])
    for old, new in {"m": "momentum", "v": "velocity", "vhat": "velocity_hat"}.items():
        np.testing.assert_array_equal(optimizer.get_slot(w, old), optimizer.get_slot(w, new))
    optimizer.get_slot(w, "momentum")[:] = 0.0  # a copy
    np.testing.assert_allclose(optimizer.get_slot(w, "momentum"), [0.1, 0.2])
    with pytest.raises(ArgumentError, match="adam has no slot 'rms'; it has momentum, velocity, velocity_hat"):
        optimizer.get_slot(w, "rms")


# ----- errors --------------------------------------------------------------------------------------
V, W = jg.Variable([1.0, 2.0], name="v"), jg.Variable(3.0, name="w")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: SGD(-1.0), "learning_rate must be at least 0 and below inf, not -1.0"),
        (lambda: SGD(float("nan")), "learning_rate must be at least 0"),
        (lambda: SGD("fast"), "learning_rate must be a number, not 'fast'"),
        (lambda: Adam(decay=0.1), "Adam has no argument decay; decay is now a schedule as learning_rate"),
        (lambda: Adam(weight_decay=-0.1), "weight_decay must be at least 0"),
        (lambda: Adam(ema_momentum=1.5), "ema_momentum must be between 0 and 1"),
        (lambda: Adam(ema_overwrite_frequency=0), "ema_overwrite_frequency must be an integer of at least 1, not 0"),
        (lambda: Adam(gradient_accumulation_steps=1), "gradient_accumulation_steps must be an integer of at least 2"),
        (lambda: Adam(loss_scale_factor=0.0), "loss_scale_factor must be above 0"),
        (lambda: Adam().finalize_variable_values([V]), "adam keeps no mean of the parameters; make it with use_ema"),
        (lambda: SGD().update([np.ones(2)], []), "apply: 0 gradients for 1 parameters"),
        (lambda: SGD().update([np.ones(2)], [np.ones(3)]), "gradient of parameter 0 has shape (3,), its parameter has"),
        (lambda: SGD().update([np.ones(2, int)], [np.ones(2)]), "parameter 0 must be a float32 or float64 Variable or"),
        (lambda: SGD().update([np.broadcast_to(1.0, 2)], [np.ones(2)]), "parameter 0 is read-only"),
        (lambda: SGD().apply([np.ones(2)], [V, W]), "apply: 1 gradients for 2 parameters"),
        (lambda: SGD().apply([np.ones(2)]), "1 gradients for 0 parameters; pass the variables, or build the optimizer"),
        (lambda: SGD().apply([np.ones(3)], [V]), "the gradient of v has shape (3,), its parameter has (2,)"),
        (lambda: SGD().apply([np.ones(2)] * 2, [V, V]), "a parameter is given twice; pass it once, with the sum"),
        (lambda: SGD().apply([1.0], [jg.constant(1.0)]), "parameter 0 must be a float32 or float64 Variable or array"),
        (lambda: SGD().minimize(V * V, [V]), "loss must be callable (a function without arguments), not Tensor; or"),
    ],
)
def test_wrong_arguments(make, words):
    with pytest.raises(ArgumentError) as caught:
        make()
    assert words in str(caught.value)


def test_a_failed_call_changes_nothing():
    v, optimizer = jg.Variable([1.0]), SGD(0.5, momentum=0.5)
    optimizer.apply([np.ones(1)], [v])
    with pytest.raises(ArgumentError):
        optimizer.apply([np.ones(1), np.ones(2)], [v, jg.Variable([1.0])])
    assert v.numpy() == 0.5 and optimizer.iterations == 1
    np.testing.assert_array_equal(optimizer.get_slot(v, "momentum"), [-0.5])


def test_parameters_cannot_change_shape_between_updates():
    optimizer = SGD(0.1, momentum=0.5)
    optimizer.update([np.ones(3)], [np.ones(3)])
    with pytest.raises(ArgumentError, match=r"state for parameter 0 is float64 of shape \(3,\), the parameter is"):
        optimizer.update([np.ones(4)], [np.ones(4)])
    with pytest.raises(ArgumentError, match="state is of 1 parameters, not 2"):
        optimizer.update([np.ones(3)] * 2, [np.ones(3)] * 2)


def test_an_optimizer_of_ones_own_must_define_its_numbers():
    with pytest.raises(NotImplementedError, match=r"Optimizer must define numbers\(self, rate, step\)"):
        Optimizer(0.1, {}).update([np.ones(1)], [np.ones(1)])


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in OPTIMIZERS.values():
            kind().update([np.zeros(2), np.ones(0)], [np.zeros(2), np.ones(0)])


# ----- wrong calls ------------------------------------------------------------------------------------
V = jg.Variable([1.0, 2.0], name="v")


def square():
    return np.sum(V * V)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Adam(lr=0.1), "Adam has no argument lr; lr is now learning_rate; it has "),
        (lambda: SGD(jg.optim.schedules.CosineDecay), "learning_rate must be .* not the class CosineDecay"),
        (lambda: SGD().minimize(square, [V, 1.0]), "var_list must be .* number 1 is a float: make it a Variable"),
        (lambda: SGD().minimize(square, {"v": V}), "var_list must be .* number 0 is a str"),
        (lambda: SGD().minimize(square, [V], tape=3), "tape must be a jitgrad.GradientTape, not int 3"),
        (lambda: SGD().minimize(lambda: 1.0, [V]), "loss must be a tensor .*, not float 1.0; the computation left"),
        (lambda: SGD().minimize(lambda: None, [V]), "loss must be a tensor .*, not NoneType None; does the function"),
        (lambda: SGD().apply_gradients(None), r"takes a list of \(gradient, variable\) pairs; write zip"),
        (lambda: SGD().apply_gradients([np.ones(2), np.ones(2)]), r"takes a list of \(gradient, variable\) pairs"),
        (lambda: SGD().load_state_dict(3), "state must be what state_dict returned, or np.load of it, not int"),
    ],
)
def test_wrong_calls_name_the_argument(call, words):
    with pytest.raises(ArgumentError, match=words):
        call()
    np.testing.assert_array_equal(V, [1.0, 2.0])


def test_attributes_of_keras_name_those_of_here():
    with pytest.raises(AttributeError, match="'SGD' object has no attribute 'lr'; use learning_rate"):
        SGD().lr
    with pytest.raises(AttributeError, match="'Adam' object has no attribute 'variables'; use state_dict()"):
        Adam().variables
