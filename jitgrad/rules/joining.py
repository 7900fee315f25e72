"""Rules of functions that make one array of several: concatenate, the stack family, array of a list or tuple.

A tuple's ``<param>_shape`` is the tuple of its items' shapes. The pullback of a tuple returns a tuple with one
contribution per item, also for items without a derivative (those are not read).
"""

from __future__ import annotations

import functools

import numpy as np
from numba.core import types as nbtypes

from jitgrad.rules.registry import ArrayRule, Choose, RewriteRule, register
from jitgrad.rules.shapes import copy_vectors
from jitgrad.rules.support import generated, is_array, is_none, is_number, split_shape, takes_array
from jitgrad.runtime.arrays import copy, copy_pull
from jitgrad.runtime.kernels import compiled
from jitgrad.runtime.vectors import empty_like, wide, zero_of


@compiled
def block(ct, axis, start, width, shape):
    """``ct[start:start + width]`` along `axis`, as a new array of this shape (one with as many elements)."""
    outer, n, inner = split_shape(ct.shape, axis)
    c = np.ascontiguousarray(ct).reshape((outer, n, inner))
    out = np.empty(shape, ct.dtype)
    g = out.reshape((outer, width, inner))
    for i in range(outer):
        for k in range(width):
            for j in range(inner):
                g[i, k, j] = c[i, start + k, j]
    return out


def _dtype_name(t):
    return f"np.{t.dtype}" if isinstance(t.dtype, (nbtypes.Float, nbtypes.Complex)) else None


def _cast(text, item, out):
    name = _dtype_name(item)
    return f"{text}.astype({name})" if name and item.dtype != out.dtype else text


def _join_pull(param, axis, width):
    """The pullback of a joining function.

    `axis` and `width` are functions of one item's type and the item's position that return source
    text: the axis of the result along which items follow each other, and how far this one reaches.
    """

    def choose(types):
        items = list(types[param].types)
        has_axis = "axis" in types
        lines = [f"def join_pull(ct, {'axis, ' if has_axis else ''}{param}_shape):", "    p = 0"]
        for k, item in enumerate(items):
            lines += [
                f"    w = {width(item, k)}",
                f"    g{k} = " + _cast(f"block(ct, {axis(item)}, p, w, {param}_shape[{k}])", item, types["out"]),
                "    p += w",
            ]
        names = ", ".join(f"g{k}" for k in range(len(items)))
        lines.append(f"    return ({names},)")
        return generated("join_pull", "\n".join(lines) + "\n", block=block)

    return Choose(choose)


@compiled
def _concatenate_push(dot, axis):
    return np.concatenate(dot, axis)


@compiled
def _stack_push(dot, axis):
    return np.stack(dot, axis)


@compiled
def _hstack_push(dot):
    return np.hstack(dot)


@compiled
def _vstack_push(dot):
    return np.vstack(dot)


@compiled
def _dstack_push(dot):
    return np.dstack(dot)


@compiled
def _column_stack_push(dot):
    return np.column_stack(dot)


def _arrays(*shapes, tail=()):
    return lambda rng: (tuple(rng.normal(size=s) for s in shapes), *tail)


