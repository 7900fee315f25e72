"""ForwardAccumulator, alone and together with tapes."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError, ShapeError
from jitgrad.tape.recording import thread

Forward, Tape = jg.ForwardAccumulator, jg.GradientTape


def test_products():
    x, w = jg.constant([1.0, 2.0]), jg.Variable([0.5, -0.5])
    with Forward([x, w], [[1.0, 0.0], np.array([0.0, 2.0])]) as acc:
        y = np.sin(x * w)
        z = np.sum(y * x)
        u, v = np.split(x * x, 2)
    direction = np.array([1.0 * 0.5, 2.0 * 2.0]) * np.cos([0.5, -1.0])
    np.testing.assert_allclose(acc.jvp(y).numpy(), direction)
    np.testing.assert_allclose(acc.jvp(z).numpy(), direction @ [1.0, 2.0] + np.sin(0.5))
    found = acc.jvp({"u": u, "v": [v, x]})
    assert [found["u"].tolist(), found["v"][0].tolist(), found["v"][1].tolist()] == [[2.0], [0.0], [1.0, 0.0]]


def test_only_the_context_counts():
    x = jg.constant(2.0)
    before = x * x
    acc = Forward(x, 1.0)
    with acc:
        y = before * x
    z = y * x
    with acc:
        again = y * x
    assert float(acc.jvp(y)) == 4.0
    assert float(acc.jvp(again)) == 4.0 * 2.0 + 8.0
    with pytest.warns(jg.UnconnectedGradientWarning, match="a jvp is None: a value does not depend on") as caught:
        assert acc.jvp([before, z]) == [None, None]
    assert len(caught) == 1 and caught[0].filename == __file__
    assert float(acc.jvp(z, unconnected_gradients="zero")) == 0.0


@pytest.mark.parametrize(
    ("primals", "tangents"), [([1.0, 2.0], {"a": 1.0}), ({"x": 1.0}, {"y": 1.0}), ((1.0, 2.0), (1.0,))]
)
def test_structures_must_agree(primals, tangents):
    primals = (
        {k: jg.constant(v) for k, v in primals.items()}
        if isinstance(primals, dict)
        else list(map(jg.constant, primals))
    )
    with pytest.raises(ArgumentError, match="tangents must have the structure of primals"):
        Forward(primals, tangents)


def test_tangents_of_dicts_go_by_key():
    x, w = jg.Variable(2.0), jg.Variable(5.0)
    with Forward({"x": x, "w": w}, {"w": 0.0, "x": 1.0}) as acc:
        y = x * x * w
    assert float(acc.jvp(y)) == 20.0


def test_refusals():
    x = jg.constant([1.0, 2.0])
    with pytest.raises(ShapeError, match=r"a tangent has shape \(\), its primal has \(2,\)"):
        Forward(x, 1.0)
    with pytest.raises(ArgumentError, match="given twice"):
        Forward([x, x], [x, x])
    with pytest.raises(ArgumentError, match="primals of an accumulator must be .* make it one with jitgrad.constant"):
        Forward(2.0, 1.0)
    with Forward(x, x) as acc, pytest.raises(jg.TapeError, match="already recording"):
        acc.__enter__()
    with pytest.raises(ValueError, match="not 'maybe'"):
        acc.jvp(x, unconnected_gradients="maybe")
    assert thread.recordings == ()


def test_integers_have_no_derivative():
    x, n = jg.constant(2.0), jg.constant(3)
    with pytest.warns(jg.UnconnectedGradientWarning, match="a primal has dtype int64"):
        acc = Forward([x, n], [1.0, 1])
    with acc:
        y, k = x * n, x.astype(int)
    assert float(acc.jvp(y)) == 3.0
    with pytest.warns(jg.UnconnectedGradientWarning, match="a jvp is None: .* integer conversions"):
        assert acc.jvp(k) is None
    assert acc.jvp(k, unconnected_gradients="zero").dtype.kind == "i"


def test_parts_of_one_operation_are_different_primals():
    with Tape() as tape:
        x = jg.Variable([1.0, 2.0])
        p, q = np.split(x, 2)
    with Forward([p, q], [[1.0], [10.0]]) as acc:
        y = p * q
    assert acc.jvp(y).tolist() == [1.0 * 2.0 + 10.0 * 1.0]
    del tape


def test_edges():
    x = jg.constant([0.0, 4.0])
    with Forward(x, [1.0, 1.0]) as one, Forward(x, [0.0, 1.0]) as zero:
        y, z = np.sqrt(x), np.where([False, True], np.sqrt(x), 0.0)
    assert one.jvp(y).tolist() == [np.inf, 0.25]
    assert one.jvp(z).tolist() == zero.jvp(y).tolist() == [0.0, 0.25]


def test_complex():
    z = jg.constant(1.0 + 2.0j)
    with Forward(z, 1.0 + 0.0j) as acc:
        y = z * z * 1j
        r, size = np.real(y), abs(z)
    assert acc.jvp(y).numpy() == 2j * (1 + 2j)
    assert acc.jvp(r).numpy() == -4.0
    assert acc.jvp(size).numpy() == pytest.approx(1 / np.sqrt(5))


def test_variables_keep_what_was_read():
    v = jg.Variable(3.0)
    with Forward(v, 1.0) as acc:
        y = v * v
        v.assign(100.0)
    assert float(acc.jvp(y)) == 6.0


# ----- together with tapes: x ** 4 at 2, with derivatives 32, 48, 48, 24 -------------------------------
def forward(f, x):
    with Forward(x, 1.0) as acc:
        y = f(x)
    return acc.jvp(y)


def reverse(f, x):
    with Tape() as tape:
        y = f(x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("outer", [forward, reverse])
@pytest.mark.parametrize("middle", [forward, reverse])
@pytest.mark.parametrize("inner", [forward, reverse])
def test_three_orders_in_every_combination(outer, middle, inner):
    x = jg.Variable(2.0)
    assert float(inner(lambda x: x**4, x)) == 32.0
    assert float(middle(lambda x: inner(lambda x: x**4, x), x)) == 48.0
    assert float(outer(lambda x: middle(lambda x: inner(lambda x: x**4, x), x), x)) == 48.0


@pytest.mark.parametrize("inner", [forward, reverse])
def test_hessian_vector_products(inner):
    x, v = jg.Variable([0.3, -0.7, 1.1]), np.array([1.0, 0.5, -2.0])

    def f(x):
        return np.sum(np.exp(x) * np.cumsum(x * x))

    with Forward(x, v) as acc, Tape() as tape:
        y = f(x)
        g = tape.gradient(y, x)
    with Tape() as outer:
        slope = reverse(f, x)
    np.testing.assert_allclose(acc.jvp(g).numpy(), outer.gradient(slope, x, output_gradients=v).numpy(), rtol=1e-13)


def test_a_tape_around_hears_the_product_even_when_it_is_over():
    x, v = jg.Variable(2.0), jg.Variable(5.0)
    with Tape() as tape, Forward(x, v) as acc:
        y = x * x * x
    d = acc.jvp(y)
    assert float(d) == 60.0
    assert [float(g) for g in tape.gradient(d, [x, v])] == [60.0, 12.0]


@pytest.mark.filterwarnings("ignore::jitgrad.tape.notices.UnconnectedGradientWarning")
def test_what_opens_inside_or_later_does_not_hear_it():
    """As in TensorFlow, where the product is computed together with the value."""
    x = jg.Variable(2.0)
    with Forward(x, 1.0) as acc, Tape(persistent=True) as inside:
        y = x * x * x
        d = acc.jvp(y)
    with Tape() as later:
        later.watch(x)
        e = acc.jvp(y)
    assert inside.gradient(d, x) is None
    assert later.gradient(e, x) is None
    with Forward(x, 1.0) as first, Forward(x, 10.0) as second:
        y = x * x * x
    assert second.jvp(first.jvp(y)) is None
    assert float(first.jvp(second.jvp(y))) == 120.0
