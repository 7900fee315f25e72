"""The generated function around the two sweeps: its signature, seeds and results."""

from __future__ import annotations

from numba.core import types

from jitgrad.analysis import structure
from jitgrad.backend.structure import has_float
from jitgrad.errors import UnsupportedError
from jitgrad.program import ir
from jitgrad.runtime.arrays import put_number
from jitgrad.runtime.assign import takes
from jitgrad.runtime.shapes import overlap
from jitgrad.transforms.arguments import Argument, arguments, signature_text
from jitgrad.transforms.refusals import overlapping
from jitgrad.transforms.request import Generated, VjpRequest
from jitgrad.transforms.reverse import lists, parallel, replay
from jitgrad.transforms.reverse.forward import ForwardSweep
from jitgrad.transforms.reverse.leaves import Leaf, is_array, is_differentiable, leaves
from jitgrad.transforms.reverse.sweep import Sweep


def emit(program: ir.Program, request: VjpRequest) -> Generated:
    """Generate the reverse-mode derivative of a program.

    Parameters
    ----------
    program : Program
    request : VjpRequest

    Returns
    -------
    Generated
        Source of ``grad_f(*args)`` or ``vjp_f(cotangent, *args)``; see `VjpRequest`.
    """
    sweep, generated = _sweeps(program, request)
    replays = replay.choose(sweep)
    if replays:
        sweep, generated = _sweeps(program, request, replays)
    taped = sweep.saved.redundant()
    return _sweeps(program, request, replays, taped)[1] if taped else generated


def _sweeps(
    program: ir.Program, request: VjpRequest, replays: dict | None = None, taped: frozenset[ir.Value] = frozenset()
) -> tuple[Sweep, Generated]:
    """A sweep and its text, with as many parallel loops as possible."""
    serial: frozenset[ir.Loop] = frozenset()
    while True:
        sweep = Sweep(program, request, replays, serial, taped)
        try:
            return sweep, _write(sweep)
        except parallel.Serial as found:
            serial |= {found.loop}


def _write(sweep: Sweep) -> Generated:
    """Both sweeps and what stands around them."""
    program, request = sweep.program, sweep.request
    call = arguments(program)
    writer = sweep.writer
    prefix = "vjp_" if request.seed == "argument" else "grad_into_" if request.into else "grad_"
    name = writer.fresh(prefix + program.name)
    extra = [writer.fresh("cotangent")] if request.seed == "argument" else [writer.fresh("out")] if request.into else []
    header = f"def {name}({signature_text(writer, program, extra)}):"
    with writer.into(writer.text.suite(header)):
        forward = writer.here.section()
        sweep.open(sweep.scopes.root)
        result = _keep_result(sweep)
        if request.into:
            _use_given(sweep, call, extra[0])
        _seed(sweep, request, call, extra)
        sweep.block(program.body)
        if request.into:
            _fill_given(sweep, call, extra[0])
            gradients = []
        else:
            gradients = [_gradient(sweep, call[k]) for k in request.wrt]
        _return(sweep, request, call, result, gradients)
    with writer.into(forward):
        _refuse_overlaps(sweep, call)
        ForwardSweep(sweep).run()
    return Generated(writer.source(), writer.namespace, name, tuple(sorted(sweep.rules)))


def _given(sweep: Sweep, call: list[Argument], out: str) -> list[tuple[Leaf, str]]:
    """The leaves of the arguments to differentiate, with the text of the array that takes each gradient."""
    request = sweep.request
    found = []
    for i, k in enumerate(request.wrt):
        base = out if request.single else f"{out}[{i}]"
        path = call[k].path
        for leaf in leaves(call[k].value):
            if leaf.path[: len(path)] == path and is_differentiable(leaf.type):
                found.append((leaf, sweep.path_text(base, leaf.path[len(path) :])))
    return found


def _use_given(sweep: Sweep, call: list[Argument], out: str) -> None:
    """Let the adjoints of array arguments be the caller's arrays."""
    writer = sweep.writer
    texts = [sweep.path_text(writer.name(call[k].value), call[k].path) for k in sweep.request.wrt]
    like = texts[0] if sweep.request.single else f"({', '.join(texts)},)"
    writer.line(f"{writer.use(takes, 'takes')}({out}, {like})")
    read = [
        sweep.path_text(writer.name(leaf.value), leaf.path)
        for value in dict.fromkeys(argument.value for argument in call)
        for leaf in leaves(value)
        if is_array(leaf.type)
    ]
    for leaf, text in _given(sweep, call, out):
        message = f"the array for the gradient of {leaf.name} overlaps an argument, or another gradient"
        for other in read:
            with writer.indented(f"if {writer.use(overlap, 'overlap')}({text}, {other}):"):
                writer.line(f"raise ValueError({message!r})")
        read.append(text)
        if is_array(leaf.type):
            value = sweep.path_text(writer.name(leaf.value), leaf.path)
            with writer.indented(f"if {text}.shape != {value}.shape:"):
                writer.line(
                    f"raise ValueError('the array for the gradient of {leaf.name} must have the shape of the argument')"
                )
            sweep.given[leaf] = text


def _fill_given(sweep: Sweep, call: list[Argument], out: str) -> None:
    """What the sweep did not write itself: gradients of numbers, and zeros."""
    writer = sweep.writer
    for leaf, text in _given(sweep, call, out):
        if is_array(leaf.type):
            if not sweep.adjoints.is_set(leaf.value, leaf.path):
                writer.line(f"{text}.fill({sweep.adjoints.zero(leaf.type.dtype)})")
        else:
            ct = sweep.adjoints.take(leaf.value, leaf.path) or sweep.adjoints.zero(leaf.type)
            writer.line(f"{writer.use(put_number, 'put_number')}({text}, {ct})")


