"""Compiled functions called with tape values: one node each, with the engine's derivatives of any order."""

import collections
import gc
import threading
import weakref

import numba
import numpy as np
import pytest
from numba import float64, njit
from numba.experimental import jitclass
from numba.typed import Dict, List

import jitgrad as jg
from jitgrad.errors import ArgumentError, UnsupportedError
from jitgrad.tape import compile_after, compiled_calls


def derivatives(f, value, order):
    """Derivatives of the orders 1 to `order` of a function of one number, by nested tapes."""
    x = jg.constant(value)

    def nested(k):
        if k == 0:
            return [f(x)]
        with jg.GradientTape() as tape:
            tape.watch(x)
            found = nested(k - 1)
        return [*found, tape.gradient(found[-1], x)]

    return nested(order)[1:]


@njit
def cubic(x):
    y = x
    while abs(y) < 1.0:
        y = y * 2.0
    return y * x * x


@njit
def scaled(x, w, n):
    """Several results, nested, and integers among arguments and results."""
    total = 0.0
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = x[i] * w[1] ** n
        total += w[0] * x[i] * x[i]
    return out, (total, n)


@njit
def square(x):
    return x * x


@njit
def square_sum(x):
    total = 0.0
    for v in x:
        total += v * v * v
    return total


# ----- values and orders -----------------------------------------------------------------------------
def test_three_orders_of_a_scalar_function():
    x = 0.3  # doubled twice: 4 x^3
    np.testing.assert_allclose(derivatives(cubic, x, 3), [12 * x**2, 24 * x, 24.0], rtol=1e-13)
    assert float(cubic(jg.constant(x))) == cubic(x)


def test_one_call_is_one_node():
    x = jg.Variable(0.3)
    with jg.GradientTape() as tape:
        y = cubic(x)
    assert isinstance(y, jg.Tensor)
    assert y.node.primitive.name == "PartitionedCall"
    assert y.node.args[0].node is x.node
    np.testing.assert_allclose(tape.gradient(y, x), 12 * 0.3**2)


def test_results_in_a_structure():
    x, w = jg.Variable([1.0, 2.0]), (jg.Variable(2.0), jg.Variable(3.0))
    with jg.GradientTape(persistent=True) as tape:
        out, (total, n) = scaled(x, w, 2)
        loss = np.sum(out) + total
    np.testing.assert_array_equal(out, [9.0, 18.0])
    assert float(total) == 10.0
    assert int(n) == 2
    assert n.dtype.kind == "i"
    for _ in range(2):  # a persistent tape answers again
        gx, (g0, g1) = tape.gradient(loss, (x, w))
        np.testing.assert_allclose(gx, [13.0, 17.0])
        np.testing.assert_allclose([g0, g1], [5.0, 18.0])
    np.testing.assert_allclose(tape.gradient(total, x), [4.0, 8.0])
    np.testing.assert_allclose(tape.gradient(out, w[1]), 18.0)
    np.testing.assert_array_equal(tape.gradient(out, w[0], unconnected_gradients="zero"), 0.0)
    np.testing.assert_allclose(tape.jacobian(out, w[1]), [6.0, 12.0])
    with pytest.warns(jg.UnconnectedGradientWarning):
        assert tape.gradient(n, x) is None


def test_second_order_through_a_structure():
    x, w = jg.constant([1.0, 2.0]), (jg.constant(2.0), jg.constant(3.0))
    with jg.GradientTape(persistent=True) as outer:
        outer.watch([x, w])
        with jg.GradientTape() as inner:
            inner.watch([x, w])
            out, (total, _) = scaled(x, w, 2)
            loss = np.sum(out * out) + total
        gx, gw = inner.gradient(loss, (x, w))
        s = np.sum(gx * np.array([1.0, 10.0]))
    # loss = sum x^2 w1^4 + w0 sum x^2
    np.testing.assert_allclose(gx, [2 * 81 + 4.0, 4 * 81 + 8.0])
    np.testing.assert_allclose(gw[1], 5 * 4 * 27)
    hx, (h0, h1) = outer.gradient(s, (x, w))
    np.testing.assert_allclose(hx, [2 * 81 + 4.0, 10 * (2 * 81 + 4.0)])
    np.testing.assert_allclose([h0, h1], [2 + 40.0, 21 * 2 * 4 * 27.0])
    np.testing.assert_allclose(outer.gradient(gw[1], w[1]), 5 * 12 * 9)


