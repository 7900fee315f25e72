"""Every program gives the same gradients compiled as under NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from jitgrad import GradientTape, Variable, constant
from jitgrad.tape import compile_after
from jitgrad.tape.compiled import cache, clear, known
from tests.tape.compiled.programs import PROGRAMS
from tests.tape.corpus import namespace
from tests.tape.corpus.tapelib import flatten, from_json, judge, load
from tests.tape.corpus.test_tape_corpus import GOLDEN

pytestmark = pytest.mark.filterwarnings("ignore::jitgrad.tape.UnconnectedGradientWarning")


@pytest.fixture(autouse=True)
def forgotten():
    clear()
    yield
    clear()


def gradients(function, arrays):
    variables = [Variable(a) for a in arrays]
    with GradientTape() as tape:
        target = function(*variables)
    return [None if g is None else g.numpy() for g in tape.gradient(target, variables)]


def close(found, expected):
    for f, e in zip(found, expected, strict=True):
        if e is None:
            assert f is None
        else:
            assert f.dtype == e.dtype and f.shape == e.shape
            scale = np.finfo(e.dtype).eps * max(1.0, np.max(np.abs(e), initial=0.0))
            np.testing.assert_allclose(f, e, rtol=64 * np.finfo(e.dtype).eps, atol=64 * scale)


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_under_numpy(name):
    function, arrays = PROGRAMS[name]
    other = [a * a.dtype.type(0.75) for a in arrays]
    with compile_after(None):
        expected = gradients(function, arrays), gradients(function, other)
    assert not known()
    with compile_after(1):
        found = gradients(function, arrays), gradients(function, other)
    (structure,) = known()
    assert isinstance(structure, cache.Compiled), structure.reason
    close(found[0], expected[0])
    close(found[1], expected[1])  # by the program that was traced with other numbers


def test_numbers_of_python_take_the_precision_of_arrays():
    """0.1 and its value in single precision are a tie."""
    for after in (None, 1):
        with compile_after(after):
            (found,) = gradients(lambda x: np.maximum(x, 0.1), [np.array([0.1, 0.2, 0.0], np.float32)])
        np.testing.assert_array_equal(found, [0.5, 1.0, 0.0])
    assert isinstance(known()[0], cache.Compiled)


LONG = np.full((3, 200_000), 0.1, np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x * LONG),
        lambda x: np.einsum("ij,ik->", np.broadcast_to(x, (3, 4)), LONG[:, :50_000]),
        lambda x: np.sum(np.take(x, np.repeat([0, 1, 2], 200_000), 0) * LONG.reshape(-1, 1)),
    ],
    ids=["sum", "einsum", "scatter"],
)
def test_long_sums_of_single_precision(function):
    with compile_after(1):
        (found,) = gradients(function, [np.ones((3, 1), np.float32)])
    (structure,) = known()
    assert isinstance(structure, cache.Compiled), structure.reason
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.full((3, 1), 200_000 * float(np.float32(0.1))), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", load())
def test_values_of_tensorflow(name):
    program = load()[name]
    with compile_after(1), np.errstate(all="ignore"):
        found = flatten(namespace, program.fn(namespace))
    for key, stored in GOLDEN[name].items():
        verdict, text = judge(program, key, found[key], from_json(stored), strict=True, backend="jitgrad")
        assert verdict != "FAIL", (key, text)


@pytest.mark.parametrize("threads", [None, 4])
def test_rows_of_jacobians(threads):
    x = constant([0.3, -0.2, 0.5])
    found = []
    for after in (None, 1):
        with compile_after(after):
            tape = GradientTape(persistent=True)
            with tape:
                tape.watch(x)
                y = np.sin(x) * np.sum(x * x)
            found.append(tape.jacobian(y, x, parallel_iterations=threads).numpy())
            source = np.reshape(x, (3, 1))
            with GradientTape() as tape:
                tape.watch(source)
                z = np.exp(source * np.array([[1.0, 2.0]]))
            found.append(tape.batch_jacobian(z, source, parallel_iterations=threads).numpy())
    assert len(known()) == 2
    np.testing.assert_allclose(found[2], found[0], rtol=1e-14)
    np.testing.assert_allclose(found[3], found[1], rtol=1e-14)


def test_output_gradients_targets_and_intermediate_sources():
    def ask():
        x, y = constant([1.0, 2.0, 3.0]), constant([0.5, 0.25, 0.125])
        with GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            middle = x * y
            end = np.sin(middle) + y
        return [
            g.numpy()
            for g in (
                *tape.gradient([end, middle], [x, middle, y]),
                tape.gradient(end, x, output_gradients=[1.0, 0.0, -2.0]),
                tape.gradient(end, end),
                tape.gradient(middle, x, output_gradients=constant([1.0, 2.0, 4.0])),
            )
        ]

    with compile_after(None):
        expected = ask()
    with compile_after(1):
        found = ask()
    assert all(isinstance(k, cache.Compiled) for k in known()) and len(known()) == 4
    for f, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-14)


def test_second_order_is_compiled_too():
    def curvature(value):
        x = Variable(value)
        with GradientTape() as outer:
            with GradientTape() as inner:
                y = np.sum(np.sin(x) * x)
            slope = inner.gradient(y, x)
        return outer.gradient(slope, x).numpy()

    value = np.array([0.3, -1.2])
    with compile_after(1):
        found = curvature(value)
        again = curvature(2 * value)
    (structure,) = known()
    assert isinstance(structure, cache.Compiled)
    np.testing.assert_allclose(found, 2 * np.cos(value) - value * np.sin(value), rtol=1e-13)
    np.testing.assert_allclose(again, 2 * np.cos(2 * value) - 2 * value * np.sin(2 * value), rtol=1e-13)