register(
    ArrayRule(
        functions=(np.concatenate,),
        params="arrays, axis=0",
        push={"arrays": _concatenate_push},
        pull={"arrays": _join_pull("arrays", lambda item: "axis", lambda item, k: f"arrays_shape[{k}][axis]")},
        cases=(
            _arrays((3,), (2,)),
            _arrays((2, 3), (1, 3), (2, 3)),
            _arrays((2, 3), (2, 1), tail=(1,)),
            _arrays((2, 3), (2, 1), tail=(-1,)),
            _arrays((0,), (2,)),
        ),
    )
)
register(
    ArrayRule(
        functions=(np.stack,),
        params="arrays, axis=0",
        push={"arrays": _stack_push},
        pull={"arrays": _join_pull("arrays", lambda item: "axis", lambda item, k: "1")},
        cases=(_arrays((3,), (3,)), _arrays((2, 3), (2, 3), tail=(1,)), _arrays((2, 3), (2, 3), (2, 3), tail=(-1,))),
    )
)
register(
    ArrayRule(
        functions=(np.hstack,),
        params="tup",
        push={"tup": _hstack_push},
        pull={
            "tup": _join_pull(
                "tup",
                lambda item: str(min(item.ndim - 1, 1)) if item.ndim else "0",
                lambda item, k: "1" if item.ndim == 0 else f"tup_shape[{k}][{min(item.ndim - 1, 1)}]",
            )
        },
        cases=(_arrays((3,), (2,)), _arrays((2, 3), (2, 1))),
    )
)
register(
    ArrayRule(
        functions=tuple(dict.fromkeys((np.vstack, getattr(np, "row_stack", np.vstack)))),
        params="tup",
        push={"tup": _vstack_push},
        pull={
            "tup": _join_pull("tup", lambda item: "0", lambda item, k: "1" if item.ndim < 2 else f"tup_shape[{k}][0]")
        },
        cases=(_arrays((3,), (3,)), _arrays((2, 3), (1, 3))),
    )
)
register(
    ArrayRule(
        functions=(np.dstack,),
        params="tup",
        push={"tup": _dstack_push},
        pull={
            "tup": _join_pull("tup", lambda item: "2", lambda item, k: "1" if item.ndim < 3 else f"tup_shape[{k}][2]")
        },
        cases=(_arrays((3,), (3,)), _arrays((2, 3), (2, 3)), _arrays((2, 3, 1), (2, 3, 2))),
    )
)
register(
    ArrayRule(
        functions=(np.column_stack,),
        params="tup",
        push={"tup": _column_stack_push},
        pull={
            "tup": _join_pull("tup", lambda item: "1", lambda item, k: "1" if item.ndim < 2 else f"tup_shape[{k}][1]")
        },
        cases=(_arrays((3,), (3,)), _arrays((3, 2), (3,)), _arrays((3, 2), (3, 1))),
    )
)

# ----- broadcast_arrays ----------------------------------------------------------------------------


def _broadcast_arrays(types):
    items = [f"a{k}" for k in range(len(types["args"].types))]
    lines = [f"def broadcast_arrays({', '.join(items)}):"]
    lines += [f"    {x} = np.asarray({x})" for x, t in zip(items, types["args"].types, strict=True) if not is_array(t)]
    lines.append(f"    shape = np.broadcast_shapes({', '.join(f'{x}.shape' for x in items)})")
    results = ", ".join(f"np.broadcast_to({x}, shape)" for x in items)
    lines.append(f"    return [{results}]" if isinstance(types["out"], nbtypes.List) else f"    return ({results},)")
    return generated("broadcast_arrays", "\n".join(lines) + "\n")


register(
    RewriteRule(
        functions=(np.broadcast_arrays,),
        params="*args",
        implementation=Choose(_broadcast_arrays),
        cases=(lambda rng: (rng.normal(size=3), rng.normal(size=(2, 1))),),
    )
)

# ----- array of a list or tuple --------------------------------------------------------------------


def _depth(t):
    """How deep lists or tuples nest before numbers come; None where something else comes."""
    if is_number(t):
        return 0
    if isinstance(t, (nbtypes.List, nbtypes.ListType)):
        inner = _depth(t.dtype)
        return None if inner is None else inner + 1
    if isinstance(t, nbtypes.BaseTuple) and len(t.types):
        inner = {_depth(item) for item in t.types}
        return None if len(inner) != 1 or None in inner else inner.pop() + 1
    return None


def _unstack(t, text, level):
    """Source text of `text` (an array, indexed so far) as a structure of this type."""
    if is_number(t):
        return text
    if isinstance(t, nbtypes.BaseTuple):
        return (
            "("
            + "".join(_unstack(item, _index(text, str(k)), level + 1) + ", " for k, item in enumerate(t.types))
            + ")"
        )
    i = f"i{level}"
    return f"[{_unstack(t.dtype, _index(text, i), level + 1)} for {i} in range(ct.shape[{level}])]"


