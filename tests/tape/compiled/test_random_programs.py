"""Random programs have the same gradients compiled as under NumPy, and those of central differences."""

from __future__ import annotations

import numpy as np
import pytest

from jitgrad import GradientTape, Variable, constant
from jitgrad.tape import compile_after
from jitgrad.tape.compiled import clear, known
from jitgrad.tape.compiled.cache import Compiled
from tests.tape.compiled.random_programs import SHAPES, Maker

pytestmark = pytest.mark.filterwarnings("ignore")
DTYPES = (np.float64, np.float64, np.float32)
LENGTH = 6


@pytest.fixture(autouse=True)
def forgotten():
    clear()
    with np.errstate(all="ignore"):
        yield
    clear()


def started(structure, numbers):
    """A program that is to be run, and arrays to run it with."""
    maker = Maker(structure, numbers, DTYPES[structure % 3])
    shapes = [maker.one(SHAPES) for _ in range(1 + maker.choose.integers(3))]
    return maker, [np.asarray(maker.numbers.normal(size=s), maker.dtype) for s in shapes]


def asked(maker, sources):
    """The targets, sources and output gradients to ask for after a program has run."""
    targets = [t for t in maker.pool[-1 - maker.choose.integers(3) :] if t.dtype.kind == "f"]
    sources = [*sources, maker.one(maker.pool)] if maker.flip() else sources
    seeds = [np.asarray(maker.numbers.normal(size=t.shape), t.dtype) for t in targets] if maker.flip() else None
    return targets, sources, seeds


def gradients(structure, numbers):
    """What a tape gives for a program: some of its values watched late, some operations not recorded."""
    maker, arrays = started(structure, numbers)
    values = [Variable(a) if maker.flip() else constant(a) for a in arrays]
    late = maker.choose.random() < 0.15
    with GradientTape(persistent=True) as tape:
        tape.watch(values[1:] if late else values)
        maker.run(values, LENGTH // 2)
        tape.watch(values)
        if maker.choose.random() < 0.15:
            with tape.stop_recording():
                maker.step()
        maker.run([], LENGTH - LENGTH // 2)
    found = []
    for _ in range(2):
        found += tape.gradient(*asked(maker, values))
    return [None if g is None else g.numpy() for g in found]


def difference(found, expected, tolerance):
    """What two lists of gradients differ in, or None."""
    for f, e in zip(found, expected, strict=True):
        if f is None or e is None:
            if f is not e:
                return f"{f} and {e}"
            continue
        if (f.shape, f.dtype) != (e.shape, e.dtype):
            return f"{f.dtype}{f.shape} and {e.dtype}{e.shape}"
        scale = max(1.0, np.max(np.abs(e), where=np.isfinite(e), initial=0.0))
        if not np.allclose(f, e, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            return f"{f}\nand\n{e}"
    return None


def compare(structures):
    """Compare programs of these seeds, each with two sets of numbers; gives how many were compiled."""
    compiled = 0
    for structure in structures:
        clear()
        with compile_after(None):
            expected = [gradients(structure, numbers) for numbers in (1, 2)]
        with compile_after(1):
            found = [gradients(structure, numbers) for numbers in (1, 2)]
        compiled += any(isinstance(k, Compiled) for k in known())
        for f, e in zip(found, expected, strict=True):
            # values in single precision occur in programs of double precision too
            text = difference(f, e, 2e-4)
            assert text is None, f"program {structure}: {text}"
    return compiled


def test_as_under_numpy():
    assert compare(range(20)) > 12


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 100))
def test_as_under_numpy_many(start):
    assert compare(range(start, start + 100)) > 40


def test_without_forgetting():
    """Structures and functions of other programs are in the cache."""
    structures = range(100, 115)
    with compile_after(None):
        expected = [gradients(s, n) for n in (1, 2, 3) for s in structures]
    with compile_after(2):
        found = [gradients(s, n) for n in (1, 2, 3) for s in structures]
    for f, e in zip(found, expected, strict=True):
        assert difference(f, e, 2e-4) is None


def slope_and_differences(structure):
    """A directional derivative by the compiled sweep, and central differences of two steps; nan if it is none."""
    stops = []
    _, arrays = started(structure, 1)
    random = np.random.default_rng(structure)
    directions = [random.normal(size=a.shape) for a in arrays]

    def target(values):
        maker, _ = started(structure, 1)
        maker.run(values, LENGTH)
        stops.append(maker.stops)
        end = maker.pool[-1]
        return np.sum(end * np.cos(np.arange(end.size)).reshape(end.shape))

    values = [constant(a) for a in arrays]
    with GradientTape() as tape:
        tape.watch(values)
        y = target(values)
    slopes = tape.gradient(y, values, unconnected_gradients="zero")
    slope = sum(np.vdot(g.numpy(), d) for g, d in zip(slopes, directions, strict=True))
    differences = []
    for step in (1e-4, 2e-5):
        up, down = (
            float(target([constant(a + s * d) for a, d in zip(arrays, directions, strict=True)])) for s in (step, -step)
        )
        differences.append((up - down) / (2 * step))
    return slope, differences if not any(stops) else (np.nan, np.nan)


@pytest.mark.parametrize("start", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3000, 3300, 30))])
def test_as_central_differences(start):
    compared = 0
    for structure in range(start, start + 30):
        if DTYPES[structure % 3] is np.float64:
            clear()
            with compile_after(1):
                slope, (coarse, fine) = slope_and_differences(structure)
            # elsewhere there is a kink or a jump nearby, or much of it is in single precision
            if np.isclose(coarse, fine, rtol=1e-6, atol=1e-7):
                compared += 1
                np.testing.assert_allclose(slope, fine, rtol=3e-4, atol=1e-5, err_msg=f"program {structure}")
    assert compared > 5
