"""The quick way of elementwise operations records what the general way records."""

from __future__ import annotations

import numpy as np
import pytest

import jitgrad
from jitgrad import GradientTape, Variable, constant
from jitgrad.tape.elementwise import ufunc_primitive
from jitgrad.tape.functions.products import MATMUL
from jitgrad.tape.quick import quick
from jitgrad.tape.recording import thread
from jitgrad.tape.tensor import Tensor

X, Y = np.array([0.5, 2.0, 3.0]), np.array([1.5, -1.0, 0.25])

OPERANDS = {
    "tensors": lambda x, v, c: (x, x),
    "tensor and constant": lambda x, v, c: (x, c),
    "constant and tensor": lambda x, v, c: (c, x),
    "variable": lambda x, v, c: (v, x),
    "variables": lambda x, v, c: (v, v),
    "float": lambda x, v, c: (x, 2.0),
    "float first": lambda x, v, c: (2.0, x),
    "integer": lambda x, v, c: (x, 2),
    "array": lambda x, v, c: (x, Y),
    "array first": lambda x, v, c: (Y, x),
    "constants": lambda x, v, c: (c, c),
    "part of several results": lambda x, v, c: (np.unstack(np.stack([x, x]))[1], x),
}


def record(function, operands):
    x, v, c = constant(X), Variable(Y), constant(Y)
    with GradientTape() as tape:
        tape.watch(x)
        found = function(*operands(x, v, c))
        nodes = list(tape._recording.nodes)
    gradients = tape.gradient(found, [x, v], unconnected_gradients="zero")
    return found, nodes, [g.numpy() for g in gradients]


@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.true_divide, np.arctan2])
def test_two_operands(ufunc, operands):
    general = ufunc_primitive(ufunc)
    found, nodes, gradients = record(quick(general), OPERANDS[operands])
    expected, other_nodes, other_gradients = record(general, OPERANDS[operands])
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert len(nodes) == len(other_nodes)
    for node, other in zip(nodes, other_nodes, strict=True):
        assert [type(part) for part in node.signature] == [type(part) for part in other.signature]
    for g, e in zip(gradients, other_gradients, strict=True):
        np.testing.assert_array_equal(g, e)


def test_one_operand_does_without_the_general_way():
    def never(x):
        raise AssertionError("the general way")

    x = constant(X)
    sine = quick(ufunc_primitive(np.sin), never)
    with GradientTape() as tape:
        tape.watch(x)
        y = sine(sine(x))
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.cos(np.sin(X)) * np.cos(X))
    with pytest.raises(AssertionError, match="the general way"):
        sine(x)  # nobody listens


def test_overrides_are_heeded():
    jitgrad.RegisterGradient("test_overrides_are_heeded")(lambda op, upstream: 5.0 * upstream)
    x = constant(X)
    with GradientTape() as tape, jitgrad.gradient_override_map({"Neg": "test_overrides_are_heeded"}):
        tape.watch(x)
        y = -x
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), [5.0, 5.0, 5.0])


def test_only_what_gives_floats_is_quick():
    for primitive in (ufunc_primitive(np.greater), jitgrad.tape.handlers.HANDLERS["cast"]):
        assert quick(primitive) is primitive
    assert quick(MATMUL) is not MATMUL


def test_operators_leave_others_to_themselves():
    class Other:
        def __radd__(self, value):
            return "radd"

        __rmatmul__ = __radd__

    x = constant(X)
    with GradientTape() as tape:
        tape.watch(x)
        assert x + Other() == "radd"
        assert x @ Other() == "radd"
        assert not thread.recordings[0].nodes
    assert isinstance(x + 1, Tensor)
