"""Variables and arrays as parameters, and their layout end to end."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import ArgumentError
from jitgrad.optim.parameters import blocks, check_parameter, checked_gradient, describe, install, listed, value


def test_a_variable_takes_over_and_an_array_is_written():
    old, new = np.ones(2), np.zeros(2)
    variable = jg.Variable(old)
    held = value(variable)
    install(variable, new)
    assert value(variable) is new and held.tolist() == [1.0, 1.0]
    install(old, new)
    assert value(old) is old and old.tolist() == [0.0, 0.0]


def test_blocks_are_one_per_dtype_and_fresh():
    values = [np.ones((2, 3)), np.ones(2, np.float32), np.array(5.0), np.ones((0, 4))]
    grads = [np.arange(6).reshape(3, 2).T, np.ones(2), np.array(2.0, np.float32), np.ones((0, 4))]
    double, single = blocks([3, 4, 6, 5], values, grads)
    assert (double.dtype, double.places, single.dtype, single.places) == (np.float64, [3, 6, 5], np.float32, [4])
    np.testing.assert_array_equal(double.grad, [0, 2, 4, 1, 3, 5, 2])
    assert double.grad.dtype == np.float64 and single.grad.dtype == np.float32
    double.vector[:] = 7.0
    assert [part.shape for part in double.parts] == [(2, 3), (), (0, 4)]
    assert (double.parts[0] == 7.0).all() and (values[0] == 1.0).all()
    double.grads[1][...] = 9.0
    assert double.grad[6] == 9.0 and grads[2] == 2.0


def test_one_variable_or_many():
    a, b = jg.Variable(1.0), np.ones(2)
    assert listed(a) == [a] and listed((a,)) == [a] and listed(iter([a])) == [a]
    assert listed(b)[0] is b


def test_descriptions():
    assert describe(jg.Variable([1.0], name="w")) == "Variable w: float64 of shape (1,)"
    assert describe(np.ones((2, 3), np.float32)) == "float32 of shape (2, 3)"
    assert describe("w") == "str"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (
            lambda: check_parameter(np.ones(2, int), "parameter 0"),
            "parameter 0 must be a float32 or float64 Variable or array, not int64 of shape",
        ),
        (lambda: check_parameter(jg.Variable(1, name="n"), "parameter 0"), "array, not Variable n: int64"),
        (lambda: check_parameter(1.0, "parameter 0"), "array, not float"),
        (lambda: check_parameter(np.broadcast_to(1.0, 2), "parameter 0"), "parameter 0 is read-only"),
        (lambda: checked_gradient(np.ones(3), np.ones(2), "g"), r"g has shape \(3,\), its parameter has \(2,\)"),
        (lambda: checked_gradient(np.ones(2) * 1j, np.ones(2), "g"), "g must be an array of real numbers, not complex"),
        (lambda: checked_gradient("no", np.ones(2), "g"), "g must be an array of real numbers, not str"),
    ],
)
def test_errors(check, words):
    with pytest.raises(ArgumentError, match=words):
        check()
