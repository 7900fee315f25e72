"""custom_gradient, recompute_grad, RegisterGradient and gradient_override_map, stop_gradient."""

import itertools

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError, ShapeError
from jitgrad.tape.recording import thread

quiet = pytest.mark.filterwarnings("ignore::jitgrad.tape.notices.UnconnectedGradientWarning")
_names = map("TestGradient{}".format, itertools.count())


def slopes(f, *xs):
    with jg.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    return [None if g is None else g.tolist() for g in tape.gradient(y, list(xs))]


def scaled(by):
    """x * x with the gradient `by`, which is wrong on purpose."""
    return jg.custom_gradient(lambda x: (x * x, lambda up: up * by))


@pytest.fixture
def x():
    return jg.Variable(3.0)


# ----- custom_gradient --------------------------------------------------------------------------------
def test_the_given_gradient_is_used(x):
    assert slopes(scaled(100.0), x) == [100.0]
    assert slopes(lambda x: 2.0 * scaled(100.0)(x) * x, x) == [2.0 * (100.0 * 3.0 + 9.0)]
    assert float(scaled(100.0)(jg.constant(2.0))) == 4.0  # no tape


def test_results_and_cotangents_of_any_structure(x):
    @jg.custom_gradient
    def f(x):
        return {"b": x * 1.0, "a": (x * 2.0, x * 3.0)}, lambda *ups: sum(u * 10.0**k for k, u in enumerate(ups))

    for pick, want in ((lambda y: y["b"], 100.0), (lambda y: y["a"][0], 1.0), (lambda y: y["a"][1], 10.0)):
        assert slopes(lambda x: pick(f(x)), x) == [want]  # by sorted keys, as in TensorFlow
    assert slopes(lambda x: f(x)["b"] + f(x)["a"][1], x) == [110.0]


def test_arguments_of_any_structure(x):
    w = jg.constant(2.0)
    f = jg.custom_gradient(lambda d: (d["a"] * d["b"], lambda up: {"b": 20.0 * up, "a": 10.0 * up}))
    assert slopes(lambda x, w: f({"b": w, "a": x}), x, w) == [10.0, 20.0]


@pytest.mark.parametrize("gradient", [lambda up: up * 7.0, lambda up: (None, up * 7.0), lambda up: [up * 7.0]])
def test_gradients_for_all_arguments_or_for_the_values_among_them(x, gradient):
    f = jg.custom_gradient(lambda n, x: (x**n, gradient))
    assert slopes(lambda x: f(2, x), x) == [7.0]


def test_methods_and_keywords(x):
    class Model:
        @jg.custom_gradient
        def f(self, x, *, power):
            return x**power, lambda up: up * power * 100.0

    assert slopes(lambda x: Model().f(x, power=5.0), x) == [500.0]


@quiet
def test_none_is_no_gradient(x):
    f = jg.custom_gradient(lambda x, w: (x * w, lambda up: (up, None)))
    assert slopes(f, x, jg.Variable(2.0)) == [1.0, None]


def test_higher_orders_come_from_the_gradient(x):
    @jg.custom_gradient
    def cube(x):
        return x.numpy() ** 3, lambda up: up * 3.0 * x * x

    with jg.GradientTape() as outer:
        with jg.GradientTape() as inner:
            y = cube(x)
        g = inner.gradient(y, x)
    assert [float(g), float(outer.gradient(g, x))] == [27.0, 18.0]
    with jg.ForwardAccumulator(x, 1.0) as acc:
        y = scaled(100.0)(x)
    assert float(acc.jvp(y)) == 100.0


def test_a_tape_inside(x):
    @jg.custom_gradient
    def cube(x):
        with jg.GradientTape() as tape:
            tape.watch(x)
            y = x**3
        g = tape.gradient(y, x)
        return y, lambda up: up * g

    with jg.GradientTape() as outer:
        with jg.GradientTape() as inner:
            y = cube(x)
        g = inner.gradient(y, x)
    assert [float(g), float(outer.gradient(g, x))] == [27.0, 18.0]


