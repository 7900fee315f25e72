"""The generated function: its signature, the tangents that come in, the results that go out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import types

from jitgrad import rules
from jitgrad.analysis import structure
from jitgrad.analysis.activity import Activity, Cell, Tree, leaves, star_parameter
from jitgrad.analysis.liveness import Variables
from jitgrad.program import ir
from jitgrad.runtime.shapes import overlap
from jitgrad.transforms.forward import calls, elementwise, memory, zeros
from jitgrad.transforms.forward.emitter import Emitter
from jitgrad.transforms.forward.tangents import Numbers
from jitgrad.transforms.forward.vectors import Vectors
from jitgrad.transforms.forward.writer import DualWriter
from jitgrad.transforms.refusals import overlapping, refuse
from jitgrad.transforms.request import Generated, JvpRequest

HANDLERS: dict[type, Callable[..., Any]] = {
    ir.Unary: calls.operation,
    ir.Binary: calls.operation,
    ir.InplaceBinary: calls.inplace,
    ir.Call: calls.call,
    ir.CallValue: calls.call_value,
    ir.Method: calls.method,
    ir.Map: elementwise.emit,
    ir.GetItem: memory.getitem,
    ir.SetItem: memory.setitem,
    ir.GetAttr: memory.getattr_,
    ir.SetAttr: memory.setattr_,
    ir.BuildTuple: memory.build_tuple,
    ir.BuildList: memory.build_list,
    ir.BuildMap: memory.build_opaque,
    ir.BuildSet: memory.build_opaque,
    ir.Cast: memory.cast,
    ir.Raise: Emitter.primal,
    ir.Print: Emitter.primal,
}


def emit(program: ir.Program, request: JvpRequest, kind: Numbers | None = None) -> Generated:
    """Generate ``jvp_f(tangents, *args) -> (out, out_dot)``.

    Parameters
    ----------
    program : Program
    request : JvpRequest
    kind : Numbers, optional
        What a tangent is; by default what the width of the request says.

    Raises
    ------
    NoRuleError, UnsupportedError
        Where an operation that takes part in the derivative has none.
    Unsuitable
        Where this program's tangents cannot be of this kind.
    """
    inplace = request.inplace
    activity = Activity(program, request.wrt, request.outs, inplace)
    refuse(program, activity)
    outs = positions(program, request.outs or ())
    writer = DualWriter(Variables(program, keep=[param for param, _ in outs]))
    e = Emitter(program, activity, writer, HANDLERS, kind or tangents_of(request))
    e.algebra.check(program, activity)

    parameters = [writer.reserve(name) for name in program.signature.parameters]
    for value, name in zip(program.params, parameters, strict=True):
        writer.alias(value, name)
    writer.legalised = bool(program.options.get("parallel"))
    tangents = writer.fresh("tangents")
    name = writer.fresh(f"{e.algebra.prefix}_{program.name}")
    for helper in rules.kernels_namespace():
        writer.keep_free(helper)
    with writer.indented(f"def {name}({', '.join([tangents, *_signature(e)])}):"):
        if not inplace:
            _refuse_overlaps(e)
        _enter(e, request.wrt, tangents, inplace)
        e.block(program.body)
        _leave(e, outs)
    return Generated(writer.source(), writer.namespace, name, tuple(e.rules))


def tangents_of(request: JvpRequest) -> Numbers:
    """The kind of tangent that a request asks for."""
    return Numbers() if request.width == 1 else Vectors(request.width)


def _signature(e: Emitter) -> list[str]:
    """The parameters of the primal, with defaults."""
    texts = []
    for spec in e.program.signature.parameters.values():
        text = f"*{spec.name}" if spec.kind is spec.VAR_POSITIONAL else spec.name
        if spec.default is not inspect.Parameter.empty:
            text += f"={e.writer.literal(spec.default)}"
        texts.append(text)
    return texts


def positions(program: ir.Program, wanted: tuple[int, ...]) -> list[tuple[ir.Value, int | None]]:
    """Parameter, and place inside ``*args``, of positions of the call."""
    star = star_parameter(program)
    spots: list[tuple[ir.Value, int | None]] = []
    for param in program.params:
        spots += [(param, k) for k in range(len(param.type))] if param is star else [(param, None)]
    return [spots[k] for k in wanted]


def _enter(e: Emitter, wrt: tuple[int, ...], tangents: str, inplace: bool) -> None:
    """Name the tangents of the parameters."""
    given = {spot: f"{tangents}[{k}]" for k, spot in enumerate(positions(e.program, wrt))}
    star = star_parameter(e.program)
    for param in e.program.params:
        if not e.active(param):
            continue
        tree = e.activity.tree(param)
        ty = structure.strip(param.type)
        if param is star:
            assert isinstance(tree, tuple)
            parts = []
            for k, item in enumerate(ty.types):
                if (param, k) in given:
                    parts.append(zeros.passed(e, given[param, k], item, not inplace and _written(tree[k])))
                else:
                    parts.append(zeros.zero_like(e, f"{e.name(param)}[{k}]", item))
            text = zeros.build(e, ty, parts)
        elif (param, None) in given:
            text = zeros.passed(e, given[param, None], ty, not inplace and _written(tree))
        else:
            text = zeros.zero(e, param)
        e.line(f"{e.dot(param)} = {text}")


def _refuse_overlaps(e: Emitter) -> None:
    """Check that array arguments are apart where one is written: analysis and tangents take them as separate."""
    arrays = list(_arrays(e))
    for k, (one, a) in enumerate(arrays):
        for two, b in arrays[k + 1 :]:
            if _matters(e.activity, a, b):
                with e.writer.indented(f"if {e.use(overlap)}({one}, {two}):"):
                    e.line(f"raise ValueError({overlapping(one, two, e.program.name)!r})")


def _arrays(e: Emitter) -> Iterator[tuple[str, Cell]]:
    """The text and the cell of every array among the arguments, in tuples too."""

    def visit(ty: types.Type, tree: Tree, text: str) -> Iterator[tuple[str, Cell]]:
        if isinstance(ty, types.BaseTuple) and isinstance(tree, tuple):
            for k, (item, part) in enumerate(zip(ty, tree, strict=True)):
                yield from visit(item, part, f"{text}[{k}]")
        elif isinstance(tree, Cell) and structure.kind(ty) == structure.ARRAY:
            yield text, tree.find()

    for param in e.program.params:
        yield from visit(structure.strip(param.type), e.activity.tree(param), e.name(param))


def _matters(activity: Activity, a: Cell, b: Cell) -> bool:
    """Whether the derivative would be another one if two arrays were the same memory."""
    return (a.written or b.written) and activity.any_varied((a, b)) and activity.any_useful((a, b))


def _written(tree) -> bool:
    return any(cell.written for cell in leaves(tree))


def _leave(e: Emitter, outs: list[tuple[ir.Value, int | None]]) -> None:
    """Return the results and their tangents."""
    result = e.program.result
    if not outs:
        e.line(f"return ({e.name(result)}, {zeros.returned(e, memory.part(e, result), result.type)})")
        return
    values, dots = [], []
    if not (isinstance(result, ir.Literal) and result.value is None):
        values.append(e.name(result))
        dots.append(zeros.returned(e, memory.part(e, result), result.type))
    for param, k in outs:
        suffix = "" if k is None else f"[{k}]"
        values.append(e.name(param) + suffix)
        ty = structure.strip(param.type)
        ty = ty if k is None else ty.types[k]
        dot = memory.part(e, param) + suffix if e.active(param) else zeros.zero_like(e, values[-1], ty)
        dots.append(zeros.returned(e, dot, ty))
    e.line(f"return ({', '.join(values)},), ({', '.join(dots)},)")
