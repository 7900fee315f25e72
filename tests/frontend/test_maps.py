"""Elementwise array expressions: what is fused, and that broadcasting is NumPy's."""

import math

import numba
import numpy as np
import pytest
from numba import njit, vectorize

from jitgrad.program import ir
from tests.frontend.round_trip import check_round_trip, printed_function, program_of

A = np.array([[1.5, -2.0, 3.0], [0.5, 4.0, -1.0]])
ROW = np.array([1.0, 2.0, -3.0])
COLUMN = np.array([[2.0], [5.0]])


@vectorize
def soft(x, a):
    return math.log1p(math.exp(a * x)) / a


@vectorize
def branching(x):
    return x if x > 0 else 0.1 * x


def fused(a, b, s):
    return np.tanh(a * b + s) / (1.0 + np.abs(a)) - np.where(a > b, a, s) ** 2


def all_kinds(a, n):
    m = (a > 1.0) & ~(a < n) | (n == 2)
    return np.clip(a, -1.0, 2.0) + np.maximum(a, n) * (-a) + (a // 2.0) % 3.0 + m + np.abs(a) + np.sqrt(np.square(a))


def integers(k, j):
    return (k + j) // 2 - (k & 3) + (k << 1) % 5, k / j, k**2


def mixed_types(x, k, z):
    return x * k, x + z, z * 2, np.float32(2.0) * x, k > x


def written_between(a, b):
    t = a * 2.0
    a[0] = 100.0
    return t + b


def callee_writes(a, b):
    t = a * 2.0
    set_first(a)
    return t + b


@njit
def set_first(a):
    a[0, 0] = 7.0


def used_twice(a):
    t = np.exp(a)
    return t * t + t, t


def smaller_operand(a, row):
    return np.exp(row) * a


def transposed(a):
    return a.T * 2.0 + a.T


def custom(a, s):
    return soft(a, s) * 2.0 + branching(a)


def in_place(a, row):
    a += row * 2.0
    a[1] *= row + 1.0
    a[:, 1:] = a[:, :2] * row[1:] + 1.0
    return a


def scalar_arrays(a):
    t = np.array(2.0) * a
    return t + a[0, 0]


def maps_of(program):
    return [op for op in ir.walk(program.body) if isinstance(op, ir.Map)]


def real_part_written(a):
    z = a + 1j * a
    squares = z * z
    z.real[0] = 5.0
    return squares * 2.0


def without_axes(s, a):
    t = s.copy()
    t[()] *= 2.0
    u = np.where(a > t, a * t, s) + np.sin(s)
    t[()] = 3.0
    return u * t - s


@pytest.mark.parametrize(
    "case",
    [
        (fused, A, A + 1.0, 0.5), (fused, A, ROW, 0.5), (fused, A, COLUMN, 0.5), (fused, ROW, COLUMN, 0.5),
        (fused, A[:, ::2], A[:, :2].copy(order="F"), 1.0), (fused, A[:0], ROW, 1.0), (fused, A[:1], COLUMN, 1.0),
        (all_kinds, A, 2.0), (integers, np.array([3, -4, 7]), np.array([2, 5, -3])),
        (mixed_types, ROW, np.array([1, 2, 3], np.int32), ROW + 2j),
        (mixed_types, ROW.astype(np.float32), np.array([1, 2, 3]), ROW + 2j),
        (written_between, A, A), (callee_writes, A, A), (used_twice, A), (smaller_operand, A, ROW), (transposed, A),
        (custom, A, 1.5), (in_place, A, ROW), (scalar_arrays, A),
        (real_part_written, ROW), (without_axes, np.array(0.7), ROW),
    ],
    ids=lambda case: case[0].__name__,
)  # fmt: skip
def test_map_round_trips(case):
    fn, *args = case
    check_round_trip(fn, *[a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args])


def test_one_expression_is_one_map():
    program = program_of(fused, A, A, 0.5)
    assert [type(op).__name__ for op in program.body] == ["Map"]
    (only,) = maps_of(program)
    assert [value.name for value in only.inputs] == ["a", "b", "s"]


def test_a_write_between_keeps_maps_apart():
    assert len(maps_of(program_of(written_between, A, A))) == 2
    assert len(maps_of(program_of(callee_writes, A, A))) == 2
    assert len(maps_of(program_of(real_part_written, ROW))) == 3  # `.real` is a view of complex numbers


def test_a_value_used_twice_is_kept():
    assert len(maps_of(program_of(used_twice, A))) == 2


def test_a_smaller_operand_is_not_computed_again_for_each_row():
    assert len(maps_of(program_of(smaller_operand, A, ROW))) == 2


def test_shapes_that_do_not_fit_raise_as_in_numpy():
    printed, _ = printed_function(program_of(fused, A, ROW, 0.5))
    with pytest.raises(ValueError, match="broadcast"):
        njit(printed)(A, ROW[:2].copy(), 0.5)


def test_equal_shapes_vectorise():
    printed, _ = printed_function(program_of(lambda a, b: a * b + 1.0, ROW, ROW))
    compiled = njit(printed)
    compiled(ROW, ROW)
    (assembly,) = compiled.inspect_llvm().values()
    assert "<4 x double>" in assembly or "<2 x double>" in assembly or "<8 x double>" in assembly


def test_result_types_are_numbas():
    program = program_of(mixed_types, ROW.astype(np.float32), np.array([1, 2, 3]), ROW + 2j)
    dtypes = [op.result.type.dtype for op in maps_of(program)]
    assert dtypes == [numba.float32, numba.complex128, numba.complex128, numba.float32, numba.boolean]
