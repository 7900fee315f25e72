"""custom_jvp, custom_vjp, stop_gradient."""

from __future__ import annotations

import math
import pickle
from collections import namedtuple

import numpy as np
import pytest
from numba import njit

import jitgrad as jg


def tripled():
    """A function whose rule says three times what is right, so that its use shows."""

    @jg.custom_jvp
    @njit
    def f(x, y):
        return x * y

    @f.defjvp
    def f_jvp(primals, tangents):
        x, y = primals
        return x * y, 3.0 * (tangents[0] * y + x * tangents[1])

    return f


def pulled():
    @jg.custom_vjp
    @njit
    def f(x, y):
        return x * y

    def fwd(x, y):
        return x * y, (x, y)

    def bwd(residuals, ct):
        x, y = residuals
        return 3.0 * ct * y, 3.0 * ct * x

    f.defvjp(fwd, bwd)
    return f


both = pytest.mark.parametrize("make", [tripled, pulled])


@both
def test_the_value_is_that_of_the_function(make):
    f = make()
    assert f(2.0, 5.0) == 10.0
    assert njit(lambda x: f(x, 5.0))(2.0) == 10.0


@both
def test_either_rule_serves_both_modes(make):
    f = make()
    assert jg.grad(f)(2.0, 5.0) == 15.0
    assert jg.grad(f, (0, 1))(2.0, 5.0) == (15.0, 6.0)
    assert jg.jvp(f, (2.0, 5.0), (1.0, 0.0)) == (10.0, 15.0)
    assert jg.jvp(f, (2.0, 5.0), (1.0, 1.0)) == (10.0, 21.0)

    @njit
    def caller(x):
        return f(x, 5.0) + f(2.0, x)

    assert jg.grad(caller)(2.0) == 21.0
    assert jg.jvp(caller, (2.0,), (1.0,))[1] == 21.0


@both
def test_second_derivatives(make):
    """The rule is ordinary code and has ordinary derivatives."""
    f = make()
    assert jg.hessian(f, (0, 1))(2.0, 5.0) == ((0.0, 3.0), (3.0, 0.0))


def test_integer_and_array_arguments():
    @jg.custom_vjp
    def f(x, n):
        s = 0.0
        for i in range(x.size):
            s += x[i] ** n
        return s

    def fwd(x, n):
        return f(x, n), (x, n)

    def bwd(residuals, ct):
        x, n = residuals
        g = np.empty(x.size)
        for i in range(x.size):
            g[i] = 10.0 * ct * n * x[i] ** (n - 1)
        return g, None

    f.defvjp(fwd, bwd)
    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(jg.grad(lambda x: f(x, 3))(x), [30.0, 120.0])
    assert jg.jvp(lambda x: f(x, 3), (x,), (np.ones(2),))[1] == 150.0


@both
def test_one_value_for_two_parameters(make):
    f = make()
    assert jg.grad(lambda x: f(x, x))(2.0) == 12.0  # three times 2 x
    assert jg.jvp(lambda x: f(x, x), (2.0,), (1.0,))[1] == 12.0


Pair = namedtuple("Pair", "x y")


def test_named_tuples():
    @jg.custom_vjp
    def f(p):
        return Pair(p.x * p.y, p.y)

    f.defvjp(lambda p: (f(p), p), lambda p, ct: (Pair(ct.x * p.y, ct.x * p.x + ct.y),))
    assert jg.grad(lambda p: f(p).x)(Pair(2.0, 5.0)) == Pair(5.0, 2.0)
    assert jg.grad(lambda p: f(p)[1] + f(p).x)(Pair(2.0, 5.0)) == Pair(5.0, 3.0)


def test_a_tuple_whose_array_is_overwritten_afterwards():
    f = jg.custom_vjp(lambda p: p[0][0] ** 2)
    f.defvjp(lambda p: (f(p), p[0]), lambda x, ct: ((np.array([2.0 * ct * x[0]]),),))

    @njit
    def caller(p):
        y = f(p)
        p[0][0] = 7.0
        return y

    np.testing.assert_array_equal(jg.grad(caller)((np.array([3.0]),))[0], [6.0])