def _index(text, i):
    return f"{text[:-1]}, {i}]" if text.endswith("]") else f"{text}[{i}]"


def _array_pull(param):
    def choose(types):
        t = types[param]
        if is_array(t):
            return copy_pull
        if is_number(t):
            return _scalar_pull
        return generated("array_pull", f"def array_pull(ct):\n    return {_unstack(t, 'ct', 0)}\n")

    return Choose(choose)


@compiled
def _scalar_pull(ct):
    return ct.item()


@compiled
def _array_push(dot, out_dtype):
    return np.array(dot, out_dtype)


@compiled
def _asarray_push(dot, out_dtype):
    return np.asarray(dot, out_dtype)


def _source(types):
    """The type of what the array is made of: both functions name it their own way."""
    return types["object"] if "object" in types else types["a"]


def _array_tangent(types):
    t = _source(types)
    return copy if is_array(t) else _asarray_push if is_number(t) else _array_push


def _fill(t, text, at, depth):
    """Lines that store the vectors in a list or tuple into ``out``."""
    pad = "    " * depth
    index = ", ".join(at)
    if is_number(t):
        return [f"{pad}out[{index}] = {text if isinstance(t, nbtypes.Float) else 'zero'}"]
    if isinstance(t, nbtypes.BaseTuple):
        parts = [_fill(item, f"{text}[{k}]", [*at, str(k)], depth) for k, item in enumerate(t.types)]
        return [line for part in parts for line in part]
    i = f"i{len(at)}"
    return [f"{pad}for {i} in range(len({text})):", *_fill(t.dtype, f"{text}[{i}]", [*at, i], depth + 1)]


def _array_vectors(types):
    t, out = _source(types), types["out"]
    if is_array(t) or is_number(t):
        return copy_vectors if is_array(t) and t.dtype == out.dtype else None
    lengths = ", ".join(f"len(dot{'[0]' * level})" for level in range(_depth(t)))
    head = ["def array_vectors(dot):", "    zero = zero_of(dot)", f"    out = empty_like(np.empty(({lengths},)), zero)"]
    source = "\n".join([*head, *_fill(t, "dot", [], 1), "    return out", ""])
    return _wide(source) if all(leaf == out.dtype for leaf in _floats(t)) else None


@functools.cache
def _wide(source):
    return wide(generated("array_vectors", source, zero_of=zero_of, empty_like=empty_like).py_func)


def _floats(t):
    """The types of the floats in lists and tuples."""
    items = t.types if isinstance(t, nbtypes.BaseTuple) else (t.dtype,) if not is_number(t) else ()
    return [t] if isinstance(t, nbtypes.Float) else [leaf for item in items for leaf in _floats(item)]


def _buildable(types):
    t = _source(types)
    return is_array(t) or _depth(t) is not None


_LISTS = (
    lambda rng: ((1.5, -2.0, 3.0),),
    lambda rng: (((1.5, -2.0), (3.0, 0.5)),),
    lambda rng: ([1.5, -2.0, 3.0],),
)
register(
    ArrayRule(
        functions=(np.array,),
        params="object, dtype=None",
        when=_buildable,
        push={"object": Choose(_array_tangent)},
        push_vectors={"object": Choose(_array_vectors)},
        pull={"object": _array_pull("object")},
        cases=_LISTS,
    )
)
register(
    ArrayRule(
        functions=(np.asarray, np.asarray_chkfinite),
        params="a, dtype=None",
        when=_buildable,
        push={"a": Choose(_array_tangent)},
        push_vectors={"a": Choose(_array_vectors)},
        pull={"a": _array_pull("a")},
        cases=(_LISTS[0],),
        view=lambda t: takes_array(t) and (is_none(t.get("dtype")) or t["a"].dtype == t["out"].dtype),
    )
)