def test_forward_mode():
    x = jg.constant([1.0, 2.0])
    with jg.ForwardAccumulator(x, [1.0, -1.0]) as accumulator:
        y = square_sum(x)
    np.testing.assert_allclose(accumulator.jvp(y), 3.0 - 12.0)


def test_between_other_operations():
    x = jg.Variable([0.2, 0.4])
    with jg.GradientTape() as tape:
        y = np.exp(square_sum(np.sin(x) * 2.0))
    s, c = np.sin([0.2, 0.4]), np.cos([0.2, 0.4])
    np.testing.assert_allclose(tape.gradient(y, x), np.exp(np.sum(8 * s**3)) * 24 * s * s * c)


@pytest.mark.parametrize("value", [0.5, [0.5, 2.0]])
def test_single_precision_stays(value):
    square(1.0)  # another version, for which the result has another type
    x = jg.constant(value, dtype="float32")
    with jg.GradientTape() as outer:
        outer.watch(x)
        with jg.GradientTape() as inner:
            inner.watch(x)
            y = square(x)
        slope = inner.gradient(y, x)
    curvature = outer.gradient(slope, x)
    assert y.dtype == slope.dtype == curvature.dtype == np.float32
    np.testing.assert_array_equal(slope, 2 * x.numpy())
    np.testing.assert_array_equal(curvature, np.full(x.shape, 2.0))


def test_complex_numbers():
    @njit
    def f(z):
        return z * z

    z = jg.Variable(2.0 + 1.0j)
    with jg.GradientTape() as tape:
        y = np.real(f(z))
    np.testing.assert_allclose(tape.gradient(y, z), np.conj(2 * (2.0 + 1.0j)))


# ----- arguments -------------------------------------------------------------------------------------
Pair = collections.namedtuple("Pair", "a b")


def test_named_tuples():
    @njit
    def f(p):
        return Pair(p.a * p.b, p.a)

    a, b = jg.Variable(2.0), jg.Variable(5.0)
    with jg.GradientTape() as tape:
        y = f(Pair(a, b))
    assert type(y) is Pair
    np.testing.assert_allclose(tape.gradient(y, [a, b]), [6.0, 2.0])


def test_keywords_defaults_and_varargs():
    @njit
    def f(x, power=3, factor=2.0):
        return factor * x**power

    @njit
    def g(x, *rest):
        total = x
        for r in rest:
            total *= r
        return total

    x, k = jg.Variable(2.0), jg.Variable(5.0)
    with jg.GradientTape(persistent=True) as tape:
        a, b, c = f(x), f(factor=k, x=x), g(x, k, 3.0)
    assert [float(v) for v in (a, b, c)] == [16.0, 40.0, 30.0]
    np.testing.assert_allclose(tape.gradient(a, x), 24.0)
    np.testing.assert_allclose(tape.gradient(b, [x, k]), [60.0, 8.0])
    np.testing.assert_allclose(tape.gradient(c, [x, k]), [15.0, 6.0])


def test_integers_booleans_and_constants_among_the_arguments():
    @njit
    def f(x, k, flag, a, word):
        return x[k] * (2.0 if flag else 1.0) * a[0] + len(word)

    x, k, flag = jg.Variable([1.0, 2.0]), jg.constant(1), jg.constant(True)
    a = np.array([3.0, 0.0])
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = f(x, k, flag, a, "word")
    a[0] = 100.0  # the tape has a copy
    assert float(y) == 16.0
    found, none, zero = tape.gradient(y, [x, k, flag], unconnected_gradients="zero")
    np.testing.assert_allclose(found, [0.0, 6.0])
    assert none.shape == zero.shape == ()