def _seed(sweep: Sweep, request: VjpRequest, call: list[Argument], extra: list[str]) -> None:
    """Start the adjoints of the results."""
    result = sweep.program.result
    if request.seed == "one":
        sweep.adjoints.add(result, "1.0", (0,) if request.has_aux else ())
        return
    cotangent = extra[0]
    parts: list[tuple[ir.Value, tuple[int, ...]]] = []
    if request.outs is None or not isinstance(result.type, types.NoneType):
        parts.append((result, ()))
    if request.outs is not None:
        parts += [(call[k].value, call[k].path) for k in request.outs]
    for position, (value, path) in enumerate(parts):
        base = cotangent if request.outs is None else f"{cotangent}[{position}]"
        for leaf in leaves(value):
            if leaf.path[: len(path)] == path and lists.is_list(leaf.type) and has_float(leaf.type):
                if not lists.has_adjoint(leaf.type):
                    raise UnsupportedError(
                        f"the result of {sweep.program.name} holds a {leaf.type}, which reverse mode cannot "
                        "differentiate; return lists of numbers or of arrays, or use jvp"
                    )
            if leaf.path[: len(path)] == path and sweep.active(sweep.adjoints.leaf(value, leaf.path)):
                text = sweep.path_text(base, leaf.path[len(path) :])
                sweep.adjoints.add(value, text, leaf.path, fresh=False)


def _refuse_overlaps(sweep: Sweep, call: list[Argument]) -> None:
    """Arguments that share memory are one array to the primal and two to us: refuse if it writes there.

    Also where neither has an adjoint: the backward sweep may load again what it needs from the one.
    """
    writer = sweep.writer
    arrays = [
        (argument.label + "".join(f"[{k}]" for k in leaf.path[len(argument.path) :]), leaf)
        for argument in call
        for leaf in leaves(argument.value)
        if leaf.path[: len(argument.path)] == argument.path and is_array(leaf.type) and is_differentiable(leaf.type)
    ]
    for k, (label, one) in enumerate(arrays):
        for other_label, other in arrays[k + 1 :]:
            pair = (one, other)
            if not any(map(sweep.written, pair)):
                continue
            text = overlapping(label, other_label, sweep.program.name)
            names = [sweep.path_text(writer.name(leaf.value), leaf.path) for leaf in pair]
            with writer.indented(f"if {writer.use(overlap, 'overlap')}({', '.join(names)}):"):
                writer.line(f"raise ValueError({text!r})")


def _keep_result(sweep: Sweep) -> str:
    """The text of the primal's result, in a variable that the backward sweep does not use."""
    writer, result = sweep.writer, sweep.program.result
    if isinstance(result, ir.Undefined):
        return "None"
    if not isinstance(sweep.scopes.definition.get(result), ir.Loop):
        return writer.name(result)
    value = writer.fresh("value")  # the variable that the loop carries is used again backwards
    writer.line(f"{value} = {writer.name(result)}")
    return value


def _gradient(sweep: Sweep, argument: Argument) -> str:
    """The text of the finished gradient of one argument, in the argument's structure."""

    def build(typ: types.Type, path: tuple[int, ...]) -> str:
        if isinstance(typ, types.BaseTuple):
            items = typ.types if hasattr(typ, "types") else [typ.dtype] * len(typ)
            parts = [build(item, (*path, k)) for k, item in enumerate(items)]
            if isinstance(typ, types.BaseNamedTuple):
                return f"{sweep.writer.use(typ.instance_class, typ.instance_class.__name__)}({', '.join(parts)})"
            return "(" + "".join(part + ", " for part in parts).rstrip() + ")"
        leaf = Leaf(argument.value, path)
        text = sweep.path_text(sweep.writer.name(argument.value), path)
        if sweep.adjoints.is_set(argument.value, path):
            return sweep.adjoints.name(argument.value, path)
        if isinstance(typ, types.Array) and isinstance(typ.dtype, (types.Float, types.Complex)):
            return f"{sweep.np}.zeros({text}.shape, {sweep.dtype(typ.dtype)})"
        if isinstance(leaf.type, (types.Float, types.Complex)):
            return sweep.adjoints.zero(leaf.type)
        if lists.is_list(typ) and lists.has_adjoint(typ):
            return lists.zeros(sweep, argument.value)
        if structure.kind(typ) is not None:
            raise UnsupportedError(
                f"argument {argument.label} of {sweep.program.name} is a {typ}, which reverse mode cannot "
                "differentiate; pass arrays or tuples, or use jvp"
            )
        return "None"

    return build(argument.type, argument.path)


def _return(sweep: Sweep, request: VjpRequest, call: list[Argument], result: str, gradients: list[str]) -> None:
    writer, program = sweep.writer, sweep.program
    if request.into:
        writer.line(f"return {result}" if request.value else "return None")
        return
    grads = gradients[0] if request.single else "(" + "".join(g + ", " for g in gradients).rstrip() + ")"
    if request.seed == "argument":
        if request.outs is not None:
            parts = [] if isinstance(program.result.type, types.NoneType) else [result]
            parts += [sweep.path_text(writer.name(call[k].value), call[k].path) for k in request.outs]
            result = "(" + "".join(part + ", " for part in parts).rstrip() + ")"
        writer.line(f"return {result}, {grads}")
    elif request.has_aux:
        value_text, aux = f"{result}[0]", f"{result}[1]"
        writer.line(f"return ({value_text}, {aux}), {grads}" if request.value else f"return {grads}, {aux}")
    else:
        writer.line(f"return {result}, {grads}" if request.value else f"return {grads}")
