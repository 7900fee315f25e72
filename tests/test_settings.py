"""Which math functions derivatives compute with, and that the choice belongs to the derivative."""

import math
import pickle
import threading

import numpy as np
import pytest
from numba import njit

import jitgrad as jg


@njit
def oscillation(x):
    s = 0.0
    for i in range(x.size):
        s += math.sin(x[i]) + math.exp(-x[i])
    return s


X = np.linspace(-2.0, 3.0, 37)


def made_with(choice, transform=jg.value_and_grad):
    with jg.options(math=choice):
        return transform(oscillation)


def test_values_are_the_functions_own_unless_asked_for_otherwise():
    for choice in ("partials", "libm"):
        assert made_with(choice)(X)[0] == oscillation(X)
    assert made_with("fast")(X)[0] == pytest.approx(oscillation(X), rel=1e-14)


def test_all_choices_give_the_same_gradient_but_for_the_last_digits():
    want = np.cos(X) - np.exp(-X)
    for choice in ("partials", "libm", "fast"):
        np.testing.assert_allclose(made_with(choice)(X)[1], want, rtol=1e-14, atol=1e-15)


def test_source_shows_where_kernels_are():
    texts = {choice: jg.source(made_with(choice), X) for choice in ("partials", "libm", "fast")}
    for choice in ("partials", "libm"):  # the partials of a scalar loop are libm's too
        assert "fastmath" not in texts[choice] and "np.cos(" in texts[choice]
    assert "rules: jitgrad.fastmath.exp, jitgrad.fastmath.sin" in texts["fast"]
    with jg.options(math="libm"):  # not what holds where it is called, but where it was made
        assert jg.source(made_with("partials"), X) == texts["partials"]


@njit
def weighted(x, w):
    return np.sum(np.tanh(x) * w)


@njit
def chosen(x, w):
    return np.sum(np.where(np.exp(x) > 1.0, np.tanh(x) * w, x))


def test_what_an_elementwise_expression_computes_again_for_its_partials():
    source = jg.source(jg.grad(weighted, argnums=(0, 1)), X, X)
    assert source.count("fast_tanh(") == 1
    assert source.index("_bar") < source.index("fast_tanh(")  # only where it goes backwards
    np.testing.assert_allclose(jg.grad(weighted)(X, X + 1.0), (X + 1.0) / np.cosh(X) ** 2, rtol=1e-13)
    with jg.options(math="libm"):
        assert "fast_" not in jg.source(jg.grad(weighted), X, X)
    assert "fast_" not in jg.source(jg.grad(chosen), X, X)  # last digits must not decide


def test_forward_mode():
    with jg.options(math="libm"):
        exact = jg.jvp(oscillation, (X,), (np.ones_like(X),))
    default = jg.jvp(oscillation, (X,), (np.ones_like(X),))
    assert exact[0] == default[0] == oscillation(X)
    assert default[1] == pytest.approx(exact[1], rel=1e-14)


def test_derivatives_made_with_other_options_are_others():
    default, libm = jg.grad(oscillation), made_with("libm", jg.grad)
    assert default is not libm
    assert default.digest() != libm.digest()
    assert made_with("libm", jg.grad) is libm
    assert pickle.loads(pickle.dumps(libm)).math == "libm"
    assert libm.into.math == "libm"


def test_nested_derivatives_follow_the_outer_one():
    with jg.options(math="libm"):
        hessian = jg.hessian(oscillation)
    assert "fastmath" not in jg.source(hessian, X)
    np.testing.assert_allclose(np.diag(hessian(X)), np.exp(-X) - np.sin(X), rtol=1e-13, atol=1e-14)


def test_options_end_with_the_block_and_are_the_threads_own():
    found = []
    with jg.options(math="libm"):
        thread = threading.Thread(target=lambda: found.append(jg.grad(oscillation).math))
        thread.start()
        thread.join()
        with jg.options(math="fast"):
            pass
        assert jg.grad(oscillation).math == "libm"
    assert found == ["partials"]
    assert jg.grad(oscillation).math == "partials"


def test_an_unknown_choice_is_refused():
    with pytest.raises(jg.ArgumentError, match="math must be one of 'partials', 'libm', 'fast', not 'svml'"):
        with jg.options(math="svml"):
            pass
