"""The type of `vectors`: how it lies in registers and in memory, and its zeros."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel.models import PrimitiveModel
from numba.core.extending import register_model
from numba.core.imputils import lower_constant


class Vector(types.Type):
    """`n` numbers of one type.

    Parameters
    ----------
    dtype : Float or Integer
        Floats are tangents; unsigned integers are sets of bits.
    n : int
    """

    def __init__(self, dtype: types.Type, n: int):
        self.dtype, self.n = dtype, n
        super().__init__(f"Vector({dtype} x {n})")

    def unify(self, typingctx, other):
        if isinstance(other, Vector) and other.n == self.n:
            dtype = typingctx.unify_pairs(self.dtype, other.dtype)
            return None if dtype is None else Vector(dtype, self.n)
        return None

    def can_convert_to(self, typingctx, other):
        if isinstance(other, Vector) and other.n == self.n:
            return typingctx.can_convert(self.dtype, other.dtype)
        return None


@register_model(Vector)
class _VectorModel(PrimitiveModel):
    """In registers an LLVM vector, in memory an LLVM array, which has neither padding nor an alignment of its own."""

    def __init__(self, dmm, fe_type):
        self.number = dmm.lookup(fe_type.dtype).get_value_type()
        super().__init__(dmm, fe_type, ir.VectorType(self.number, fe_type.n))

    def get_data_type(self):
        return ir.ArrayType(self.number, self.fe_type.n)

    def as_data(self, builder, value):
        data = ir.Constant(self.get_data_type(), ir.Undefined)
        for k in range(self.fe_type.n):
            data = builder.insert_value(data, builder.extract_element(value, ir.Constant(ir.IntType(32), k)), k)
        return data

    def from_data(self, builder, data):
        value = ir.Constant(self.get_value_type(), ir.Undefined)
        for k in range(self.fe_type.n):
            value = builder.insert_element(value, builder.extract_value(data, k), ir.Constant(ir.IntType(32), k))
        return value

    def load_from_data_pointer(self, builder, ptr, align=None):
        return load_at(builder, ptr, self.get_value_type())


def load_at(builder: Any, pointer: Any, ty: ir.VectorType) -> Any:
    """The vector of type `ty` in memory of numbers."""
    return builder.load(builder.bitcast(pointer, ty.as_pointer()), align=_align(ty))


def store_at(builder: Any, value: Any, pointer: Any) -> Any:
    """Write a vector into memory of numbers."""
    return builder.store(value, builder.bitcast(pointer, value.type.as_pointer()), align=_align(value.type))


def _align(ty: ir.VectorType) -> int:
    """What memory of numbers is aligned for."""
    return ty.element.width // 8 if isinstance(ty.element, ir.IntType) else 4 if ty.element == ir.FloatType() else 8


class Zero:
    """The vector of zeros, as a constant of generated code."""

    def __init__(self, dtype: types.Type, n: int):
        self._numba_type_ = Vector(dtype, n)

    def __reduce__(self):
        return zero, (self._numba_type_.dtype, self._numba_type_.n)


_zeros: dict[tuple[types.Type, int], Zero] = {}


def zero(dtype: types.Type, n: int) -> Zero:
    """The one zero of a kind: it is known by identity in the namespace of generated code."""
    return _zeros.setdefault((dtype, n), Zero(dtype, n))


@lower_constant(Vector)
def lower_zero(context, builder, ty, value):
    """The zero of type `ty`."""
    return ir.Constant(context.get_value_type(ty), None)
