"""Small functions as instructions of the code that calls them.

Numba compiles every function that generated code calls as a function of its own, once for each type and error
model: 20 to 100 ms for one `np.zeros_like`, more than all else in the derivative of a small loop. What stands here
does the same with a few instructions at the place of the call, so that nothing is compiled. Each entry of `DIRECT`
takes the types of a call and answers with the type of the result and what writes the instructions, or with None
where the function itself is to be called. `runtime.pipeline` puts them in place, after the source was read and before
it is typed: source, front end and rules know the functions only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.npydecl import parse_dtype
from numba.np import arrayobj

from jitgrad.runtime import arena, arrays, kernels, tape

TOO_BIG = "array is too big; `arr.size * arr.dtype.itemsize` is larger than the maximum possible size."
NEGATIVE = "negative dimensions are not allowed"
CANNOT_BROADCAST = "shape mismatch: objects cannot be broadcast to a single shape"


# ----- allocation --------------------------------------------------------------------------------


def _number(ty: Any) -> bool:
    return isinstance(ty, (types.Number, types.Boolean))


def _plain(ty: types.Type) -> bool:
    return type(ty) is types.Array and _number(ty.dtype)


def _contiguous(ty: types.Type) -> bool:
    return _plain(ty) and ty.ndim > 0 and ty.layout in "CF"


def _c_contiguous(ty: types.Type) -> bool:
    return _contiguous(ty) and ty.layout == "C"


def _extent(ty: types.Type) -> bool:
    return isinstance(ty, types.Integer) and not isinstance(ty, types.Boolean)


def _from_shape(shape: types.Type, dtype: types.Type | None) -> types.Array | None:
    """The type of ``np.empty(shape, dtype)``."""
    element = types.float64 if dtype is None else parse_dtype(dtype) if isinstance(dtype, types.DTypeSpec) else None
    if not _number(element):
        return None
    if _extent(shape):
        return types.Array(element, 1, "C")
    if isinstance(shape, types.BaseTuple) and len(shape) and all(map(_extent, shape)):
        return types.Array(element, len(shape), "C")
    return None


def _like(array: types.Type, dtype: types.Type | None = None) -> types.Array | None:
    """The type of ``np.empty_like(array)``."""
    if not _plain(array) or dtype is not None:
        return None
    return array.copy(layout="C" if array.layout == "A" else array.layout, readonly=False)


def _vector_like(array: types.Type, dtype: types.Type | None = None) -> types.Array | None:
    """`_like` for one axis. For more, a call costs less than what LLVM makes of it in place: see `_shape_of_array`."""
    return _like(array, dtype) if getattr(array, "ndim", 0) == 1 else None


def _new(context: Any, builder: Any, array_type: types.Array, shape: list) -> Any:
    """A new array from the arena; errors are those of Numba and NumPy."""
    itemsize = context.get_constant(types.intp, arrayobj.get_itemsize(context, array_type))
    order = range(len(shape)) if array_type.layout == "F" else range(len(shape) - 1, -1, -1)
    strides: list = [None] * len(shape)
    size, overflow = itemsize, ir.Constant(ir.IntType(1), 0)
    for axis in order:
        strides[axis] = size
        product = builder.smul_with_overflow(size, shape[axis])
        size = builder.extract_value(product, 0)
        overflow = builder.or_(overflow, builder.extract_value(product, 1))
    with builder.if_then(overflow, likely=False):
        context.call_conv.return_user_exc(builder, ValueError, (TOO_BIG,))
    intp = context.get_value_type(types.intp)
    reserve = cgutils.get_or_insert_function(builder.module, ir.FunctionType(cgutils.voidptr_t, [intp]), arena.RESERVE)
    reserve.return_value.add_attribute("noalias")
    meminfo = builder.call(reserve, [size])
    cgutils.guard_memory_error(context, builder, meminfo, msg="Allocation failed (probably too large).")
    start = builder.ptrtoint(context.nrt.meminfo_data(builder, meminfo), intp)
    start = builder.and_(builder.add(start, intp(arena.ALIGN - 1)), intp(-arena.ALIGN))
    array = _array(context, builder, array_type)
    pointer = context.get_data_type(array_type.dtype).as_pointer()
    arrayobj.populate_array(
        array,
        data=builder.inttoptr(start, pointer),
        shape=cgutils.pack_array(builder, shape, ty=intp),
        strides=cgutils.pack_array(builder, strides, ty=intp),
        itemsize=itemsize,
        meminfo=meminfo,
    )
    return array, size


def _allocating(result: Callable, shape_of: Callable, zeroed: bool) -> Callable:
    def direct(first: types.Type, dtype: types.Type | None = None) -> Any:
        def write(context, builder, signature, args):
            shape = shape_of(context, builder, signature.args[0], args[0])
            array, size = _new(context, builder, signature.return_type, shape)
            if zeroed:
                cgutils.memset(builder, array.data, size, 0)
            return array._getvalue()

        return result(first, dtype), write

    return direct


def _shape_of_array(context: Any, builder: Any, ty: types.Array, value: Any) -> list:
    """The extents of another array, as numbers of their own.

    LLVM does not see that they are the same: an adjoint's index arithmetic, shared with its array's, makes inner
    loops run out of registers (a tenth of the time of a Gaussian mixture's gradient).
    """
    extents = _extents(builder, _array(context, builder, ty, value), ty)
    return [builder.asm(ir.FunctionType(n.type, [n.type]), "", "=r,0", [n], False) for n in extents]


def _array(context: Any, builder: Any, ty: types.Array, value: Any = None) -> Any:
    return arrayobj.make_array(ty)(context, builder, value=value)


def _extents(builder: Any, array: Any, ty: types.Array) -> list:
    return cgutils.unpack_tuple(builder, array.shape, ty.ndim)


def _copy(array: types.Type) -> Any:
    """``np.copy(array)`` of a contiguous array."""

    def write(context, builder, signature, args):
        old = _array(context, builder, signature.args[0], args[0])
        new, size = _new(context, builder, signature.return_type, _extents(builder, old, array))
        cgutils.raw_memcpy(builder, new.data, old.data, size, 1)
        return new._getvalue()

    return (_like(array) if _contiguous(array) else None), write


def _copy_c(array: types.Type) -> Any:
    """``array.copy()``, which is in C order always, of an array in C order."""
    return _copy(array) if _c_contiguous(array) else (None, None)


# ----- the tape ------------------------------------------------------------------------------------


def _grow(strip: types.Type, size: types.Type) -> Any:
    """See `tape.grow`."""

    def write(context, builder, signature, args):
        ty = signature.return_type
        old = _array(context, builder, ty, args[0])
        room = builder.extract_value(old.shape, 0)
        with builder.if_else(builder.icmp_signed("<=", args[1], room), likely=True) as (fits, grows):
            with fits:
                context.nrt.incref(builder, ty, args[0])
                before = builder.block
            with grows:
                double = builder.shl(room, room.type(1))
                extent = builder.select(builder.icmp_signed(">", args[1], double), args[1], double)
                new, _ = _new(context, builder, ty, [extent])
                cgutils.raw_memcpy(builder, new.data, old.data, room, old.itemsize)
                larger = new._getvalue()
                after = builder.block
        result = builder.phi(larger.type)
        result.add_incoming(args[0], before)
        result.add_incoming(larger, after)
        return result

    fine = _strip(strip) and strip.ndim == 1 and size == types.int64
    return (strip if fine else None), write


def _put(strip: types.Type, position: types.Type, array: types.Type) -> Any:
    """See `tape.put`."""

    def write(context, builder, signature, args):
        to = _array(context, builder, signature.args[0], args[0])
        return _write_elements(context, builder, signature, args, to, builder.extract_value(to.strides, 0))

    fine = _fits(strip, position, array) and strip.ndim == array.ndim + 1
    return (types.none if fine else None), write


def _store(strip: types.Type, position: types.Type, array: types.Type) -> Any:
    """See `tape.store`."""

    def write(context, builder, signature, args):
        to = _array(context, builder, signature.args[0], args[0])
        return _write_elements(context, builder, signature, args, to, to.itemsize)

    fine = _fits(strip, position, array) and strip.ndim == 1
    return (types.none if fine else None), write


def _strip(ty: types.Type) -> bool:
    return _c_contiguous(ty) and ty.mutable


def _fits(strip: types.Type, position: types.Type, array: types.Type) -> bool:
    return _strip(strip) and position == types.int64 and _c_contiguous(array) and strip.dtype == array.dtype


def _write_elements(context: Any, builder: Any, signature: Any, args: Any, to: Any, step: Any) -> Any:
    """Copy all elements of an array to a strip, from ``position * step`` bytes on."""
    array = _array(context, builder, signature.args[2], args[2])
    target = cgutils.pointer_add(builder, to.data, builder.mul(args[1], step))
    cgutils.raw_memcpy(builder, target, array.data, array.nitems, array.itemsize)
    return context.get_dummy_value()


# ----- shapes --------------------------------------------------------------------------------------


def _flat(array: types.Type) -> Any:
    """See `arrays.flat`."""

    def write(context, builder, signature, args):
        old = _array(context, builder, signature.args[0], args[0])
        new = _array(context, builder, signature.return_type)
        arrayobj.populate_array(
            new,
            data=old.data,
            shape=cgutils.pack_array(builder, [old.nitems]),
            strides=cgutils.pack_array(builder, [old.itemsize]),
            itemsize=old.itemsize,
            meminfo=old.meminfo,
            parent=old.parent,
        )
        value = new._getvalue()
        context.nrt.incref(builder, signature.return_type, value)
        return value

    fine = _c_contiguous(array) and array.mutable
    return (array.copy(ndim=1) if fine else None), write


def _broadcast(*shapes: types.Type) -> Any:
    """``np.broadcast_shapes``."""

    def write(context, builder, signature, args):
        one, zero = (context.get_constant(types.int64, k) for k in (1, 0))
        extents = [one] * len(signature.return_type)
        wrong = negative = ir.Constant(ir.IntType(1), 0)
        for shape in args:
            given = cgutils.unpack_tuple(builder, shape)
            for axis, extent in enumerate(given, start=len(extents) - len(given)):
                known = extents[axis]
                differ = builder.and_(
                    builder.icmp_signed("!=", known, one),
                    builder.and_(builder.icmp_signed("!=", extent, one), builder.icmp_signed("!=", extent, known)),
                )
                wrong = builder.or_(wrong, differ)
                negative = builder.or_(negative, builder.icmp_signed("<", extent, zero))
                extents[axis] = builder.select(builder.icmp_signed("==", extent, one), known, extent)
        for error, message in ((negative, NEGATIVE), (wrong, CANNOT_BROADCAST)):
            with builder.if_then(error, likely=False):
                context.call_conv.return_user_exc(builder, ValueError, (message,))
        return context.make_tuple(builder, signature.return_type, extents)

    fine = all(isinstance(s, types.UniTuple) and s.dtype == types.int64 for s in shapes)
    return (types.UniTuple(types.int64, max(map(len, shapes))) if fine else None), write


# ----- scalars -------------------------------------------------------------------------------------


def _of_integers(comparison: str) -> Callable:
    """``max`` and ``min`` of two integers: trip counts."""

    def direct(*operands: types.Type) -> Any:
        def write(context, builder, signature, args):
            return builder.select(builder.icmp_signed(comparison, *args), *args)

        return (types.int64 if operands == (types.int64, types.int64) else None), write

    return direct


def _zero_first(operation: str) -> Callable:
    """See `kernels.mul0` and `kernels.div0`."""

    def direct(x: types.Type, y: types.Type) -> Any:
        def write(context, builder, signature, args):
            factor = context.cast(builder, args[1], signature.args[1], signature.return_type)
            zero = builder.fcmp_ordered("==", args[0], args[0].type(0.0))
            return builder.select(zero, args[0], getattr(builder, operation)(args[0], factor))

        own = (x == y and isinstance(x, types.Float)) or (x, y) == (types.float64, types.int64)
        return (x if own else None), write

    return direct


DIRECT: dict[Any, Callable[..., tuple[types.Type | None, Callable]]] = {
    np.empty: _allocating(_from_shape, arrayobj._parse_shape, zeroed=False),
    np.zeros: _allocating(_from_shape, arrayobj._parse_shape, zeroed=True),
    np.empty_like: _allocating(_like, _shape_of_array, zeroed=False),
    np.zeros_like: _allocating(_vector_like, _shape_of_array, zeroed=True),
    np.copy: _copy,
    arrays.copied: _copy_c,
    arrays.copy: _copy_c,
    arrays.copy_pull: _copy_c,
    arrays.flat: _flat,
    np.broadcast_shapes: _broadcast,
    tape.grow: _grow,
    tape.store: _store,
    **{tape.put(ndim): _put for ndim in (1, 2, 3)},
    max: _of_integers(">"),
    min: _of_integers("<"),
    kernels.mul0: _zero_first("fmul"),
    kernels.div0: _zero_first("fdiv"),
}
# The method of arrays, which other types have as well.
METHODS = {"copy": arrays.copied}
# Under fastmath these would be flagged like all arithmetic around them, and the test for zero optimised away.
EXACT = (kernels.mul0, kernels.div0)
