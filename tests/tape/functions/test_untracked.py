"""Functions whose results carry no derivative give what NumPy gives."""

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.errors import UnsupportedError
from jitgrad.rules.kinds import ArrayRule, ScalarRule, ZeroRule
from jitgrad.rules.registry import all_rules
from jitgrad.tape.handlers import HANDLERS

A = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, -1.0]])
QUERIES = {
    "argmax": lambda a: (np.argmax(a), np.argmax(a, axis=1, keepdims=True), a.argmax(0)),
    "argmin": lambda a: (np.argmin(a, axis=0), a.argmin()),
    "argsort": lambda a: (np.argsort(a, axis=0), a.argsort()),
    "all_any": lambda a: (np.all(a), np.any(a, axis=0), a.all(1), a.any()),
    "nonzero": lambda a: (np.nonzero(a), np.flatnonzero(a), np.argwhere(a), np.count_nonzero(a, axis=0), a.nonzero()),
    "search": lambda a: (np.searchsorted([0.0, 1.5], a), np.digitize(a, [0.5, 1.5]), np.isin(a, [2.0])),
    "compare": lambda a: (np.allclose(a, a), np.isclose(a, 1.0), np.array_equal(a, a), a > 1, np.logical_and(a, a > 1)),
    "kinds": lambda a: (np.isnan(a), np.isfinite(a), np.isreal(a), np.isposinf(a), np.signbit(a)),
    "likes": lambda a: (np.zeros_like(a), np.ones_like(a, dtype=int), np.empty_like(a).shape),
    "sizes": lambda a: (np.shape(a), np.ndim(a), np.size(a, 1), np.result_type(a, 1)),
    "histogram": lambda a: np.histogram(a, bins=3),
    "logical_reduce": lambda a: (np.logical_and.reduce(a), np.logical_or.reduce(a, axis=1)),
    "nan_indices": lambda a: (np.nanargmax(a), np.nanargmin(a, axis=1)),
}


@pytest.mark.parametrize("f", QUERIES.values(), ids=QUERIES)
def test_as_numpy(f):
    x = jg.constant(A)
    with jg.GradientTape() as tape:
        tape.watch(x)
        mine = f(x)

    def compare(a, b):
        if isinstance(b, tuple):
            assert len(a) == len(b)
            for one, other in zip(a, b):
                compare(one, other)
        else:
            assert getattr(a, "node", None) is None
            np.testing.assert_array_equal(a, b)

    compare(mine, f(A))


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda a, x: np.copyto(a, x), r"np.copyto \(also of np.full\) writes .* write np.broadcast_to"),
        (lambda a, x: np.put(a, [0], x), "np.put writes into an array.* make a new array with np.where"),
        (lambda a, x: np.add.at(a, [0, 1], x), "np.add.at writes into an array.* as np.bincount does"),
    ],
)
def test_functions_that_write_are_refused(write, words):
    with pytest.raises(UnsupportedError, match=words):
        write(np.zeros(2), jg.Variable([1.0, 2.0]))


def test_text():
    x = jg.constant([1.0, 2.0])
    assert np.array_repr(x) == "array([1., 2.])"
    assert np.array2string(x) == np.array_str(x) == "[1. 2.]"


def test_files(tmp_path):
    np.save(tmp_path / "x.npy", jg.constant([1.0, 2.0]))
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), [1.0, 2.0])


def test_every_function_of_numpy_that_compiled_code_knows_has_a_handler():
    # NumPy's constructors do not ask their arguments, so tapes cannot hear them
    deaf = {np.arange, np.array, np.asarray, np.asarray_chkfinite, np.ascontiguousarray, np.asfortranarray}
    missing = []
    for rule in all_rules():
        for function in rule.functions if isinstance(rule, (ArrayRule, ScalarRule, ZeroRule)) else ():
            name = getattr(function, "__name__", "")
            if vars(np).get(name) is not function or isinstance(function, (type, np.ufunc)) or function in deaf:
                continue
            if hasattr(function, "__wrapped__") or hasattr(function, "_implementation"):
                if function not in HANDLERS:
                    missing.append(name)
    assert missing == []
