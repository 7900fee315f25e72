"""Values at the Python boundary: structures of numbers and arrays, checked and converted.

A *structure* is a number, an array, a structured array, or a tuple, named tuple or list of structures. Its
float and complex leaves have derivatives; every other leaf has none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from jitgrad.errors import ArgumentError, ShapeError


def is_list(value: Any) -> bool:
    """A Python list or a `numba.typed.List`."""
    return isinstance(value, list) or (type(value).__name__ == "List" and hasattr(value, "append"))


def is_record(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.void)) and value.dtype.fields is not None


def refuse_tape_value(value: Any) -> None:
    """Raise for a tensor or variable of `jitgrad.tape`, where it would count as an array of constants.

    Raises
    ------
    ArgumentError
    """
    tape = sys.modules.get("jitgrad.tape.tensor")  # without it there are none
    if tape is not None and isinstance(value, tape.Value):
        raise ArgumentError(
            f"a tape value ({type(value).__name__}) was passed where arrays and numbers are expected; no tape would "
            "hear of it; pass x.numpy(), or call with it what jitgrad.grad, value_and_grad, jacobian or hessian return"
        )


def is_float_leaf(value: Any) -> bool:
    """A float or complex number, or an array of them."""
    refuse_tape_value(value)
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc"
    return isinstance(value, (float, complex, np.floating, np.complexfloating))


def has_float(value: Any) -> bool:
    """Whether something in the structure has a derivative."""
    if isinstance(value, tuple) or is_list(value):
        return any(has_float(item) for item in value)
    if is_record(value):
        return _has_float_field(value.dtype)
    return is_float_leaf(value)


def _has_float_field(dtype: np.dtype) -> bool:
    if dtype.names is not None:
        return any(_has_float_field(dtype[name]) for name in dtype.names)
    return dtype.base.kind in "fc"


def rebuild(like: Any, items: list[Any]) -> Any:
    """A tuple, named tuple or list like `like`, of `items`."""
    if hasattr(like, "_fields"):
        return type(like)(*items)
    if isinstance(like, tuple):
        return tuple(items)
    if isinstance(like, list):
        return list(items)
    fresh = type(like)()
    for item in items:
        fresh.append(item)
    return fresh


def map_leaves(fn: Callable[[Any], Any], value: Any) -> Any:
    """Apply `fn` to every number and array of a structure."""
    if isinstance(value, tuple) or is_list(value):
        return rebuild(value, [map_leaves(fn, item) for item in value])
    return fn(value)


def arrays_in(value: Any) -> list[np.ndarray]:
    """The arrays of a structure."""
    found: list[np.ndarray] = []
    map_leaves(lambda leaf: found.append(leaf) if isinstance(leaf, np.ndarray) else None, value)
    return found


def none_where_no_float(value: Any, like: Any) -> Any:
    """`value` with None in place of the leaves for which `like` has no float."""
    if not has_float(like):
        return None
    if isinstance(like, tuple) and isinstance(value, tuple):
        return rebuild(like, [none_where_no_float(v, item) for v, item in zip(value, like, strict=True)])
    return value


def conform(value: Any, like: Any, name: str, owner: str, *, several: bool = False) -> Any:
    """A tangent or cotangent as the compiled code takes it: fresh, with the structure and dtypes of `like`.

    Integers become floats, scalars and lists become arrays where `like` is one; leaves of `like` without a
    derivative become 0, whatever was passed.

    Parameters
    ----------
    value : structure
        What the user passed.
    like : structure
        The primal or the result that it belongs to.
    name, owner : str
        What to call the two in messages, such as "tangent 0" and "argument 0 (x)".
    several : bool
        Every leaf of `value` has one axis more, the last: that of the directions.

    Raises
    ------
    ShapeError
        The shapes or lengths differ.
    ArgumentError
        The structures differ, or a complex value belongs to a real leaf.
    """
    refuse_tape_value(value)
    if not has_float(like):
        return 0
    if several and (is_list(like) or is_record(like)):
        raise ArgumentError(f"{owner} is {_what(like)}, whose tangents have no axis of directions; pass one direction")
    if isinstance(like, tuple) or is_list(like):
        return _conform_items(value, like, name, owner, several)
    if is_record(like):
        if not is_record(value) or value.dtype != like.dtype:
            raise ArgumentError(
                f"{name} is {_what(value)}, but {owner} is structured: pass an array of dtype {like.dtype}"
            )
        return _same_shape(np.array(value), like, name, owner)
    if value is None:
        raise ArgumentError(f"{name} is None, but {owner} is {_what(like)}; pass zeros for no change")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ArgumentError(f"{name} is no array: {error}") from None
    if array.dtype.kind not in "biufc":
        raise ArgumentError(f"{name} is {_what(value)}, but {owner} is {_what(like)}; pass floats")
    dtype = like.dtype if isinstance(like, np.ndarray) else np.asarray(like).dtype
    if array.dtype.kind == "c" and dtype.kind != "c":
        raise ArgumentError(f"{name} is complex, but {owner} is real ({dtype}); pass its real part")
    if several:
        return _with_directions(array, like, dtype, name, owner)
    _same_shape(array, like, name, owner)
    if isinstance(like, np.ndarray):
        return np.array(array, dtype=dtype, order="C")
    scalar = array.reshape(()).astype(dtype)[()]
    return scalar if isinstance(like, np.generic) and not isinstance(like, (float, complex)) else scalar.item()


def _conform_items(value: Any, like: Any, name: str, owner: str, several: bool) -> Any:
    if not (isinstance(value, (tuple, list)) or is_list(value)):
        raise ArgumentError(
            f"{name} is {_what(value)}, but {owner} is {_what(like)}; pass one entry for each of its items"
        )
    if len(value) != len(like):
        raise ShapeError(f"{name} has {len(value)} entries, but {owner} has length {len(like)}")
    fields = getattr(like, "_fields", None)
    labels = [f".{f}" for f in fields] if fields else [f"[{k}]" for k in range(len(like))]
    return rebuild(
        like,
        [
            conform(v, item, name + at, owner + at, several=several)
            for v, item, at in zip(value, like, labels, strict=True)
        ],
    )


def _same_shape(array: np.ndarray, like: Any, name: str, owner: str) -> np.ndarray:
    shape = np.shape(like)
    if array.shape != shape:
        columns = array.ndim and array.shape[:-1] == shape and name.startswith("the tangent")
        way = "; columns of directions are for several=True" if columns else ""
        raise ShapeError(f"{name} has shape {array.shape}, but {owner} has shape {shape}{way}")
    return array


def _with_directions(array: np.ndarray, like: Any, dtype: np.dtype, name: str, owner: str) -> np.ndarray:
    if array.ndim == 0 or array.shape[:-1] != np.shape(like):
        wanted = ", ".join([*map(str, np.shape(like)), "number of directions"]) + "," * (not np.shape(like))
        raise ShapeError(
            f"{name} has shape {array.shape}, but with several=True that of {owner} and an axis for the directions: "
            f"pass ({wanted})"
        )
    return np.array(array, dtype=dtype, order="C")


def _what(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, tuple) or is_list(value):
        return f"a {type(value).__name__} of {len(value)} items"
    return f"{value!r} ({type(value).__name__})"


def zeros_like(value: Any) -> Any:
    """A structure of zeros, 0 at leaves without a derivative."""
    return map_leaves(
        lambda x: np.zeros_like(x) if isinstance(x, np.ndarray) else type(x)(0) if is_float_leaf(x) else 0, value
    )


# ----- copies --------------------------------------------------------------------------------------
def copies(values: tuple) -> tuple:
    """Deep copies of arguments; arrays that share memory share it in the copies too."""
    found: dict[int, np.ndarray] = {}

    def collect(x: Any) -> Any:
        refuse_tape_value(x)
        if isinstance(x, np.ndarray):
            found[id(x)] = x
        return x

    for value in values:
        map_leaves(collect, value)
    made: dict[int, np.ndarray] = {}
    for group in _overlapping(list(found.values())):
        if len(group) == 1:
            made[id(group[0])] = group[0].copy(order="K")
        else:
            made.update(_copy_together(group))
    return tuple(map_leaves(lambda x: made[id(x)] if id(x) in made else x, value) for value in values)


def _overlapping(arrays: list[np.ndarray]) -> list[list[np.ndarray]]:
    """The arrays in groups whose spans of memory overlap."""
    groups: list[list[np.ndarray]] = []
    end = -1
    for (low, high), _, array in sorted((byte_bounds(a), k, a) for k, a in enumerate(arrays)):
        if groups and low < end:
            groups[-1].append(array)
        else:
            groups.append([array])
        end = max(end, high)
    return groups


def _copy_together(group: list[np.ndarray]) -> dict[int, np.ndarray]:
    """Copies of overlapping arrays, as views of one new buffer, by the id of the original."""
    spans = [byte_bounds(a) for a in group]
    low = min(start for start, _ in spans)
    memory = np.empty(max(stop for _, stop in spans) - low, np.uint8)
    made = {}
    for a in group:
        made[id(a)] = np.ndarray(a.shape, a.dtype, memory, a.__array_interface__["data"][0] - low, a.strides)
        made[id(a)][...] = a
    return made
