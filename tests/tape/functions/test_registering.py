"""The helpers with which primitives are entered."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from jitgrad.tape.functions.registering import conj, operand, refuse, wrap


def test_operand_stacks_lists_of_tape_values():
    x = jg.constant(2.0)
    with jg.GradientTape() as tape:
        tape.watch(x)
        made = operand([[x, 1.0], [x * x, 3]])
        y = np.sum(made)
    assert made.shape == (2, 2)
    assert float(tape.gradient(y, x)) == 5.0


def test_operand_leaves_the_rest():
    x = jg.constant(2.0)
    assert operand(x) is x and operand(1.5) == 1.5 and operand(None) is None
    np.testing.assert_array_equal(operand([1, 2]), np.array([1, 2]))


def test_refuse_names_the_argument():
    refuse("np.f", out=None)
    with pytest.raises(UnsupportedError, match="np.f of tape values does not take where=; leave it out"):
        refuse("np.f", out=None, where=[True])


def test_wrap_keeps_what_is_no_array():
    assert wrap((3, "a")) == (3, "a")
    assert isinstance(wrap([np.ones(2)])[0], jg.Tensor)


def test_conj_records_nothing_for_real_values():
    x, z = jg.constant(1.0), jg.constant(1.0 + 2.0j)
    assert conj(x) is x
    assert complex(conj(z)) == 1.0 - 2.0j
