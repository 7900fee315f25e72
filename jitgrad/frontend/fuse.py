"""Elementwise array expressions become `Map` operations.

Each operator or ufunc on arrays becomes a `Map` of one scalar operation. A map whose only user is
another map in the same block is merged into it when nothing in between could write to its inputs, so
that an expression like ``np.tanh(x @ w + b) * y`` is one loop without temporaries. As in Numba's own
array expressions, scalar operations inside a map follow Numba's scalar typing.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np
from numba.core import types
from numba.core.registry import cpu_target
from numba.np.ufunc.dufunc import DUFunc

from jitgrad.program import ir
from jitgrad.program.clone import clone_block, replace_values

ELEMENTWISE = {
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.and_, operator.or_,
    operator.xor, operator.lshift, operator.rshift, operator.neg, operator.pos, operator.invert,
}  # fmt: skip
# Functions that are no ufuncs, with their argument counts.
FUNCTIONS = {np.where: 3, np.clip: 3, abs: 1, np.angle: 1, np.nan_to_num: 1, np.sinc: 1}
METHODS = {"conj": np.conjugate, "conjugate": np.conjugate, "clip": np.clip}  # methods that are an elementwise function
WRITING_FUNCTIONS = {
    np.fill_diagonal, np.copyto, np.put, np.place, np.put_along_axis, np.random.shuffle, operator.delitem, setattr,
    next,
}  # fmt: skip
WRITING_METHODS = {
    "sort", "fill", "append", "extend", "insert", "pop", "resize", "partition", "itemset", "clear", "update", "add",
    "remove", "reverse", "shuffle", "setdefault", "discard",
}  # fmt: skip


def fuse(program: ir.Program, inliner: Any) -> None:
    """Replace elementwise array operations in `program` by maps, in place.

    Parameters
    ----------
    program : Program
    inliner : Inliner
        Reads the scalar function of a `@vectorize` ufunc.
    """
    fuser = _Fuser(inliner)
    fuser.block(program.body)
    replace_values(program.body, fuser.renamed)
    program.result = fuser.renamed.get(program.result, program.result)
    _merge_maps(program)


class _Fuser:
    """Turns single operations into maps."""

    def __init__(self, inliner: Any):
        self.inliner = inliner
        self.renamed: dict[ir.Value, ir.Value] = {}

    def block(self, block: ir.Block) -> None:
        ops = []
        for op in block.ops:
            for inner in op.blocks:
                self.block(inner)
            if isinstance(op, ir.Method) and op.name in METHODS and _is_array(op.obj.type):
                op = ir.Call(op.result, METHODS[op.name], [op.obj, *op.args], dict(op.kwargs), loc=op.loc)
            if isinstance(op, ir.Call) and op.fn is np.clip:
                _by_position(op)
                _with_bounds(op)
            if _is_elementwise(op) and any(_is_single(v.type) for v in op.operands):
                ops += self._of_singles(op)
            else:
                ops.append(self.map_of(op) or op)
        block.ops = ops

    def _of_singles(self, op: Any) -> list[ir.Op]:
        """What `op` does when its operands without axes are loaded first: they are numbers to all that follows."""
        loads: dict[ir.Value, ir.Op] = {}
        for value in op.operands:
            if _is_single(value.type):
                loads[value] = ir.GetItem(ir.Value(value.name, value.type.dtype), value, (), loc=op.loc)
        operands = [loads[v].results[0] if v in loads else v for v in op.operands]
        if _is_array(op.result.type):
            made = self._map(op, operands)
            return [*loads.values(), made] if made is not None else [op]
        body = ir.Block()
        output = self._scalar_op(op, operands, body)
        if output is None or _is_single(op.result.type):
            return [op]
        body.ops.append(ir.Cast(op.result, output, loc=op.loc))
        return [*loads.values(), *body.ops]

    def map_of(self, op: ir.Op) -> ir.Map | None:
        """The map that computes what `op` does, or None."""
        result = getattr(op, "result", None)
        if result is None or not _is_array(result.type) or not all(_is_element_source(v.type) for v in op.operands):
            return None
        return self._map(op, op.operands) if _is_elementwise(op) else None

    def _map(self, op: Any, operands: list[ir.Value]) -> ir.Map | None:
        """The map that does what the elementwise operation `op` does to these operands."""
        result = op.result
        if not any(_is_array(v.type) for v in operands):
            return None
        inputs = [v for v in dict.fromkeys(operands) if not isinstance(v, ir.Literal)]
        params = [ir.Value(_element_name(v), _element_type(v.type)) for v in inputs]
        scalars = dict(zip(inputs, params, strict=True))
        body = ir.Block()
        output = self._scalar_op(op, [scalars.get(v, v) for v in operands], body)
        if output is None:
            return None
        wanted = result.type.dtype
        if output.type != wanted:
            cast = ir.Cast(ir.Value("t", wanted), output, loc=op.loc)
            body.ops.append(cast)
            output = cast.result
        return ir.Map(result, inputs, params, body, output, loc=op.loc)

    def _scalar_op(
        self, op: ir.Unary | ir.Binary | ir.Call, operands: list[ir.Value], body: ir.Block
    ) -> ir.Value | None:
        """Append the scalar form of `op` to `body`; returns its result."""
        name = op.result.name if not _is_array(op.result.type) else "t"
        if isinstance(op, ir.Call) and isinstance(op.fn, DUFunc):
            return self._vectorized(op, operands, body)
        type_ = _scalar_type(op.fn, operands)
        if type_ is None:
            return None
        result = ir.Value(name, type_)
        match op:
            case ir.Binary():
                scalar: ir.Op = ir.Binary(result, op.fn, operands[0], operands[1], loc=op.loc)
            case ir.Unary():
                scalar = ir.Unary(result, op.fn, *operands, loc=op.loc)
            case _:
                scalar = ir.Call(result, op.fn, operands, loc=op.loc)
        body.ops.append(scalar)
        return result

    def _vectorized(self, op: ir.Call, operands: list[ir.Value], body: ir.Block) -> ir.Value | None:
        """The scalar function of a `@vectorize` ufunc, when it has no branches or loops."""
        program = self.inliner.program(op.fn._dispatcher.py_func, tuple(v.type for v in operands))
        if any(inner.blocks or isinstance(inner, ir.Raise) for inner in ir.walk(program.body)):
            return None
        values = dict(zip(program.params, operands, strict=True))
        body.ops += clone_block(program.body, values).ops
        return values.get(program.result, program.result)


def _is_array(type_: types.Type) -> bool:
    return isinstance(type_, types.Array) and type_.ndim > 0 and isinstance(type_.dtype, (types.Number, types.Boolean))


def _is_single(type_: types.Type) -> bool:
    """An array without axes."""
    return isinstance(type_, types.Array) and type_.ndim == 0 and isinstance(type_.dtype, (types.Number, types.Boolean))


def _by_position(op: ir.Call) -> None:
    """Pass keyword arguments by position, where that leaves no gap."""
    names = list(inspect.signature(op.fn).parameters)[len(op.args) : len(op.args) + len(op.kwargs)]
    if set(names) == set(op.kwargs):
        op.args, op.kwargs = [*op.args, *(op.kwargs[name] for name in names)], {}


def _with_bounds(op: ir.Call) -> None:
    """``np.clip(x, None, b)`` as ``np.clip(x, -inf, b)``, and so for the other bound."""
    if _is_array(op.result.type) and isinstance(op.result.type.dtype, types.Float):
        for k, bound in ((1, -np.inf), (2, np.inf)):
            if len(op.args) == 3 and isinstance(op.args[k].type, types.NoneType):
                op.args[k] = ir.Literal("t", op.result.type.dtype, bound)


def _is_elementwise(op: ir.Op) -> bool:
    match op:
        case ir.Binary(fn=fn) | ir.Unary(fn=fn):
            return fn in ELEMENTWISE
        case ir.Call() if not op.kwargs:
            return _is_elementwise_function(op.fn, len(op.args))
    return False


def _is_element_source(type_: types.Type) -> bool:
    return _is_array(type_) or isinstance(type_, (types.Number, types.Boolean))


def _element_type(type_: types.Type) -> types.Type:
    return type_.dtype if isinstance(type_, types.Array) else type_


def _element_name(value: ir.Value) -> str:
    return "t" if value.name == "t" else f"{value.name}_k" if _is_array(value.type) else value.name


def _is_elementwise_function(fn: Any, count: int) -> bool:
    if isinstance(fn, (np.ufunc, DUFunc)):
        return fn.nin == count and fn.nout == 1 and getattr(fn, "signature", None) is None
    return any(fn is known and count == number for known, number in FUNCTIONS.items())


def _scalar_type(fn: Any, operands: list[ir.Value]) -> types.Type | None:
    """The type that Numba gives ``fn`` of scalars."""
    context = cpu_target.typing_context
    found = [v.type for v in operands]
    if fn is np.where:
        return context.unify_types(*found[1:])
    if fn is np.clip:
        return context.unify_types(*found)
    signature = context.resolve_function_type(context.resolve_value_type(fn), tuple(found), {})
    return None if signature is None else types.unliteral(signature.return_type)


# ----- merging ---------------------------------------------------------------------------------
def _merge_maps(program: ir.Program) -> None:
    uses: dict[ir.Value, int] = {program.result: 1}
    for op in ir.walk(program.body):
        read = [*op.operands]
        match op:
            case ir.If():
                read += [*op.then_yields, *op.else_yields]
            case ir.Loop():
                read += [*op.yields]
        for value in read:
            uses[value] = uses.get(value, 0) + 1
    _merge_in(program.body, uses)


def _merge_in(block: ir.Block, uses: dict[ir.Value, int]) -> None:
    """Merge each map of `block` into the map that alone uses it."""
    ops: list[ir.Op] = []
    for op in block.ops:
        for inner in op.blocks:
            _merge_in(inner, uses)
        if isinstance(op, ir.Map):
            while _absorb_one(op, ops, uses):
                pass
            _order_inputs(op)
        ops.append(op)
    block.ops = ops


def _absorb_one(op: ir.Map, before: list[ir.Op], uses: dict[ir.Value, int]) -> bool:
    """Take one producer of `op` out of `before` and into `op`."""
    for place in range(len(before) - 1, -1, -1):
        producer = before[place]
        if not isinstance(producer, ir.Map) or producer.result not in op.inputs or uses.get(producer.result) != 1:
            continue
        if producer.result.type.ndim != op.result.type.ndim:  # a smaller array would be computed again for each element
            continue
        if any(_may_write(between, producer) for between in before[place + 1 :]):
            continue
        del before[place]
        _absorb(op, producer)
        return True
    return False


def _absorb(op: ir.Map, producer: ir.Map) -> None:
    at = op.inputs.index(producer.result)
    param = op.params[at]
    del op.inputs[at], op.params[at]
    known = dict(zip(op.inputs, op.params, strict=True))
    renamed = {}
    for value, scalar in zip(producer.inputs, producer.params, strict=True):
        if value in known:
            renamed[scalar] = known[value]
        else:
            op.inputs.append(value)
            op.params.append(scalar)
    if param.name != "t" and producer.output.name == "t" and not isinstance(producer.output, ir.Literal):
        producer.output.name = param.name
    renamed[param] = renamed.get(producer.output, producer.output)
    op.body.ops = producer.body.ops + op.body.ops
    replace_values(op.body, renamed)
    op.output = renamed.get(op.output, op.output)


def _order_inputs(op: ir.Map) -> None:
    """List the inputs in the order in which the body reads them."""
    read = [v for inner in op.body.ops for v in inner.operands]
    first = {value: place for place, value in reversed(list(enumerate(read)))}
    pairs = sorted(zip(op.inputs, op.params, strict=True), key=lambda pair: first.get(pair[1], len(first)))
    op.inputs, op.params = [value for value, _ in pairs], [param for _, param in pairs]


def _may_write(op: ir.Op, producer: ir.Map) -> bool:
    """Whether `op` could change an array that `producer` reads."""
    arrays = [v for v in producer.inputs if _is_array(v.type)]
    match op:
        case ir.SetItem():
            written = op.base.type
        case ir.InplaceBinary():
            written = op.lhs.type
        case ir.SetAttr():
            return True
        case ir.If() | ir.Loop():
            return any(_may_write(inner, producer) for block in op.blocks for inner in block.ops)
        case ir.Method():
            if op.name not in WRITING_METHODS and ir.output(op) is None:
                return False
            written = op.obj.type
        case ir.Call():
            module = (getattr(op.fn, "__module__", None) or "").split(".")[0]
            known = isinstance(op.fn, np.ufunc) or module in ("numpy", "math", "cmath", "builtins")
            if known and not any(op.fn is writing for writing in WRITING_FUNCTIONS):
                return ir.output(op) is not None
            return any(not isinstance(v.type, (types.Number, types.Boolean)) for v in op.operands)
        case ir.CallValue():
            return True
        case _:
            return False
    # Only arrays of one dtype can share memory, short of reinterpreting views; `.real` is a view of a complex array,
    # a field one of records.
    if not isinstance(written, types.Array) or isinstance(written.dtype, types.Record):
        return True
    return any(ir.memory_dtype(v.type) == ir.memory_dtype(written) for v in arrays)