def test_variables_that_are_read(x):
    w, frozen = jg.Variable(2.0), jg.Variable(5.0, trainable=False)

    @jg.custom_gradient
    def f(x):
        return x * w * frozen, lambda up, variables=None: (up * w, [up * 70.0 for _ in variables])

    assert slopes(lambda x, w: f(x), x, w) == [2.0, 70.0]
    blind = jg.custom_gradient(lambda x: (x * w, lambda up: up))
    with pytest.raises(TypeError, match=f"reads variables .{w.name}., so its gradient function needs a parameter"):
        blind(x)


def test_results_are_copied(x):
    kept = []

    @jg.custom_gradient
    def f(x):
        kept.append(x.numpy() * np.ones(2))
        return kept[0], lambda up: np.sum(up)

    with jg.GradientTape() as tape:
        y = f(x) * x
    kept[0][:] = 100.0
    assert float(tape.gradient(y, x)) == 3.0 * 2 + 6.0


def test_gradients_are_copied():
    x, buffer = jg.Variable([1.0, 2.0]), np.zeros(2)

    @jg.custom_gradient
    def with_buffer(x):
        def gradient(upstream):
            np.multiply(2.0 * x.numpy(), upstream.numpy(), out=buffer)
            return buffer

        return x * x, gradient

    with jg.GradientTape() as tape:
        y = with_buffer(x)
    assert tape.jacobian(y, x).tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_recorded_keyword_arguments_warn(x):
    f = jg.custom_gradient(lambda x, w=None: (x * w, lambda up: up * w))
    with jg.GradientTape() as tape:
        with pytest.warns(jg.UnconnectedGradientWarning, match="keyword arguments"):
            y = f(x, w=x * x)
    assert float(tape.gradient(y, x)) == 9.0


@pytest.mark.parametrize(
    ("f", "error", "message"),
    [
        (lambda x: x, ArgumentError, "must return its result and a gradient function"),
        (lambda x: (x * x, lambda up: (up, up)), ArgumentError, "returned 2 gradients for 1 arguments"),
        (lambda x: (x * x, lambda up: np.ones(3)), ShapeError, r"shape \(3,\) for an operand of shape \(2,\)"),
        (lambda x: (x * x, lambda up: "up"), ArgumentError, "gave 'up', which is no array of numbers"),
    ],
)
def test_mistakes(f, error, message):
    with pytest.raises(error, match=message):
        slopes(jg.custom_gradient(f), jg.Variable([1.0, 2.0]))
    assert thread.recordings == ()


def test_a_transposed_cotangent_is_not_reshaped():
    x = jg.Variable(np.arange(6.0).reshape(2, 3))
    with jg.GradientTape() as tape:
        y = jg.custom_gradient(lambda x: (x * x, lambda up: np.transpose(up)))(x)
    with pytest.raises(ShapeError, match=r"shape \(3, 2\) for an operand of shape \(2, 3\)"):
        tape.gradient(y, x)


def test_too_many_gradients_are_counted(x):
    f = jg.custom_gradient(lambda x, factor: (x * factor, lambda up: (up, None, None)))
    with pytest.raises(ArgumentError, match=r"returned 3 gradients for 2 arguments \(1 of them recorded\)"):
        slopes(lambda x: f(x, 2.0), x)


# ----- recompute_grad ---------------------------------------------------------------------------------
def all_orders(wrap, f, *xs):
    """First and second derivatives in every direction."""
    with jg.GradientTape(persistent=True) as outer:
        with jg.GradientTape() as inner:
            y = f(wrap, *xs)
        first = inner.gradient(y, xs, unconnected_gradients="zero")
    second = [outer.gradient(g, xs, unconnected_gradients="zero") for g in first]
    return np.array([[float(g) for g in row] for row in (first, *second)])