def test_a_rule_that_was_not_set():
    f = jg.custom_jvp(lambda x: x)
    with pytest.raises(jg.NoRuleError, match="custom_jvp without a rule; set one with .*defjvp"):
        jg.grad(f)(1.0)
    g = jg.custom_vjp(lambda x: x)
    with pytest.raises(jg.NoRuleError, match="custom_vjp without a rule; set one with .*defvjp"):
        jg.grad(g)(1.0)


def test_rules_that_return_the_wrong_thing():
    f = jg.custom_vjp(lambda x, y: x * y)
    with pytest.raises(jg.ArgumentError, match="bwd takes .* 2 parameters, but this function has 1"):
        f.defvjp(lambda x, y: (x, y), lambda ct: ct)
    with pytest.raises(jg.ArgumentError, match="fwd takes"):
        f.defvjp(lambda x: (x, x), lambda r, ct: ct)
    f.defvjp(lambda x, y: x * y, lambda r, ct: (ct, ct))
    with pytest.raises(jg.ArgumentError, match=r"fwd of <lambda> must return \(out, residuals\)"):
        jg.grad(f)(1.0, 2.0)
    f.defvjp(lambda x, y: (x * y, y), lambda r, ct: ct * r)
    with pytest.raises(jg.ArgumentError, match="bwd of <lambda> must return a tuple of 2 cotangents"):
        jg.grad(lambda x: f(x, 2.0))(1.0)


def test_rules_enter_the_digest():
    def make(k):
        f = jg.custom_jvp(njit(lambda x: x))
        f.defjvp(lambda primals, tangents: (primals[0], k * tangents[0]))
        return jg.grad(lambda x: f(x))

    one, two = make(1.0), make(2.0)
    assert one.digest() != two.digest()
    assert (one(1.0), two(1.0)) == (1.0, 2.0)


def test_pickle():
    f = pickle.loads(pickle.dumps(tripled()))
    assert jg.grad(f)(2.0, 5.0) == 15.0


# ----- stop_gradient -------------------------------------------------------------------------------
def test_stop_gradient():
    assert jg.grad(lambda x: x * jg.stop_gradient(x))(3.0) == 3.0
    assert jg.jvp(lambda x: x * stop(x), (3.0,), (1.0,)) == (9.0, 3.0)
    assert jg.grad(lambda x: math.sin(x) + stop(x))(0.0) == 1.0


stop = jg.stop_gradient


def test_stop_gradient_of_structures():
    Point = namedtuple("Point", "x y")
    p = Point(1.0, np.array([2.0]))
    for found in (stop(p), njit(lambda p: stop(p))(p)):
        assert isinstance(found, Point)
        assert found.x == 1.0 and found.y[0] == 2.0 and not np.shares_memory(found.y, p.y)

    @njit
    def f(x):
        y = stop(x)
        y[0] = 10.0  # does not reach x
        return x[0] * y[1] + y[0] * x[1]

    np.testing.assert_array_equal(jg.grad(f)(np.array([2.0, 3.0])), [3.0, 10.0])


def test_parameters_named_as_in_rules():
    @jg.custom_jvp
    def pushed(out, dot):
        return out * dot**2

    pushed.defjvp(lambda p, t: (p[0] * p[1] ** 2, t[0] * p[1] ** 2 + 2.0 * p[0] * p[1] * t[1]))

    @jg.custom_vjp
    def pulled(out, ct):
        return out * ct**2

    pulled.defvjp(lambda x, y: (x * y**2, (x, y)), lambda r, ct: (ct * r[1] ** 2, 2.0 * ct * r[0] * r[1]))

    for f in (pushed, pulled):
        assert jg.grad(f, (0, 1))(2.0, 3.0) == (9.0, 12.0)
        assert jg.jvp(f, (2.0, 3.0), (1.0, 0.5)) == (18.0, 15.0)
        assert jg.jvp(lambda x, f=f: f(x, 3.0), (2.0,), (1.0,)) == (18.0, 9.0)
