"""Pullbacks of reads, writes and views of array memory.

Load ``x = a[i]``: ``a_bar[i] += x_bar``. Store ``a[i] = x``: ``x_bar += a_bar[i]; a_bar[i] = 0``. A view
has no pullback: its adjoint is the same view of the base's adjoint.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from numba.core import types

from jitgrad.program import ir
from jitgrad.runtime import arrays as runtime
from jitgrad.transforms.reverse import lists
from jitgrad.transforms.reverse.leaves import is_array

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def advanced(index: tuple[ir.IndexItem, ...]) -> list[int]:
    """Positions of the index arrays and masks in an index."""
    return [k for k, item in enumerate(index) if isinstance(item, ir.Value) and isinstance(item.type, types.Array)]


def view_text(sweep: Sweep, op: ir.Op, base: str) -> str:
    """The text of the view that `op` makes, of another array of the same shape."""
    need = sweep.saved.need
    match op:
        case ir.GetItem():
            return f"{base}[{sweep.index(op.index)}]"
        case ir.GetAttr():
            return f"{base}.{op.attr}"
        case ir.Method():
            for value in (*op.args, *op.kwargs.values()):
                need(value)
            return f"{base}.{op.name}({sweep.writer.arguments(op)})"
        case ir.Call():
            rest = [need(v) for v in op.args[1:]] + [f"{k}={need(v)}" for k, v in op.kwargs.items()]
            return f"{sweep.writer.use(op.fn, op.fn.__name__)}({', '.join([base, *rest])})"
    raise TypeError(f"{type(op).__name__} makes no view")


def load(sweep: Sweep, op: ir.GetItem) -> None:
    """``x = a[i]``."""
    if sweep.memory.view_of(op.result) is op:
        return
    ct = sweep.adjoints.take(op.result)
    if ct is None or not sweep.is_active(op.base):
        return
    buffer = sweep.adjoints.start(op.base)
    if not is_array(op.result.type):
        if isinstance(op.result.type, types.Record):
            raise sweep.fail(op, "a structured array is differentiated", "pass its fields as separate arrays")
        sweep.writer.line(f"{buffer}[{sweep.index(op.index)}] += {ct}", op.loc)
        return
    if len(op.index) > 1:
        fn, view, selectors, _ = _mixed(sweep, op, "add", buffer)
        sweep.writer.line(f"{fn}({view}, {ct}, {selectors})", op.loc)
        return
    fn, selector = _advanced(sweep, op, "add")
    sweep.writer.line(f"{fn}({buffer}, {selector}, {ct})", op.loc)


def store(sweep: Sweep, op: ir.SetItem) -> None:
    """``a[i] = x``."""
    if not sweep.is_active(op.base):
        return
    if lists.is_list(op.base.type):
        lists.store(sweep, op)
        return
    if not is_array(op.base.type):
        raise sweep.fail(
            op, f"an element of a {op.base.type} is assigned, which reverse mode does not follow",
            "use an array there",
        )  # fmt: skip
    adjoints, writer = sweep.adjoints, sweep.writer
    buffer = adjoints.start(op.base)
    term = _increment(sweep, op)
    if term is not None:
        value, sign = term
        adjoints.add(value, f"{sign}{buffer}[{sweep.index(op.index)}]")
        return
    if advanced(op.index):
        _store_advanced(sweep, op, buffer)
        return
    index = op.index
    if len(index) == 1 and isinstance(index[0], ir.Literal) and index[0].value is Ellipsis:
        index = tuple(_written_out(index, op.base.type.ndim))  # Numba has no getitem for all layouts
    target = f"{buffer}[{sweep.index(index)}]"
    zero = f"{target} = {adjoints.zero(op.base.type.dtype)}"
    if not sweep.is_active(op.value) or not is_array(op.value.type):
        if sweep.is_active(op.value):
            adjoints.add(op.value, f"{target}.sum()" if _region_ndim(op) > 0 else target)
        writer.line(zero, op.loc)
        return
    # zero first: what is stored may be a part of the same memory
    ct = writer.fresh("ct")
    writer.line(f"{ct} = {target}.copy()", op.loc)
    writer.line(zero)
    add_reduced(sweep, op.value, ct, _region_ndim(op))


def _region_ndim(op: ir.SetItem) -> int:
    """The number of axes that a store with a basic index covers."""
    taken = 0
    new = 0
    for item in op.index:
        if isinstance(item, ir.Literal) and item.value is None:
            new += 1
        elif isinstance(item, ir.Value) and isinstance(item.type, types.Integer):
            taken += 1
        elif isinstance(item, ir.Value) and isinstance(item.type, types.BaseTuple):
            taken += sum(isinstance(t, types.Integer) for t in item.type)
    return op.base.type.ndim - taken + new


def add_reduced(sweep: Sweep, value: ir.Value, ct: str, ndim: int, sign: str = "+") -> None:
    """Add (or subtract) a cotangent of `ndim` axes to the adjoint of an array that was broadcast to it."""
    buffer = sweep.adjoints.start(value)
    made = runtime.add_reduced(ndim, value.type.ndim, sign)
    fn = sweep.writer.use(made, made.__name__)
    sweep.writer.line(f"{fn}({buffer}, {ct})")


def _increment(sweep: Sweep, op: ir.SetItem) -> tuple[ir.Value, str] | None:
    """``(e, sign)`` when the store is ``a[i] = a[i] + e``: the adjoint of ``a[i]`` stays as it is."""
    scopes = sweep.scopes
    total = scopes.definition.get(op.value)
    if not isinstance(total, ir.Binary) or total.fn not in (operator.add, operator.sub) or is_array(op.value.type):
        return None
    if not sweep.is_active(op.value) or op.value.type != op.base.type.dtype:
        return None
    sides = [(total.lhs, total.rhs, "" if total.fn is operator.add else "-")]
    if total.fn is operator.add:
        sides.append((total.rhs, total.lhs, ""))
    for old, term, sign in sides:
        read = scopes.definition.get(old)
        if not (isinstance(read, ir.GetItem) and read.base is op.base and same_index(read.index, op.index)):
            continue
        if len(scopes.uses[old]) != 1 or len(scopes.uses[op.value]) != 1:
            continue
        if scopes.at[read] is not scopes.at[op] or scopes.at[total] is not scopes.at[op]:
            continue
        between = range(scopes.order[read], scopes.order[op])
        if any(scopes.order[other] in between for other in sweep.memory.stores_of(op.base) if other is not op):
            continue
        if isinstance(term, ir.Literal) or not sweep.is_active(term):
            term = ir.Literal("0", types.float64, 0.0)
        return term, sign
    return None


def same_index(a: tuple[ir.IndexItem, ...], b: tuple[ir.IndexItem, ...]) -> bool:
    def same(x: ir.IndexItem, y: ir.IndexItem) -> bool:
        if isinstance(x, ir.Literal) and isinstance(y, ir.Literal):
            return x.value == y.value
        return x is y

    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


def inplace(sweep: Sweep, op: ir.InplaceBinary) -> None:
    """``a op= b`` on an array."""
    if not sweep.is_active(op.lhs):
        return
    if not is_array(op.lhs.type):
        raise sweep.fail(op, f"a {op.lhs.type} is changed in place", "use an array there")
    adjoints, writer, saved = sweep.adjoints, sweep.writer, sweep.saved
    buffer = adjoints.start(op.lhs)
    ndim = op.lhs.type.ndim

    def contribute(ct: str, sign: str = "+") -> None:
        if not sweep.is_active(op.rhs):
            return
        if is_array(op.rhs.type):
            add_reduced(sweep, op.rhs, ct, ndim, sign)
        else:
            adjoints.add(op.rhs, f"{sign.strip('+')}({ct}).sum()")

    if op.fn in (operator.add, operator.sub):
        contribute(buffer, "+" if op.fn is operator.add else "-")
        return
    if is_array(op.rhs.type) and op.rhs is not op.lhs and sweep.memory.root(op.rhs) is sweep.memory.root(op.lhs):
        raise sweep.fail(op, "an array is changed in place by a part of itself", "copy that part first")
    if op.fn in (operator.mul, operator.truediv):
        rhs = saved.need_content(op.rhs, op)
        if sweep.is_active(op.rhs):
            old = saved.need(
                saved.derive(op, "before", f"{op.lhs.name}_old", types.Array(op.lhs.type.dtype, ndim, "C"), op.lhs,
                             "{}.copy()")
            )  # fmt: skip
            contribute(f"{buffer} * {old}" if op.fn is operator.mul else f"-{buffer} * {old} / ({rhs} * {rhs})")
        writer.line(f"{buffer} {'*' if op.fn is operator.mul else '/'}= {rhs}", op.loc)
    else:
        raise sweep.fail(
            op, f"`{op.fn.__name__}` in place on an array has no reverse-mode derivative",
            "write a[:] = a <op> b",
        )  # fmt: skip


def _advanced(sweep: Sweep, op: ir.GetItem | ir.SetItem, action: str) -> tuple[str, str]:
    """The helper for an index that is one index array or mask, and the text of that selector."""
    (selector,) = op.index
    assert isinstance(selector, ir.Value)
    is_mask = isinstance(selector.type.dtype, types.Boolean)
    name = f"{action}_{'where' if is_mask else 'at'}"
    fn = sweep.writer.use(runtime.advanced(name, op.base.type.ndim, selector.type.ndim), name)
    return fn, sweep.saved.need_content(selector, op)


def _mixed(sweep: Sweep, op: ir.GetItem | ir.SetItem, action: str, buffer: str) -> tuple[str, str, str, int]:
    """For index arrays among other items: the helper, the view of `buffer` it works on, the text of the selectors,
    and the number of axes of the result.

    The view has all axes; slices are taken, and selectors are left to the helper.
    """  # fmt: skip
    items: list[int | str] = []
    view, selectors = [], []
    for item in _written_out(op.index, op.base.type.ndim):
        if isinstance(item, ir.Slice):
            items.append("axis")
            view.append(sweep.index((item,)))
        elif isinstance(item, ir.Literal) and item.value is None:
            items.append("new")
        elif isinstance(item.type, types.Array) and item.type.ndim > 0:
            text = sweep.saved.need_content(item, op)
            if isinstance(item.type.dtype, types.Boolean):
                if item.type.ndim > 1:
                    raise sweep.fail(
                        op, "a mask of several axes beside other items of an index has no reverse-mode derivative",
                        "index with the mask alone",
                    )  # fmt: skip
                text = f"{text}.nonzero()[0]"
            items.append(item.type.ndim)
            view.append(":")
            selectors.append(text)
        elif isinstance(item.type, types.Integer):
            items.append(0)
            view.append(":")
            selectors.append(sweep.saved.need(item))
        else:
            raise sweep.fail(
                op, f"a {item.type} beside an index array has no reverse-mode derivative", "write its items out"
            )  # fmt: skip
    fn = sweep.writer.use(runtime.mixed(action, tuple(items)), f"{action}_mixed")
    ndim = sum(isinstance(item, str) for item in items) + max(item for item in items if isinstance(item, int))
    return fn, f"{buffer}[{', '.join(view)}]", ", ".join(selectors), ndim


def _written_out(index: tuple[ir.IndexItem, ...], ndim: int) -> list[ir.IndexItem]:
    """An index with an item for every axis: whole axes in the place of an ellipsis, or at the end."""

    def taken(item: ir.IndexItem) -> int:
        if (
            isinstance(item, ir.Value)
            and isinstance(item.type, types.Array)
            and isinstance(item.type.dtype, types.Boolean)
        ):
            return item.type.ndim
        return 0 if isinstance(item, ir.Literal) and item.value in (None, Ellipsis) else 1

    whole = [ir.Slice()] * (ndim - sum(map(taken, index)))
    for k, item in enumerate(index):
        if isinstance(item, ir.Literal) and item.value is Ellipsis:
            return [*index[:k], *whole, *index[k + 1 :]]
    return [*index, *whole]


def _store_advanced(sweep: Sweep, op: ir.SetItem, buffer: str) -> None:
    """``a[indices] = x``: each element goes back to what was last stored there."""
    writer = sweep.writer
    if len(op.index) > 1:
        fn, view, selectors, ndim = _mixed(sweep, op, "take", buffer)
        call = f"{fn}({view}, {selectors})"
    else:
        fn, selector = _advanced(sweep, op, "take")
        call = f"{fn}({buffer}, {selector})"
        (selector_type,) = (v.type for v in ir.index_values(op.index))
        taken = selector_type.ndim if isinstance(selector_type.dtype, types.Boolean) else 1
        ndim = op.base.type.ndim - taken + 1
    ct = writer.fresh("ct")
    writer.line(f"{ct} = {call}", op.loc)
    if not sweep.is_active(op.value):
        return
    if is_array(op.value.type):
        add_reduced(sweep, op.value, ct, ndim)
    else:
        sweep.adjoints.add(op.value, f"{ct}.sum()")
