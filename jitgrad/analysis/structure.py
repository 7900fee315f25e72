"""Which Numba types can carry a derivative, and how."""

from __future__ import annotations

from numba.core import types

SCALAR, ARRAY, RECORD, TUPLE, LIST, OPAQUE = "scalar", "array", "record", "tuple", "list", "opaque"


def strip(ty: types.Type) -> types.Type:
    """The type of the data: without literal and optional wrappers."""
    ty = types.unliteral(ty)
    return strip(ty.type) if isinstance(ty, types.Optional) else ty


def kind(ty: types.Type) -> str | None:
    """How values of type `ty` carry derivatives; None where they cannot.

    ========  ==========================================================================
    scalar    floating point and complex numbers
    array     arrays of those, and of records with such a field; ``a.flat``
    record    one element of an array of records
    tuple     tuples and named tuples with an element that carries
    list      reflected and typed lists of what carries
    opaque    holds floats in a way the transforms do not follow: dict and its views, set, jitclass, structref
    ========  ==========================================================================
    """
    ty = strip(ty)
    match ty:
        case types.Float() | types.Complex():
            return SCALAR
        case types.Array():
            return ARRAY if kind(ty.dtype) in (SCALAR, RECORD) else None
        case types.NumpyFlatType():
            return kind(ty.array_type)
        case types.NestedArray():
            return ARRAY if kind(ty.dtype) in (SCALAR, RECORD) else None
        case types.Record():
            return RECORD if any(kind(ty.typeof(name)) for name in ty.fields) else None
        case types.BaseTuple():
            return TUPLE if any(kind(item) for item in ty.types) else None
        case types.List() | types.ListType():
            return LIST if kind(ty.dtype) else None
        case types.DictType():
            return OPAQUE if kind(ty.key_type) or kind(ty.value_type) else None
        case types.DictKeysIterableType() | types.DictValuesIterableType() | types.DictItemsIterableType():
            return kind(ty.parent)
        case types.StructRef():
            return OPAQUE if any(kind(field) for field in ty.field_dict.values()) else None
        case types.Set():
            return OPAQUE if kind(ty.dtype) else None
        case types.ClassInstanceType():
            return OPAQUE if any(kind(field) for field in ty.struct.values()) else None
    return None


def is_memory(ty: types.Type) -> bool:
    """Whether values of type `ty` that carry derivatives are references to shared memory."""
    return kind(ty) in (ARRAY, RECORD, LIST, OPAQUE)
