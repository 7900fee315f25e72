"""Several numbers in one register: the tangents of one scalar in several directions.

`Vector` is a Numba type whose value is an LLVM vector ``<n x double>`` or ``<n x float>``. Everything that is done to
a tangent (sums, products with a number) is one instruction for each register that it fills, whatever `n` is, so neither
the text nor the time to compile grows with `n`.

Tangents of arrays are Numba arrays whose *elements* are vectors. Numba's own indexing, slicing, views and copies then
hold for them, and what is done to an array is done to its tangent with the same text. In memory they are arrays of
numbers with a further, contiguous, last axis; `vectors` and `numbers` go from one view to the other without copying.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed, lower_builtin, lower_cast
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import NativeValue, box, intrinsic, overload, unbox
from numba.np import arrayobj

from jitgrad.runtime import direct
from jitgrad.runtime.pipeline import HelperPipeline
from jitgrad.runtime.vector_type import Vector, Zero, load_at, lower_zero, store_at, zero

__all__ = [
    "Vector",
    "Zero",
    "empty_like",
    "full_like",
    "lane",
    "numbers",
    "vector",
    "vectors",
    "with_lane",
    "zero",
    "zeros_like",
]


# ----- arithmetic ----------------------------------------------------------------------------------
def _splat(context: Any, builder: Any, number: Any, ty: types.Type, like: Vector) -> Any:
    """A vector with the same number everywhere."""
    number = context.cast(builder, number, ty, like.dtype)
    empty = ir.Constant(context.get_value_type(like), ir.Undefined)
    first = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), like.n), None))


def _as(context: Any, builder: Any, value: Any, ty: types.Type, like: Vector) -> Any:
    """A vector or a number as a vector of type `like`."""
    if isinstance(ty, Vector):
        return context.cast(builder, value, ty, like)
    return _splat(context, builder, value, ty, like)


@lower_cast(Vector, Vector)
def _cast(context, builder, source, target, value):
    if source.dtype == target.dtype:
        return value
    to = context.get_value_type(target)
    wider = source.dtype.bitwidth < target.dtype.bitwidth
    return builder.fpext(value, to) if wider else builder.fptrunc(value, to)


def _joined(context: Any, a: types.Type, b: types.Type) -> Vector | None:
    """The type of what an operator makes of two vectors, or of a vector and a number."""
    kind = a if isinstance(a, Vector) else b
    dtypes = [ty.dtype if isinstance(ty, Vector) else ty for ty in (a, b)]
    if any(isinstance(ty, Vector) and ty.n != kind.n for ty in (a, b)):
        return None
    if not all(isinstance(ty, (types.Float, types.Integer, types.Boolean)) for ty in dtypes):
        return None
    floats = [ty for ty in dtypes if isinstance(ty, types.Float)]
    if isinstance(kind.dtype, types.Float):  # as NumPy and Numba: float32 times int64 is float64
        wide = any(type(ty) is types.Integer and ty.bitwidth > 16 for ty in dtypes)
        return Vector(types.float64 if wide else max(floats, key=lambda ty: ty.bitwidth), kind.n)
    return kind if all(ty == kind.dtype for ty in dtypes) else None


def _operator(fn: Any, instruction: str, scalars: str) -> None:
    """Let an operator work on vectors; `scalars` tells on which side a number may stand."""

    class Template(AbstractTemplate):
        key = fn

        def generic(self, args, kws):
            if kws or len(args) != 2 or not any(isinstance(a, Vector) for a in args):
                return None
            a, b = (types.unliteral(a) for a in args)
            if (not isinstance(a, Vector) and "l" not in scalars) or (not isinstance(b, Vector) and "r" not in scalars):
                return None
            if isinstance(a, Vector) and isinstance(b, Vector) and scalars:
                return None
            result = _joined(self.context, a, b)
            return None if result is None else signature(result, a, b)

    infer_global(fn)(Template)

    def lower(context, builder, sig, args):
        a, b = (_as(context, builder, v, ty, sig.return_type) for v, ty in zip(args, sig.args, strict=True))
        # a product and a sum may become one instruction, which rounds once
        return getattr(builder, instruction)(a, b, flags=("contract",))

    pairs = [(Vector, Vector)] if not scalars else []
    for number in (types.Number, types.Boolean):
        pairs += [(number, Vector)] * ("l" in scalars) + [(Vector, number)] * ("r" in scalars)
    for pair in pairs:
        lower_builtin(fn, *pair)(lower)


for _fn in (operator.add, operator.iadd):
    _operator(_fn, "fadd", "")
for _fn in (operator.sub, operator.isub):
    _operator(_fn, "fsub", "")
for _fn in (operator.mul, operator.imul):
    _operator(_fn, "fmul", "lr")
for _fn in (operator.truediv, operator.itruediv):
    _operator(_fn, "fdiv", "r")


@infer_global(operator.or_)
@infer_global(operator.and_)
class _Bits(AbstractTemplate):
    """Union and intersection of sets of bits."""

    def generic(self, args, kws):
        if len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1] and not kws:
            return signature(args[0], *args)
        return None


lower_builtin(operator.or_, Vector, Vector)(lambda context, builder, sig, args: builder.or_(*args))
lower_builtin(operator.and_, Vector, Vector)(lambda context, builder, sig, args: builder.and_(*args))


@infer_global(operator.neg)
@infer_global(operator.pos)
class _Signs(AbstractTemplate):
    def generic(self, args, kws):
        if len(args) == 1 and isinstance(args[0], Vector) and isinstance(args[0].dtype, types.Float):
            return signature(args[0], *args)
        return None


lower_builtin(operator.neg, Vector)(lambda context, builder, sig, args: builder.fneg(args[0]))
lower_builtin(operator.pos, Vector)(lambda context, builder, sig, args: args[0])


# ----- products that are zero where a factor is -----------------------------------------------------
def _zero_first(instruction: str) -> Any:
    @intrinsic
    def product(typingctx, x, y):
        if not isinstance(x, Vector):
            return None
        result = _joined(typingctx, x, types.unliteral(y))

        def codegen(context, builder, sig, args):
            a, b = (_as(context, builder, v, ty, result) for v, ty in zip(args, sig.args, strict=True))
            is_zero = builder.fcmp_ordered("==", a, ir.Constant(a.type, None))
            return builder.select(is_zero, a, getattr(builder, instruction)(a, b))

        return result(x, types.unliteral(y)), codegen

    return product


mul0 = _zero_first("fmul")  # of a vector and a number: `kernels.mul0` for each element
div0 = _zero_first("fdiv")


@intrinsic
def select0(typingctx, factor, x):
    """``factor * x``, but zero where the number `factor` is zero, also where `x` is infinite or nan."""
    if not isinstance(x, Vector) or isinstance(factor, Vector):
        return None
    factor = types.unliteral(factor)
    result = _joined(typingctx, factor, x)

    def codegen(context, builder, sig, args):
        number = context.cast(builder, args[0], factor, result.dtype)
        is_zero = builder.fcmp_ordered("==", number, number.type(0.0))
        a, b = (_as(context, builder, v, ty, result) for v, ty in zip(args, sig.args, strict=True))
        return builder.select(is_zero, ir.Constant(a.type, None), builder.fmul(a, b))

    return result(factor, x), codegen


@intrinsic
def single(typingctx, x):
    """A vector rounded to float32."""
    target = Vector(types.float32, x.n)
    return target(x), lambda context, builder, sig, args: context.cast(builder, args[0], x, target)


@intrinsic
def double(typingctx, x):
    """A vector of float64."""
    target = Vector(types.float64, x.n)
    return target(x), lambda context, builder, sig, args: context.cast(builder, args[0], x, target)


# ----- elements ------------------------------------------------------------------------------------
@intrinsic
def lane(typingctx, x, k):
    """Element `k` of a vector."""
    if not isinstance(x, Vector) or not isinstance(k, types.Integer):
        return None

    def codegen(context, builder, sig, args):
        k = context.cast(builder, args[1], sig.args[1], types.int32)
        return builder.extract_element(args[0], k)

    return x.dtype(x, types.unliteral(k)), codegen


@intrinsic
def with_lane(typingctx, x, k, number):
    """The vector `x` with `number` for its element `k`."""
    if not isinstance(x, Vector) or not isinstance(k, types.Integer):
        return None
    number = types.unliteral(number)

    def codegen(context, builder, sig, args):
        k = context.cast(builder, args[1], sig.args[1], types.int32)
        return builder.insert_element(args[0], context.cast(builder, args[2], number, x.dtype), k)

    return x(x, types.unliteral(k), number), codegen


@intrinsic
def zero_of(typingctx, container):
    """The zero of the vectors in an array, list or tuple."""
    found = _vector_in(container)
    if found is None:
        return None
    return found(container), lambda context, builder, sig, args: lower_zero(context, builder, found, None)


def _vector_in(ty: types.Type) -> Vector | None:
    if isinstance(ty, Vector):
        return ty
    if isinstance(ty, types.BaseTuple):
        return next((found for item in ty if (found := _vector_in(item)) is not None), None)
    return _vector_in(ty.dtype) if isinstance(ty, (types.Array, types.List)) else None


@intrinsic
def spread(typingctx, number, zero):
    """A vector with the same number everywhere, of the type of `zero`."""
    number = types.unliteral(number)
    codegen = lambda context, builder, sig, args: _splat(context, builder, args[0], number, zero)
    return zero(number, zero), codegen


# ----- arrays --------------------------------------------------------------------------------------
@lower_builtin(operator.setitem, types.Array, types.Any, Vector)
def _setitem(context, builder, sig, args):
    """One vector into memory as one store, where Numba would store what `as_data` makes of it number by number."""
    array_type, index_type, value_type = sig.args
    items = index_type.types if isinstance(index_type, types.BaseTuple) else (index_type,)
    element = array_type.dtype
    if element != value_type or len(items) != array_type.ndim or not all(isinstance(i, types.Integer) for i in items):
        return arrayobj.setitem_array(context, builder, sig, args)
    index = cgutils.unpack_tuple(builder, args[1]) if isinstance(index_type, types.BaseTuple) else [args[1]]
    array = arrayobj.make_array(array_type)(context, builder, value=args[0])
    items, index = arrayobj.normalize_indices(context, builder, items, index)
    pointer, _, _ = arrayobj.basic_indexing(
        context, builder, array_type, array, items, index, boundscheck=context.enable_boundscheck
    )
    return store_at(builder, args[2], pointer)


def _like(zeroed: bool) -> Any:
    @intrinsic
    def new(typingctx, array, zero):
        if not isinstance(array, types.Array) or not isinstance(zero, Vector):
            return None
        result = types.Array(zero, array.ndim, "F" if array.layout == "F" else "C")

        def codegen(context, builder, sig, args):
            old = arrayobj.make_array(array)(context, builder, value=args[0])
            made, size = direct._new(context, builder, result, cgutils.unpack_tuple(builder, old.shape, array.ndim))
            if zeroed:
                cgutils.memset(builder, made.data, size, 0)
            return made._getvalue()

        return result(array, zero), codegen

    return new


zeros_like = _like(zeroed=True)  # (array, zero): an array of zeros of the shape of `array`
empty_like = _like(zeroed=False)


def full_like(array, x):
    """An array of the shape of `array` whose elements are the vector `x`."""
    raise NotImplementedError("nopython code only")


@overload(full_like)
def _full_like(array, x):
    def fill(array, x):
        made = empty_like(array, x)
        for at in np.ndindex(made.shape):
            made[at] = x
        return made

    return fill


def _reinterpreted(context: Any, builder: Any, source: types.Array, target: types.Array, value: Any) -> Any:
    """The same memory as an array with one axis more, or less."""
    old = arrayobj.make_array(source)(context, builder, value=value)
    new = arrayobj.make_array(target)(context, builder)
    shape, strides = (cgutils.unpack_tuple(builder, part, source.ndim) for part in (old.shape, old.strides))
    size = context.get_constant(types.intp, arrayobj.get_itemsize(context, target))
    if target.ndim > source.ndim:
        shape, strides = [*shape, context.get_constant(types.intp, source.dtype.n)], [*strides, size]
    else:
        shape, strides = shape[:-1], strides[:-1]
    arrayobj.populate_array(
        new,
        data=builder.bitcast(old.data, context.get_data_type(target.dtype).as_pointer()),
        shape=cgutils.pack_array(builder, shape, ty=context.get_value_type(types.intp)),
        strides=cgutils.pack_array(builder, strides, ty=context.get_value_type(types.intp)),
        itemsize=size,
        meminfo=old.meminfo,
        parent=old.parent,
    )
    return impl_ret_borrowed(context, builder, target, new._getvalue())


@intrinsic
def _view_as_vectors(typingctx, array, zero):
    result = types.Array(zero, array.ndim - 1, "C")
    codegen = lambda context, builder, sig, args: _reinterpreted(context, builder, array, result, args[0])
    return result(array, zero), codegen


@intrinsic
def _view_as_numbers(typingctx, array):
    layout = "C" if array.layout == "C" else "A"
    result = types.Array(array.dtype.dtype, array.ndim + 1, layout)
    return result(array), lambda context, builder, sig, args: _reinterpreted(context, builder, array, result, args[0])


@intrinsic
def _view_as_rows(typingctx, array, zero):
    result = types.Array(zero, 1, "C")

    def codegen(context, builder, sig, args):
        old = arrayobj.make_array(array)(context, builder, value=args[0])
        new = arrayobj.make_array(result)(context, builder)
        size = context.get_constant(types.intp, arrayobj.get_itemsize(context, result))
        count = builder.udiv(old.nitems, context.get_constant(types.intp, zero.n))
        arrayobj.populate_array(
            new,
            data=builder.bitcast(old.data, context.get_data_type(zero).as_pointer()),
            shape=cgutils.pack_array(builder, [count]),
            strides=cgutils.pack_array(builder, [size]),
            itemsize=size,
            meminfo=old.meminfo,
            parent=old.parent,
        )
        return impl_ret_borrowed(context, builder, result, new._getvalue())

    return result(array, zero), codegen


def rows(array, zero):
    """As `vectors`, with all elements of the array along one axis."""
    raise NotImplementedError("nopython code only")


@overload(rows)
def _rows(array, zero):
    return _reinterpreting(array, zero, _view_as_rows)


@intrinsic
def _load(typingctx, array, zero):
    """The elements of a contiguous array with one axis."""

    def codegen(context, builder, sig, args):
        old = arrayobj.make_array(array)(context, builder, value=args[0])
        return load_at(builder, old.data, context.get_value_type(zero))

    return zero(array, zero), codegen


@intrinsic
def store(typingctx, matrix, row, column, x):
    """``matrix[row, column : column + n] = x``, for a C-ordered matrix and indices known to be right."""
    if not isinstance(matrix, types.Array) or matrix.ndim != 2 or matrix.layout != "C" or matrix.dtype != x.dtype:
        return None

    def codegen(context, builder, sig, args):
        to = arrayobj.make_array(matrix)(context, builder, value=args[0])
        at = [context.cast(builder, i, ty, types.intp) for i, ty in zip(args[1:3], sig.args[1:3], strict=True)]
        pointer = cgutils.get_item_pointer(context, builder, matrix, to, at, wraparound=False)
        store_at(builder, args[3], pointer)
        return context.get_dummy_value()

    return types.void(matrix, row, column, x), codegen


@intrinsic
def _store(typingctx, array, x):
    def codegen(context, builder, sig, args):
        new = arrayobj.make_array(array)(context, builder, value=args[0])
        store_at(builder, args[1], new.data)
        return context.get_dummy_value()

    return types.void(array, x), codegen


def vectors(array, zero):
    """An array of numbers whose last axis is one of directions, as an array of vectors.

    The same memory, where the array is in C order; else a copy. `zero` tells the kind of vector.

    Raises
    ------
    ValueError
        The last axis is not as long as the vector.
    """
    raise NotImplementedError("nopython code only")


def vector(array, zero):
    """The numbers in an array with one axis, as a vector."""
    raise NotImplementedError("nopython code only")


@overload(vectors)
def _vectors(array, zero):
    return _reinterpreting(array, zero, _view_as_vectors)


@overload(vector)
def _vector(array, zero):
    return _reinterpreting(array, zero, _load) if getattr(array, "ndim", 0) == 1 else None


def _reinterpreting(array: types.Type, zero: types.Type, read: Any) -> Any:
    if not isinstance(array, types.Array) or not array.ndim or not isinstance(zero, Vector):
        return None
    n, dtype, same = zero.n, np.dtype(str(zero.dtype)).type, array.dtype == zero.dtype
    dense = array.layout == "C"
    message = f"the last axis of a tangent is the axis of directions: it has {n} elements here"

    def reinterpret(array, zero):
        if array.shape[array.ndim - 1] != n:
            raise ValueError(message)
        if not same:
            return read(np.ascontiguousarray(array).astype(dtype), zero)
        if dense:
            return read(array, zero)
        return read(np.ascontiguousarray(array), zero)

    return reinterpret


def numbers(x):
    """An array of vectors as an array of numbers, with a last axis of directions (the same memory).

    A vector becomes an array with one axis.
    """
    raise NotImplementedError("nopython code only")


@overload(numbers)
def _numbers(x):
    if isinstance(x, types.Array) and isinstance(x.dtype, Vector):
        return lambda x: _view_as_numbers(x)
    if isinstance(x, Vector):
        n, dtype = x.n, np.dtype(str(x.dtype)).type

        def store(x):
            made = np.empty(n, dtype)
            _store(made, x)
            return made

        return store
    return None


# ----- outside compiled code ------------------------------------------------------------------------
@box(Vector)
def _box(typ, value, c):
    """A vector is an array to Python."""
    builder, nrt, array_type = c.builder, c.context.nrt, types.Array(typ.dtype, 1, "C")
    intp, itemsize = c.context.get_constant, arrayobj.get_itemsize(c.context, array_type)
    meminfo = nrt.meminfo_alloc_unchecked(builder, intp(types.intp, itemsize * typ.n))
    result = cgutils.alloca_once_value(builder, c.pyapi.get_null_object())
    with builder.if_else(cgutils.is_null(builder, meminfo), likely=False) as (full, fine):
        with full:
            c.pyapi.err_set_string("PyExc_MemoryError", "no memory for a vector")
        with fine:
            made = arrayobj.make_array(array_type)(c.context, builder)
            data = nrt.meminfo_data(builder, meminfo)
            store_at(builder, value, data)
            arrayobj.populate_array(
                made,
                data=builder.bitcast(data, c.context.get_data_type(typ.dtype).as_pointer()),
                shape=[intp(types.intp, typ.n)],
                strides=[intp(types.intp, itemsize)],
                itemsize=intp(types.intp, itemsize),
                meminfo=meminfo,
            )
            builder.store(c.box(array_type, made._getvalue()), result)
    return builder.load(result)


def unbox_vector(typ: Vector, obj: Any, c: Any) -> NativeValue:
    """The elements of a contiguous array object, which is known to be one."""
    array_type = types.Array(typ.dtype, 1, "C")
    native = c.unbox(array_type, obj)
    array = arrayobj.make_array(array_type)(c.context, c.builder, value=native.value)
    value = load_at(c.builder, array.data, c.context.get_value_type(typ))
    c.context.nrt.decref(c.builder, array_type, native.value)
    return NativeValue(value, is_error=native.is_error)


unbox(Vector)(unbox_vector)


# ----- nopython helpers ----------------------------------------------------------------------------
# A function on arrays of vectors: without the wrapper for calls from Python, which has no such arrays.
wide = numba.njit(error_model="numpy", pipeline_class=HelperPipeline, no_cpython_wrapper=True, no_cfunc_wrapper=True)