PROGRAMS = {
    "argument": lambda wrap, x, w: wrap(lambda x: np.sin(x * w) * x)(x),
    "keyword": lambda wrap, x, w: wrap(lambda x, w=None: np.sin(x * w) * x)(x, w=w * w),
    "closure": lambda wrap, x, w: (lambda u: wrap(lambda x: np.sin(x * u) * u)(x) * u)(w * x),
    "twice the same": lambda wrap, x, w: (lambda u: wrap(lambda p, q: p * q * q * w)(u, u))(x * w),
    "parts": lambda wrap, x, w: wrap(lambda p, q: p * p * q)(*np.unstack(np.stack([x * w, x]))),
    "nested": lambda wrap, x, w: wrap(lambda x: wrap(lambda x: np.exp(x * w))(x * x) * x)(x),
    "structure": lambda wrap, x, w: (lambda d: d["a"] * d["b"])(wrap(lambda d: {"b": d["x"] ** 3, "a": w})({"x": x})),
    "passes on": lambda wrap, x, w: (lambda a, b: a * b)(*wrap(lambda x: (x, w))(x * x)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_recomputed_derivatives_are_the_same(name):
    x, w = jg.Variable(0.7), jg.Variable(1.5)
    want = all_orders(lambda f: f, PROGRAMS[name], x, w)
    np.testing.assert_allclose(all_orders(jg.recompute_grad, PROGRAMS[name], x, w), want, rtol=1e-13)


def test_recomputing_keeps_one_node_and_runs_again():
    calls = []

    def block(x):
        calls.append(1)
        for _ in range(50):
            x = np.sin(x)
        return x

    x = jg.Variable(np.ones(3))
    with jg.GradientTape() as tape:
        y = jg.recompute_grad(block)(x)
        assert len(tape._recording) == 1
    assert len(calls) == 1
    tape.gradient(y, x)
    assert len(calls) == 2


def test_recomputing_uses_the_values_of_then():
    x, w, v, a = jg.Variable(0.5), jg.Variable(2.0), jg.Variable(4.0), np.array([1.0, 10.0])
    with jg.GradientTape() as tape:
        y = jg.recompute_grad(lambda x, v, a: x * w * w * v * a)(x, v, a)
    w.assign(100.0)
    v.assign(100.0)
    a[:] = 100.0
    assert [float(g) for g in tape.gradient(y, [x, w, v])] == [16.0 * 11, 8.0 * 11, 2.0 * 11]
    assert [float(w), float(v)] == [100.0, 100.0]


# ----- overrides --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("of_types", "words"),
    [
        ({np.square: "G"}, "maps types of operations, such as 'Square', not ufunc"),
        ({"Square": abs}, "maps 'Square' to builtin_function_or_method .* register the function under one with"),
        (["Square"], "must be a dict, not list"),
    ],
)
def test_a_map_is_of_names(of_types, words):
    with pytest.raises(ArgumentError, match=words), jg.gradient_override_map(of_types):
        pass


def test_a_name_that_is_not_registered_is_compared_with_those_that_are():
    jg.RegisterGradient("FlatSquare")(lambda op, up: up)
    with pytest.raises(LookupError, match="no gradient is registered under 'FlatSqare'; did you mean FlatSquare?"):
        with jg.gradient_override_map({"Square": "FlatSqare"}):
            pass


@pytest.mark.parametrize("decorator", [jg.custom_gradient, jg.recompute_grad, jg.RegisterGradient("unused")])
def test_decorators_take_functions(decorator):
    with pytest.raises(ArgumentError, match="takes a function, not float 3.0"):
        decorator(3.0)


def registered(f):
    name = next(_names)
    jg.RegisterGradient(name)(f)
    return name


@pytest.mark.parametrize(
    ("kind", "f"),
    [
        ("Square", np.square), ("Exp", np.exp), ("Mul", lambda x: x * 2.0), ("Mul", lambda x: 2.0 * x),
        ("AddV2", lambda x: x + 1.0), ("Sum", np.sum), ("Identity", np.positive), ("Pow", lambda x: x**3),
        ("RealDiv", lambda x: x / 2.0), ("StridedSlice", lambda x: x[:1]), ("Reshape", lambda x: np.reshape(x, (1, 2))),
    ],
)  # fmt: skip
def test_overridden_types(kind, f):
    name = registered(lambda op, up: np.full(2, 5.0))
    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape(persistent=True) as tape:
        with jg.gradient_override_map({kind: name}):
            y = f(x)
        z = f(x)
    assert tape.gradient(y, x).tolist() == [5.0, 5.0]
    assert tape.gradient(z, x).tolist() != [5.0, 5.0]


@pytest.mark.parametrize(
    ("kind", "close"), [("Squre", "Square"), ("matmul", "MatMul"), ("np.hypot", "Hypot"), ("Q7", "")]
)
def test_a_type_that_no_operation_has_is_told(kind, close):
    name = registered(lambda op, up: up)
    with pytest.warns(UserWarning, match=f"no operation has the type '{kind}', so nothing is overridden") as caught:
        with jg.gradient_override_map({"Sign": name, "AddV2": name, kind: name}):
            pass
    assert len(caught) == 1 and caught[0].filename == __file__
    assert f"did you mean {close}" in str(caught[0].message) if close else "mean" not in str(caught[0].message)


def test_types_that_have_not_been_used_are_known(x):
    @jg.custom_gradient
    def MyOwn(v):
        return v, lambda up: 10.0 * up

    name = registered(lambda op, up: 5.0 * up)
    with jg.gradient_override_map(dict.fromkeys(("Logaddexp2", "Erf", "Conv2D", "MyOwn"), name)):
        with jg.GradientTape() as tape:
            y = MyOwn(x)
    assert float(tape.gradient(y, x)) == 5.0


def test_operations_show_their_inputs_and_outputs(x):
    name = registered(lambda op, up: up * op.inputs[0] * op.outputs[0] * (1.0 if op.type == "Exp" else 0.0))
    with jg.GradientTape() as outer:
        with jg.GradientTape() as inner, jg.gradient_override_map({"Exp": name}):
            y = np.exp(x)
        g = inner.gradient(y, x)
    assert float(g) == pytest.approx(3.0 * np.exp(3.0))
    assert float(outer.gradient(g, x)) == pytest.approx(np.exp(3.0) + 9.0 * np.exp(3.0))  # exp is overridden there too


@quiet
def test_operations_of_several_operands_and_results():
    a, b = jg.Variable(np.ones((2, 2))), jg.Variable([1.0, 2.0])
    pair, parts = registered(lambda op, up: (up * 10.0, None)), registered(lambda op, p, q: np.concatenate([p + 1, q]))
    with jg.GradientTape(persistent=True) as tape, jg.gradient_override_map({"MatMul": pair, "Split": parts}):
        y, q = a @ a.read_value(), np.split(b, 2)[1]
    assert tape.gradient(y, a).tolist() == [[10.0, 10.0], [10.0, 10.0]]
    assert tape.gradient(q, b).tolist() == [1.0, 1.0]


def test_the_inner_map_wins_and_ends(x):
    ten, twenty = registered(lambda op, up: up * 10.0), registered(lambda op, up: up * 20.0)
    with jg.GradientTape(persistent=True) as tape:
        with jg.gradient_override_map({"Exp": ten, "Sin": ten}):
            with jg.gradient_override_map({"Exp": twenty}):
                ys = [np.exp(x), np.sin(x)]
            ys.append(np.exp(x))
        ys.append(np.exp(x))
    assert [float(tape.gradient(y, x)) for y in ys[:3]] == [20.0, 10.0, 10.0]
    assert float(tape.gradient(ys[3], x)) == np.exp(3.0)


@pytest.mark.parametrize("found", [lambda up: up, lambda up: (up, up, up)])
def test_a_gradient_for_each_operand_is_asked_for(found):
    a, b = jg.Variable(1.0), jg.Variable(2.0)
    name = registered(lambda op, up: found(up))
    with jg.GradientTape() as tape, jg.gradient_override_map({"Mul": name}):
        y = a * b
    with pytest.raises(ArgumentError, match="registered for Mul returned . gradients for 2 inputs"):
        tape.gradient(y, [a, b])


def test_names():
    name = registered(lambda op, up: up)
    with pytest.raises(KeyError, match=name):
        jg.RegisterGradient(name)(lambda op, up: up)
    with pytest.raises(ArgumentError, match="must be a string"):
        jg.RegisterGradient(3)
    with (
        pytest.raises(LookupError, match="no gradient is registered under 'nothing'"),
        jg.gradient_override_map({"Exp": "nothing"}),
    ):
        pass
    with pytest.raises(ArgumentError, match="must be a dict"), jg.gradient_override_map("Exp"):
        pass


# ----- stop_gradient ----------------------------------------------------------------------------------
@quiet
def test_stop_gradient_of_structures(x):
    with jg.GradientTape(persistent=True) as tape:
        a, (b,) = jg.stop_gradient([x * x, (x,)])
        c = jg.stop_gradient({"k": [x * x]})["k"][0]
        y = (a + b + c) * x
    assert float(tape.gradient(y, x)) == 21.0
    assert tape.gradient(y, a) is None
    assert type(b) is jg.Tensor
