"""What is written in place does what the function does that it stands for."""

import numpy as np
import pytest
from numba import njit

from jitgrad.runtime import arrays, direct, kernels, tape
from jitgrad.runtime.pipeline import _directs, helper

PLAIN = {"error_model": "numpy"}


def outcome(fn, arguments):
    """The result, what the arguments became, and the type Numba gave it; or the error."""
    owned = [isinstance(a, np.ndarray) and a.flags.forc and a.flags.writeable for a in arguments]
    arguments = [a.copy(order="K") if own else a for a, own in zip(arguments, owned, strict=True)]
    try:
        return fn(*arguments), arguments, fn.overloads[fn.signatures[-1]].signature.return_type
    except (ValueError, MemoryError, ZeroDivisionError) as error:
        return type(error), str(error), None


def same(one, other):
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.shape == other.shape and one.strides == other.strides
        assert one.flags.writeable == other.flags.writeable and one.flags.owndata == other.flags.owndata
    np.testing.assert_array_equal(one, other)


def compare(function, python_function, *arguments, written=True, values=True):
    """Compile with and without instructions in place, and look whether they were."""
    table = _directs()[function]._numba_type_._written
    known = table.copy()
    table.clear()
    ours, numbas = helper(python_function), njit(**PLAIN)(python_function)
    got, want = outcome(ours, arguments), outcome(numbas, arguments)
    assert got[2] == want[2]
    if got[2] is None:
        assert got[:2] == want[:2]
    elif values:
        same(got[0], want[0])
        for a, b in zip(got[1], want[1], strict=True):
            same(a, b)
    else:
        assert (got[0].shape, got[0].strides, got[0].dtype) == (want[0].shape, want[0].strides, want[0].dtype)
    assert bool(table) == written
    table.update(known)


MATRIX = np.arange(12.0).reshape(3, 4)
FROZEN = np.arange(3.0)
FROZEN.flags.writeable = False
CONTIGUOUS = [np.arange(3.0), MATRIX, MATRIX.T, np.zeros((0, 3)), np.arange(6, dtype=np.int32).reshape(1, 2, 3), FROZEN]
OTHERS = [MATRIX[:, ::2], np.array(2.5), np.array([np.datetime64("2020-01-01")])]


@pytest.mark.parametrize("shape", [3, (2, 3), (2, 0, 3), (np.int32(2), 3), -1, (3, -2)])
def test_zeros(shape):
    compare(np.zeros, lambda n: np.zeros(n), shape)
    compare(np.empty, lambda n: np.empty(n), shape, values=False)


@pytest.mark.parametrize("dtype", ["float64", "float32", "bool_", "int64", "complex128"])
def test_zeros_of_a_dtype(dtype):
    compare(np.zeros, eval(f"lambda n, m: np.zeros((n, m), np.{dtype})"), 2, 3)
    compare(np.empty, eval(f"lambda n: np.empty(n, np.{dtype})"), 3, values=False)


def test_other_ways_to_say_the_dtype():
    compare(np.zeros, lambda n: np.zeros(n, dtype=np.float32), 3, written=False)
    compare(np.zeros, lambda n: np.zeros(n, float), 3, written=False)
    compare(np.zeros, lambda a: np.zeros(a.shape, a.dtype), MATRIX)


def test_arrays_that_are_too_big():
    compare(np.zeros, lambda n, m: np.zeros((n, m)), 2**40, 2**40)
    with pytest.raises(MemoryError):
        helper(lambda n: np.zeros(n).size)(2**58)


@pytest.mark.parametrize("array", CONTIGUOUS + OTHERS)
def test_like_another_array(array):
    written = array.dtype.kind != "M"
    compare(np.zeros_like, lambda a: np.zeros_like(a), array, written=written and array.ndim == 1)
    compare(np.empty_like, lambda a: np.empty_like(a), array, written=written, values=False)


@pytest.mark.parametrize("array", CONTIGUOUS + OTHERS)
def test_copies(array):
    copy, copy_pull = arrays.copy, arrays.copy_pull
    contiguous = any(array is a for a in CONTIGUOUS)
    written = contiguous and array.flags.c_contiguous
    compare(np.copy, lambda a: np.copy(a), array, written=contiguous)
    compare(arrays.copied, lambda a: a.copy(), array, written=written)
    compare(arrays.copy, lambda a: copy(a), array, written=written)
    compare(copy_pull, lambda a: copy_pull(a), array, written=written)


