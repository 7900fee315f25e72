"""Elementwise primitives: rules of scalars on arrays. Their derivatives are in test_elementwise_orders."""

import numpy as np
import pytest
import scipy.special

import jitgrad as jg
from jitgrad.rules import lookup
from jitgrad.runtime import kernels
from jitgrad.tape.elementwise import Elementwise, namespace, on_arrays, type_name, ufunc_primitive


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("add", "Add"),
        ("square", "Square"),
        ("tanh", "Tanh"),
        ("arctan2", "Atan2"),
        ("logaddexp", "Logaddexp"),
        ("psi", "Digamma"),
    ],
)
def test_types_have_the_names_of_tensorflow(name, kind):
    assert type_name(name) == kind


def test_ufuncs_find_their_rules():
    assert isinstance(ufunc_primitive(np.sin), Elementwise) and ufunc_primitive(np.sin).rule is lookup(np.sin)
    assert ufunc_primitive(np.floor).name == "Floor"
    assert ufunc_primitive(np.frexp) is None or not isinstance(ufunc_primitive(np.frexp), Elementwise)
    assert ufunc_primitive(scipy.special.gammaln).name == "Lgamma"
    assert ufunc_primitive(scipy.special.zeta) is None


def test_a_derivative_of_zero_is_connected():
    x = jg.Variable(2.5)
    with jg.GradientTape() as tape:
        y = np.floor(x) + np.sign(x)
    assert float(tape.gradient(y, x)) == 0.0


def test_branches_are_taken_element_by_element():
    x, y = jg.Variable([1.0, 2.0, 2.0, np.nan]), jg.Variable([3.0, 1.0, 2.0, 0.0])
    with jg.GradientTape() as tape:
        z = np.maximum(x, y)
    assert [g.tolist() for g in tape.gradient(z, [x, y])] == [[0.0, 1.0, 0.5, 1.0], [1.0, 0.0, 0.5, 0.0]]


@pytest.mark.parametrize("name", ["larger", "ratio0", "over_norm2", "lse_weight", "mul0", "div0", "pow_dx", "digamma"])
def test_kernels_on_arrays_agree_with_the_kernels(name):
    kernel = getattr(kernels, name)
    grid = np.array([0.25, 0.5, 1.0, 3.0])  # and none of the branches divides by zero
    operands = [a.ravel() for a in np.meshgrid(grid, grid)][: kernel.py_func.__code__.co_argcount]
    with np.errstate(all="ignore"):
        found = namespace()[name](*operands)
    np.testing.assert_allclose(found, [kernel(*map(float, point)) for point in zip(*operands)], rtol=1e-13)


def test_chains_of_ifs_become_expressions():
    assert on_arrays(kernels.ratio0)(np.array([1.0, 2.0]), np.array([2.0, 4.0])).tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("f", "at", "want"),
    [
        (np.abs, 0.0, 0.0), (np.sqrt, 0.0, np.inf), (lambda x: x**0, 0.0, 0.0), (lambda x: x**2, 0.0, 0.0),
        (lambda x: np.hypot(x, 0.0), 0.0, 0.0), (lambda x: np.maximum(x, 0.0), 0.0, 0.5),
        (lambda x: np.where(x > 0.0, np.log(x), 0.0), 0.0, 0.0), (lambda x: np.where(x > 0.0, np.sqrt(x), x), 0.0, 1.0),
        (np.cbrt, 0.0, np.inf), (np.sign, 0.0, 0.0), (np.arctanh, 1.0, np.inf),
    ],
)  # fmt: skip
def test_conventions_at_kinks(f, at, want):
    x = jg.Variable(at)
    with np.errstate(all="ignore"), jg.GradientTape() as tape:
        y = f(x)
    assert float(tape.gradient(y, x)) == want


@pytest.mark.parametrize("other", [[3.0, -1.0], (3.0, -1.0), [[1.0], [2.0]]])
@pytest.mark.parametrize("function", [np.arctan2, np.hypot, np.divide, np.power, np.logaddexp])
def test_lists_are_arrays(function, other):
    slopes = []
    for operand in (other, np.array(other)):
        x = jg.Variable([0.5, 2.0])
        with jg.GradientTape(persistent=True) as tape:
            y, z = function(x, operand), function(operand, x)
        slopes += [tape.gradient(y, x).numpy(), tape.gradient(z, x).numpy()]
    np.testing.assert_array_equal(slopes[:2], slopes[2:])


def test_an_untaken_branch_gives_no_nan_in_higher_orders():
    x = jg.Variable(0.0)
    with jg.GradientTape(persistent=True) as tape:
        g = tape.gradient(np.arctan2(x, 1.0), x)
        h = tape.gradient(g, x)
    assert [float(g), float(h), float(tape.gradient(h, x))] == [1.0, 0.0, -2.0]


@pytest.mark.parametrize(
    "f",
    [
        np.exp,
        np.tanh,
        np.log,
        np.sqrt,
        np.cbrt,
        lambda x: x**2.5,
        lambda x: np.hypot(x, 1.0),
        lambda x: np.logaddexp(x, 1.0),
    ],
)
def test_float32_through_two_orders(f):
    x = jg.Variable(np.float32([0.5, 2.0]))
    with jg.GradientTape() as outer:
        with jg.GradientTape() as inner:
            y = f(x)
        g = inner.gradient(y, x)
    assert {y.dtype, g.dtype, outer.gradient(g, x).dtype} == {np.dtype("float32")}


@pytest.mark.parametrize("f", [np.exp, np.sin, np.log, np.sqrt, np.square, np.reciprocal, np.tanh, lambda z: z**3])
def test_complex_functions(f):
    z0 = 0.7 - 0.4j
    z = jg.Variable(z0)
    with jg.GradientTape() as tape:
        y = f(z)
    slope = (f(z0 + 1e-6) - f(z0 - 1e-6)) / 2e-6
    assert tape.gradient(y, z).numpy() == pytest.approx(np.conj(slope), rel=1e-8)