def test_variables_may_be_assigned_afterwards():
    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        y = square_sum(x)
    x.assign([10.0, 20.0])
    np.testing.assert_allclose(tape.gradient(y, x), [3.0, 12.0])


def test_any_layout():
    @njit
    def f(m):
        return m[0] * m[1]

    m = jg.Variable(np.arange(6.0).reshape(3, 2))
    with jg.GradientTape() as tape:
        y = f(m.T)  # not C-contiguous
        z = f(np.broadcast_to(m[0], (2, 2)))  # not writeable, elements share memory
    assert len(f.signatures) == 1
    np.testing.assert_array_equal(z, [0.0, 1.0])
    expected = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 4.0]]) + np.array([[0.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(tape.gradient([y, z], m), expected)


def test_a_list_of_tape_values_is_refused():
    with pytest.raises(ArgumentError, match="as a tuple"):
        square_sum([jg.constant(1.0), jg.constant(2.0)])


# ----- without a tape, without a derivative ------------------------------------------------------------
def test_without_a_tape_nothing_is_recorded():
    x = jg.Variable([1.0, 2.0])
    y = square_sum(x)
    assert float(y) == 9.0
    assert y.node is None


def test_results_without_floats():
    @njit
    def f(x):
        return x.size, x[0] > 0, "positive", None

    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape():
        size, positive, word, nothing = f(x)
    assert size.node is positive.node is None
    assert (int(size), bool(positive), word, nothing) == (2, True, "positive", None)


def test_results_that_cannot_be_followed_are_refused():
    @njit
    def f(x):
        return [x[0], x[1]]

    x = jg.Variable([1.0, 2.0])
    assert f(x) == [1.0, 2.0]  # no tape, nothing lost
    with jg.GradientTape(), pytest.raises(UnsupportedError, match="returned a list"):
        f(x)


def test_a_result_does_not_share_memory_with_an_argument():
    @njit
    def second(x, a):
        return a

    a = np.ones(2)
    y = second(jg.constant([1.0]), a)
    a[0] = 7.0
    np.testing.assert_array_equal(y, [1.0, 1.0])


# ----- writing into arguments --------------------------------------------------------------------------
@njit
def fill(x, out):
    for i in range(x.size):
        out[i] = x[i] * 0.0
    return x.sum()


def test_writing_into_a_tape_value_is_refused():
    out = jg.Variable([1.0, 2.0])
    with pytest.raises(UnsupportedError, match=r"fill writes into its argument out\b"):
        fill(np.ones(2), out)
    np.testing.assert_array_equal(out, [1.0, 2.0])


def test_writing_into_an_array_is_refused_where_a_tape_listens():
    x = jg.Variable([1.0, 2.0])
    out = np.ones(2)
    assert float(fill(x, out)) == 3.0
    np.testing.assert_array_equal(out, [0.0, 0.0])
    with jg.GradientTape(), pytest.raises(UnsupportedError, match=r"fill writes into its argument out\b"):
        fill(x, np.ones(2))


def test_writing_what_was_there_is_refused_when_it_is_differentiated():
    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        y = fill(x, np.zeros(2))
    with pytest.raises(UnsupportedError, match="fill writes into an argument"):
        tape.gradient(y, x)


def test_writing_into_arrays_of_its_own_is_not_taken_for_that():
    @njit
    def helper(x):
        out = np.empty_like(x)
        for i in range(x.size):
            out[i] = x[i] * 2.0 if x[i] > 0 else -x[i]
        return out

    @njit
    def f(x):
        state = x.copy()
        for _ in range(2):
            new = np.empty_like(state)
            for i in range(state.size):
                new[i] = state[i] * x[i]
            state = new
            state[0] += 1.0
        found = helper(state)
        found[1] += 1.0
        return found.sum()

    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        y = f(x)
    # 2 ((x0^2 + 1) x0 + 1) + 2 x1^3 + 1
    np.testing.assert_allclose(tape.gradient(y, x), [2 * (3 + 1.0), 6 * 4.0])


# ----- other compiled things -----------------------------------------------------------------------------
def test_errors_of_the_function_come_out():
    @njit
    def f(x):
        if x < 0.0:
            raise ValueError("negative")
        return x

    with jg.GradientTape(), pytest.raises(ValueError, match="negative"):
        f(jg.Variable(-1.0))
    with pytest.raises(numba.TypingError):
        square_sum(jg.constant(1.0))


def test_errors_of_the_engine_come_out_when_it_is_asked():
    @jg.custom_vjp
    def f(x):
        return 2.0 * x

    x = jg.Variable(2.0)
    with jg.GradientTape() as tape:
        y = f(x)
    assert float(y) == 4.0
    with pytest.raises(jg.NoRuleError, match="without a rule"):
        tape.gradient(y, x)


def test_derivatives_of_the_engine():
    x = jg.Variable([1.0, 2.0])
    gradient = jg.grad(square_sum)
    with jg.GradientTape() as tape:
        y = gradient(x)
    np.testing.assert_allclose(y, [3.0, 12.0])
    np.testing.assert_allclose(tape.gradient(y, x), [6.0, 12.0])
    with jg.GradientTape() as tape:
        value, slope = jg.value_and_grad(square_sum)(x)
        loss = value + np.sum(slope)
    np.testing.assert_allclose(tape.gradient(loss, x), [3.0 + 6.0, 12.0 + 12.0])


def test_derivatives_given_by_the_user():
    @jg.custom_vjp
    def f(x):
        return x * x

    f.defvjp(lambda x: (x * x, x), lambda x, ct: (100.0 * ct * x,))
    x = jg.Variable(3.0)
    with jg.GradientTape() as tape:
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x), 300.0)


def test_explicit_signatures():
    @njit("float64(float64)")
    def f(x):
        return x * x * x

    np.testing.assert_allclose(derivatives(f, 2.0, 2), [12.0, 12.0])
    with pytest.raises(TypeError, match="No matching definition"):
        f("word")
    assert not f._can_compile
    assert len(f.signatures) == 1


def test_object_mode_runs_on_tape_values():
    @numba.jit(forceobj=True)
    def f(x):
        return np.sum(x * x)

    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        y = f(x)
    assert y.node.primitive.name == "Sum"
    np.testing.assert_allclose(tape.gradient(y, x), [2.0, 4.0])


def test_vectorize():
    @numba.vectorize
    def f(x, y):
        return x * x * y

    x = jg.Variable([1.0, 2.0])
    with jg.GradientTape() as tape:
        y = f(x, 3.0)
    np.testing.assert_allclose(tape.gradient(y, x), [6.0, 12.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: jg.vjp(square_sum, x),
        lambda x: jg.vjp(square_sum, np.ones(2))[1](x),
        lambda x: jg.jvp(square_sum, (x,), (np.ones(2),)),
        lambda x: jg.jvp(square_sum, (np.ones(2),), (x,)),
        lambda x: jg.linearize(square_sum, x),
        lambda x: jg.hvp(square_sum, (np.ones(2),), (x,)),
    ],
)
def test_functions_of_the_engine_that_no_tape_would_hear(call):
    with pytest.raises(ArgumentError, match="tape value"):
        call(jg.Variable(np.ones(2)))


# ----- the machinery ---------------------------------------------------------------------------------
def test_installing_twice_changes_nothing():
    before = numba.core.dispatcher.Dispatcher._compile_for_args
    compiled_calls.install()
    assert numba.core.dispatcher.Dispatcher._compile_for_args is before


def test_calls_with_arrays_do_not_pass_the_hook(monkeypatch):
    square_sum(np.ones(2))
    monkeypatch.setattr(compiled_calls, "_holds_value", None)
    assert square_sum(np.ones(2)) == 2.0


@pytest.mark.parametrize("value", [jg.Variable(2.0, name="w"), jg.constant(2.0), (1.0, jg.Variable(2.0, name="w"))])
def test_a_captured_tape_value_is_refused_with_a_way_out(value):
    def f(x):
        return x * value

    what = "Tensor of shape" if isinstance(value, jg.Tensor) else "Variable 'w' of shape"
    for compiled in (njit(f), jg.grad(f), jg.jacfwd(f)):
        with pytest.raises(UnsupportedError, match=rf"reads a tape value, {what} .* only as an argument"):
            compiled(3.0)


def test_a_node_is_freed():
    x = jg.Variable([1.0, 2.0], dtype=np.float32)
    square(x)
    gc.collect()
    gc.disable()
    try:
        with jg.GradientTape() as tape:
            y = square(x)
        held = weakref.ref(y.node.out), weakref.ref(y.node.primitive)
        np.testing.assert_allclose(tape.gradient(y, x), [2.0, 4.0])
        del y, tape
        assert [reference() for reference in held] == [None, None]
    finally:
        gc.enable()


def test_threads():
    results = {}

    def work(k):
        x = jg.constant([1.0 * k, 2.0])
        for _ in range(20):
            with jg.GradientTape() as tape:
                tape.watch(x)
                y = square_sum(x)
            results[k] = tape.gradient(y, x).numpy()

    workers = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k in range(4):
        np.testing.assert_allclose(results[k], [3.0 * k * k, 12.0])


# ----- data that is changed between the call and its derivative ---------------------------------------
def dictionary(value):
    made = Dict()
    made[0] = value
    return made


@pytest.mark.parametrize(
    ("data", "factor"),
    [
        (np.array([3.0]), lambda d: d[0]),
        ([3.0], lambda d: d[0]),
        (List([3.0]), lambda d: d[0]),
        (List([np.array([3.0])]), lambda d: d[0][0]),
        (dictionary(3.0), lambda d: d[0]),
        (dictionary(np.array([3.0])), lambda d: d[0][0]),
        (np.array([(3.0,)], [("f", float)])[0], lambda d: d.f),
    ],
    ids=["array", "list", "typed_list", "list_of_arrays", "dictionary", "dictionary_of_arrays", "record"],
)
@pytest.mark.filterwarnings("ignore::numba.NumbaPendingDeprecationWarning")
def test_data_is_kept_as_it_was(data, factor):
    factor = njit(factor)
    times = njit(lambda x, d: x * factor(d))
    x = jg.Variable(2.0)
    with compile_after(1):  # deferred recordings are known then
        with jg.GradientTape() as tape:
            y = x * x
        tape.gradient(y, x)
    with jg.GradientTape() as tape:
        y = times(x, data)
    if isinstance(data, np.void):
        data["f"] = 7.0
    elif isinstance(data[0], np.ndarray):
        data[0][0] = 7.0
    else:
        data[0] = 7.0
    assert (float(y), float(tape.gradient(y, x))) == (6.0, 3.0)


@jitclass([("factors", float64[:])])
class Scale:
    def __init__(self, factor):
        self.factors = np.full(2, factor)

    def times(self, x):
        return self.factors[0] * x


def test_a_jitclass_instance_must_stay_as_it_was():
    times = njit(lambda x, scale: scale.times(x))
    x, scale = jg.Variable(2.0), Scale(3.0)
    with jg.GradientTape(persistent=True) as tape:
        y = times(x, scale)
    assert float(tape.gradient(y, x)) == 3.0
    scale.factors[0] = 7.0
    with pytest.raises(UnsupportedError, match="instance scale, which has changed since"):
        tape.gradient(y, x)
