"""gradients() and hessians()."""

import numpy as np
import pytest

import jitgrad as jg

quiet = pytest.mark.filterwarnings("ignore::jitgrad.tape.notices.UnconnectedGradientWarning")


def numbers(found):
    return [None if g is None else g.tolist() for g in found]


@pytest.fixture
def x():
    return jg.constant(3.0)


@pytest.fixture
def tape(x):
    with jg.GradientTape() as tape:
        tape.watch(x)
        yield tape


def test_lists_and_seeds(x, tape):
    y, z = x * x, 2.0 * x
    assert numbers(jg.gradients(y, x)) == [6.0]
    assert numbers(jg.gradients([y, z], [x, y])) == [8.0, 1.0]
    assert numbers(jg.gradients([y, z], x, grad_ys=[10.0, None])) == [62.0]
    assert numbers(jg.gradients(y, x, grad_ys=2.0)) == [12.0]


def test_stop_gradients_gives_partial_derivatives(x, tape):
    b = 2.0 * x
    y = x * x + b * b
    assert numbers(jg.gradients(y, [x, b])) == [30.0, 12.0]
    assert numbers(jg.gradients(y, [x, b], stop_gradients=[b])) == [6.0, 12.0]
    assert numbers(jg.gradients(y, [x, b], stop_gradients=[x, b])) == [6.0, 12.0]
    assert numbers(jg.gradients(y, y, stop_gradients=y)) == [1.0]


@quiet
def test_unconnected(x, tape):
    w = jg.Variable([1.0])
    assert jg.gradients(x * x, [w]) == [None]
    assert numbers(jg.gradients(x * x, [w], unconnected_gradients="zero")) == [[0.0]]
    assert jg.gradients(x * x, x, stop_gradients=jg.constant(1.0))[0].tolist() == 6.0


@quiet
def test_what_no_tape_watched_has_no_gradient(x, tape):
    """Its products with itself were not recorded, so what was is not the whole derivative."""
    c, n = jg.constant(5.0), jg.Variable(2)
    assert jg.gradients((c * c) * x * c * n, [c, n]) == [None, None]
    y = c * x
    tape.watch(c)
    assert jg.gradients(y, c) == [None]
    assert numbers(jg.gradients(y * c, c)) == [15.0]


def test_gradients_of_gradients(x, tape):
    found = x**4
    for want in (108.0, 108.0, 72.0, 24.0):
        (found,) = jg.gradients(found, x)
        assert found.tolist() == want


def test_after_the_context():
    x = jg.constant([1.0, 2.0])
    with jg.GradientTape() as tape:
        tape.watch(x)
        y = np.sum(x**3)
    (g,) = jg.gradients(y, x)
    assert numbers(jg.gradients(g, x)) == [[6.0, 12.0]]
    assert numbers(jg.hessians(y, x)) == [[[6.0, 0.0], [0.0, 12.0]]]
    tape.gradient(y, x)
    with pytest.raises(jg.DifferentiationError, match="used up"):
        jg.gradients(y, x)


def test_tapes_that_were_open_in_turn():
    x = jg.constant(2.0)
    with jg.GradientTape(persistent=True) as one:
        one.watch(x)
        u = x * x
    with jg.GradientTape() as two:
        two.watch([x, u])
        y = u * x
        (g,) = jg.gradients(y, x)
        assert numbers([g, *jg.gradients(g, x)]) == [12.0, 12.0]


def test_hessians(tape):
    x, m = jg.constant([1.0, 2.0]), jg.constant([[3.0], [0.5]])
    tape.watch([x, m])
    y = np.sum(x**3) * m[0, 0] ** 2 + x[0] * x[1] * m[1, 0]
    hx, hm = jg.hessians(y, [x, m])
    np.testing.assert_allclose(hx.numpy(), [[54.0, 0.5], [0.5, 108.0]])
    assert hm.shape == (2, 1, 2, 1)
    np.testing.assert_allclose(hm.numpy().reshape(2, 2), [[18.0, 0.0], [0.0, 0.0]])


def test_hessians_can_be_differentiated(tape):
    x = jg.constant([2.0, 1.0])
    tape.watch(x)
    (h,) = jg.hessians(np.sum(x**4), x)
    assert numbers(jg.gradients(np.trace(h), x)) == [[48.0, 24.0]]


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0)])
def test_hessians_of_small_and_empty_arrays(tape, shape):
    x = jg.constant(np.full(shape, 2.0))
    tape.watch(x)
    (h,) = jg.hessians(np.sum(x**3), x)
    assert h.shape == shape + shape
    assert (h.numpy() == 12.0).all()


def test_hessians_of_what_is_linear_or_unconnected(x, tape):
    w = jg.constant([1.0, 2.0])
    tape.watch(w)
    assert numbers(jg.hessians(3.0 * x, [x, w])) == [0.0, [[0.0, 0.0], [0.0, 0.0]]]