def test_the_method_of_other_types():
    @helper
    def lists(n):
        items = [1.0, 2.0]
        other = items.copy()
        other.append(float(n))
        return len(items), other[2]

    assert lists(7) == (2, 7.0)


@pytest.mark.parametrize("array", [*CONTIGUOUS, MATRIX[:, ::2]])
def test_flat(array):
    flat = arrays.flat
    compare(flat, lambda a: flat(a), array, written=array.flags.c_contiguous and array.flags.writeable)


def test_flat_is_a_view_that_keeps_the_memory():
    flat = arrays.flat

    @helper
    def view(n):
        return flat(np.full((n, n), 3.0))

    assert (view(50) == 3.0).all()
    a = np.zeros((2, 2))
    helper(lambda a: flat(a))(a)[3] = 1.0
    assert a[1, 1] == 1.0


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((1,), (4,)), ((2, 1), (3,), (1, 1)), ((3,), (2,)), ((0,), (1,)),
                                    ((0,), (2,)), ((-1,), (1,))])  # fmt: skip
def test_broadcast_shapes(shapes):
    broadcast = eval(
        f"lambda {', '.join('abc'[: len(shapes)])}: np.broadcast_shapes({', '.join('abc'[: len(shapes)])})"
    )
    compare(np.broadcast_shapes, broadcast, *shapes)


@pytest.mark.parametrize("size", [0, 3, 4, 5, 100])
def test_grow(size):
    grow = tape.grow
    for strip in (np.arange(4.0), np.arange(4) > 1):
        got = helper(lambda s, n: grow(s, n))(strip, size)
        assert got.size == tape.grow.py_func(strip, size).size and got.dtype == strip.dtype
        np.testing.assert_array_equal(got[:4], strip)
        assert np.shares_memory(got, strip) == (size <= 4)


def test_growing_in_a_loop():
    grow = tape.grow

    @helper
    def fill(n):
        strip = np.empty(1)
        for k in range(n):
            strip = grow(strip, k + 1)
            strip[k] = k
        return strip[:n]

    np.testing.assert_array_equal(fill(1000), np.arange(1000.0))


@pytest.mark.parametrize("array", CONTIGUOUS[:5])
def test_put_and_store(array):
    put, store = tape.put(array.ndim), tape.store
    strip = np.zeros((3, *array.shape), array.dtype)
    compare(put, lambda s, k, a: put(s, k, a), strip, 1, array, written=array.flags.c_contiguous)
    strip = np.zeros(array.size + 5, array.dtype)
    compare(store, lambda s, k, a: store(s, k, a), strip, 2, array, written=array.flags.c_contiguous)


NUMBERS = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["mul0", "div0"])
@pytest.mark.parametrize("kind", [float, np.float32, complex, int])
def test_products_that_are_zero_where_a_factor_is(name, kind):
    function = getattr(kernels, name)
    ours = helper(lambda x, y: function(x, y))
    for x in NUMBERS:
        for y in NUMBERS[2:4] if kind is int else NUMBERS[2:] if kind is complex else NUMBERS:
            got = ours(x if kind is int else kind(x), kind(y))
            want = function(x if kind is int else kind(x), kind(y))
            np.testing.assert_array_equal(got, want)
            assert np.signbit(np.real(got)) == np.signbit(np.real(want)) or np.isnan(got)


def test_products_stay_zero_under_fastmath():
    function = kernels.mul0

    @njit(fastmath=True)
    def f(x, y):
        return function(x, y)

    assert f(0.0, np.inf) == 0.0
    assert set(direct.EXACT) <= set(direct.DIRECT)


def test_integer_extrema():
    for a, b in ((1, 2), (2, 1), (-3, 0), (0, 0)):
        compare(max, lambda a, b: max(a, b), a, b)
        compare(min, lambda a, b: min(a, b), a, b)
    compare(max, lambda a, b: max(a, b), 1.5, 2, written=False)
    compare(max, lambda a: max(a, 0), -4)
    compare(max, lambda a, b: max(a, b, 1), 5, 6, written=False)
