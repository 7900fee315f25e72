"""Conventions of array rules at ties, zeros and edges; views; draws."""

import numpy as np
import pytest
from numba import njit, typeof

import jitgrad.rules as rules
from jitgrad.runtime.arrays import flat
from tests.rules.harness import Case


def pull(fn, *args, ct=1.0, param="a"):
    return Case(rules.lookup(fn), args).pulls(ct)[param]


def test_extrema_share_equally_among_ties():
    np.testing.assert_array_equal(pull(np.max, np.array([1.0, 3.0, 3.0, -2.0])), [0, 0.5, 0.5, 0])
    np.testing.assert_array_equal(pull(np.min, np.array([[1.0, 1.0], [1.0, 3.0]])), [[1 / 3, 1 / 3], [1 / 3, 0]])


def test_products_with_zeros():
    np.testing.assert_array_equal(pull(np.prod, np.array([2.0, 0.0, 3.0])), [0, 6, 0])
    np.testing.assert_array_equal(pull(np.prod, np.array([0.0, 0.0, 3.0])), [0, 0, 0])


def test_std_of_equal_elements_has_slope_zero():
    np.testing.assert_array_equal(pull(np.std, np.full(3, 1.5)), 0.0)


def test_sum_of_an_array_without_axes():
    assert pull(np.sum, np.array(2.0), ct=3.0).shape == ()


def test_repeated_indices_add_up():
    np.testing.assert_array_equal(
        pull(np.take, np.array([1.0, 2.0, 3.0]), np.array([0, 0, 2, 0]), ct=np.ones(4)), [3, 0, 1]
    )


@pytest.mark.parametrize(
    "name, code",
    [
        ("reshape", "a.reshape(4, 3)"),
        ("reshape", "np.reshape(a, (2, 6))"),
        ("ravel", "a.ravel()"),
        ("T", "a.T"),
        ("transpose", "np.transpose(a)"),
        ("expand_dims", "np.expand_dims(a, 1)"),
        ("flip", "np.flip(a)"),
        ("fliplr", "np.fliplr(a)"),
        ("swapaxes", "np.swapaxes(a, 0, 1)"),
        ("moveaxis", "np.moveaxis(a, 0, 1)"),
        ("rot90", "np.rot90(a)"),
        ("ascontiguousarray", "np.ascontiguousarray(a)"),
        ("asarray", "np.asarray(a)"),
        ("atleast_3d", "np.atleast_3d(a)"),
        ("real", "a.real"),
    ],
)
def test_view_rules_share_memory(name, code):
    scope = {"np": np}
    exec(f"def view(a):\n    return {code}\n", scope)
    a = np.arange(12.0).reshape(3, 4)
    out = njit(scope["view"])(a)
    assert np.shares_memory(out, a)
    rule = (
        (rules.lookup_method(name, typeof(a)) or rules.lookup_attribute(name, typeof(a)))
        if "a." in code and "np." not in code
        else None
    )
    rule = rule or rules.lookup(getattr(np, name))
    assert rule.is_view(
        {
            next(
                iter(
                    rule.bind(
                        (a,) * 3
                        if "np.swap" in code or "move" in code
                        else (a, 1)
                        if "expand" in code or ("np.reshape" in code)
                        else (a,)
                    )
                )
            ): typeof(a),
            "out": typeof(out),
        }
    )


def test_copies_are_no_views():
    fortran = typeof(np.zeros((2, 3)).T)
    assert not rules.lookup(np.ravel).is_view({"a": fortran})
    assert not rules.lookup(np.copy).is_view({"a": fortran})
    assert rules.lookup(np.asfortranarray).is_view({"a": fortran})


@njit
def seeded(seed):
    np.random.seed(seed)


LOCATION_SCALE = ["normal", "laplace", "logistic", "gumbel", "uniform", "lognormal", "exponential", "rayleigh"]


@pytest.mark.parametrize("name", LOCATION_SCALE)
@pytest.mark.parametrize("size", [None, 3])
def test_draws_move_with_location_and_scale(name, size):
    fn = getattr(np.random, name)
    rule = rules.lookup(fn)
    params = [p for p in rule.push]
    values = {"loc": 0.4, "scale": 1.7, "low": -0.5, "high": 2.0, "mean": 0.3, "sigma": 0.6}
    args = tuple(values[p] for p in params) + ((size,) if size else ())
    seeded(3)
    case = Case(rule, args)
    seeded(3)
    case.out = case.evaluate()
    for p in params:
        h = 1e-6
        sides = []
        for sign in (1, -1):
            seeded(3)
            sides.append(case.evaluate(**{p: values[p] + sign * h}))
        want = (sides[0] - sides[1]) / (2 * h)
        np.testing.assert_allclose(case.push(p, 1.0), want, rtol=1e-7)
        ct = np.array([0.5, -1.0, 2.0]) if size else 0.5
        assert case.pulls(ct, [p])[p] == pytest.approx(np.sum(ct * want), rel=1e-7)


def test_active_shape_parameters_of_draws_are_refused():
    rule = rules.lookup(np.random.gamma)
    assert isinstance(rule, rules.ZeroRule) and rule.active_reason and rule.active_way_out
    assert not rules.lookup(np.random.standard_normal).active_reason


def test_condition_number_is_rewritten_to_what_it_is():
    rule = rules.lookup(np.linalg.cond)
    a = np.array([[2.0, 1.0], [0.5, 3.0]])
    for p in (None, 1, 2, -2, np.inf):
        fn = rule.implement({"x": typeof(a), "p": typeof(p)})
        assert fn(a, p) == pytest.approx(np.linalg.cond(a, p), rel=1e-13)


def test_rules_bind_arguments_and_rename_out():
    rule = rules.lookup(np.dot)
    bound = rule.bind((1, 2), {"out": 3})
    assert bound == {"a": 1, "b": 2, "out_": 3}
    assert rules.lookup(np.sum).bind((1,), {"axis": 0}) == {"a": 1, "axis": 0, "dtype": rules.Default(None)}
    with pytest.raises(TypeError):
        rules.lookup(np.sum).bind((1,), {"axes": 0})


def test_flat_orders_elements_as_c_does():
    a = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(flat(np.asfortranarray(a)), a.ravel())
