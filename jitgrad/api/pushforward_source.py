"""The source of `pushforward` and of its `into`."""

from __future__ import annotations

from typing import Any

from numba.core import types, utils

from jitgrad.api import mutation
from jitgrad.api.pushforward import Pushforward, PushforwardInto
from jitgrad.backend import checks
from jitgrad.backend.dispatcher import Derivative, derivative
from jitgrad.backend.engine import Forward, Reverse, read
from jitgrad.backend.into import Into, copying, header
from jitgrad.backend.structure import is_float
from jitgrad.backend.writer import Writer
from jitgrad.program import ir
from jitgrad.runtime.assign import assign, takes
from jitgrad.runtime.shapes import overlap
from jitgrad.transforms.arguments import arguments
from jitgrad.transforms.request import Generated, JvpRequest


def generate(push: Pushforward, primal: Any, argtypes: tuple[types.Type, ...]) -> Generated:
    """``pushforward_f(tangents, *args)``, which calls the jvp."""
    checks.check_arguments(primal.__name__, utils.pysignature(primal.py_func), argtypes, push.wrt)
    writer, name = Writer({}), _name("pushforward", primal)
    (tangents,), names = header(writer, push, primal)
    jvp = writer.use(derivative(primal, Forward(JvpRequest(push.wrt, push.outs))), "jvp")
    with writer.indented(f"def {name}({', '.join([tangents, *names])}):"):
        _check_tangents(writer, push, tangents, _arguments(names, argtypes))
        writer.line(f"return {jvp}(({_items(push, tangents)},), {', '.join(names)})")
    return Generated(writer.source(), writer.namespace, name)


def generate_into(into: PushforwardInto, primal: Any, argtypes: tuple[types.Type, ...]) -> Generated:
    """``pushforward_into_f(out, tangents, *args)``, in the way that allocates least."""
    push, signature = into.push, utils.pysignature(primal.py_func)
    checks.check_arguments(primal.__name__, signature, argtypes, push.wrt)
    checks.check_outs(primal.__name__, signature, argtypes, push.outs)
    if not push.outs:
        return _of_gradient(into, primal, argtypes) if _is_gradient(primal, argtypes) else copying(into, primal, push)
    program = read(primal, argtypes)
    if _writes_only(program, push):
        return _of_writer(into, primal, argtypes)
    return _copying(into, primal, int(not isinstance(program.result.type, types.NoneType)))


def _of_gradient(into: PushforwardInto, primal: Derivative, argtypes: tuple[types.Type, ...]) -> Generated:
    """Forward mode through the reverse sweep that writes into given arrays: both get their own."""
    push = into.push
    collecting = derivative(primal.primal, primal.transform.into())
    request = JvpRequest((0, *(k + 1 for k in push.wrt)), inplace=True)
    writer, name = Writer({}), _name(into.prefix, primal)
    (out, tangents), names = header(writer, into, primal)
    jvp = writer.use(derivative(collecting, Forward(request)), "jvp")
    call = _arguments(names, argtypes)
    differentiated = primal.transform.request  # type: ignore[attr-defined]  # a `Reverse`
    gradients, products = (
        [a for i, k in enumerate(differentiated.wrt)
         for a in _arrays(call[k][1], out + part + f"[{i}]" * (not differentiated.single))]
        for part in ("[0]", "[1]")
    )  # fmt: skip
    read_only = [*(a for text, ty in call for a in _arrays(ty, text)), *_tangent_arrays(push, tangents, call)]
    like = _like([call[k][0] for k in differentiated.wrt], differentiated.single)
    with writer.indented(f"def {name}({', '.join([out, tangents, *names])}):"):
        writer.line(f"{writer.use(takes, 'takes')}({out}, ({like}, {like}))")
        _check_tangents(writer, push, tangents, call)
        for one, two in zip(gradients, products, strict=True):
            _same_shape(writer, two, one)
        _check_apart(writer, primal, products, [*gradients, *read_only])
        _check_apart(writer, primal, gradients, _tangent_arrays(push, tangents, call))
        given = f"({out}[1], {_items(push, tangents)},)"
        writer.line(f"{jvp}({', '.join([given, f'{out}[0]', *names])})")
        writer.line("return None")
    return Generated(writer.source(), writer.namespace, name)


def _of_writer(into: PushforwardInto, primal: Any, argtypes: tuple[types.Type, ...]) -> Generated:
    """The tangents of `outs` are written where the function writes its result."""
    push = into.push
    outs = push.outs or ()
    writer, name = Writer({}), _name(into.prefix, primal)
    (out, tangents), names = header(writer, into, primal)
    jvp = writer.use(derivative(primal, Forward(JvpRequest((*push.wrt, *outs), inplace=True))), "jvp")
    dots = [out] if push.single_out else [f"{out}[{i}]" for i in range(len(outs))]
    call = _arguments(names, argtypes)
    read_only = [a for k, (text, ty) in enumerate(call) if k not in outs for a in _arrays(ty, text)]
    read_only += _tangent_arrays(push, tangents, call)
    with writer.indented(f"def {name}({', '.join([out, tangents, *names])}):"):
        writer.line(f"{writer.use(takes, 'takes')}({out}, {_like([call[k][0] for k in outs], push.single_out)})")
        _check_tangents(writer, push, tangents, call)
        for k, dot in zip(outs, dots, strict=True):
            _same_shape(writer, dot, call[k][0])
        _check_apart(writer, primal, [*dots, *(call[k][0] for k in outs)], read_only)
        for dot in dots:
            writer.line(f"{dot}.fill(0)")
        writer.line(f"{jvp}(({_items(push, tangents)}, {', '.join(dots)},), {', '.join(names)})")
        writer.line("return None")
    return Generated(writer.source(), writer.namespace, name)


def _copying(into: PushforwardInto, primal: Any, skipped: int) -> Generated:
    """The tangents of `outs` copied; the first `skipped` are of what the function returns."""
    writer, name = Writer({}), _name(into.prefix, primal)
    (out, tangents), names = header(writer, into, primal)
    dots = writer.fresh("dots")
    push = writer.use(derivative(primal, into.push), "pushforward")
    copy = writer.use(assign, "assign")
    with writer.indented(f"def {name}({', '.join([out, tangents, *names])}):"):
        writer.line(f"{dots} = {push}({', '.join([tangents, *names])})[1]")
        for i in range(len(into.push.outs or ())):
            writer.line(f"{copy}({out if into.push.single_out else f'{out}[{i}]'}, {dots}[{i + skipped}])")
        writer.line("return None")
    return Generated(writer.source(), writer.namespace, name)


def _name(prefix: str, primal: Any) -> str:
    name = f"{prefix}_{primal.__name__}"
    return name if name.isidentifier() else prefix


def _items(push: Pushforward, tangents: str) -> str:
    """The tangents, one for each argument."""
    return tangents if push.single else ", ".join(f"{tangents}[{i}]" for i in range(len(push.wrt)))


def _arguments(names: list[str], argtypes: tuple[types.Type, ...]) -> list[tuple[str, types.Type]]:
    """The text and type of each argument of the call, counted through ``*args``."""
    found = []
    for name, ty in zip(names, argtypes, strict=True):
        found += [(f"{name[1:]}[{k}]", item) for k, item in enumerate(ty)] if name[0] == "*" else [(name, ty)]
    return found


def _like(texts: list[str], single: bool) -> str:
    """The text of the only argument, or of a tuple of them."""
    return texts[0] if single else f"({', '.join(texts)},)"


def _arrays(ty: types.Type, text: str) -> list[str]:
    """The texts of the arrays in a structure."""
    if isinstance(ty, types.BaseTuple):
        return [a for k, item in enumerate(ty) for a in _arrays(item, f"{text}[{k}]")]
    return [text] if isinstance(ty, types.Array) else []


def _float_arrays(ty: types.Type, text: str) -> list[str]:
    """The same for those that have a tangent."""
    if isinstance(ty, types.BaseTuple):
        return [a for k, item in enumerate(ty) for a in _float_arrays(item, f"{text}[{k}]")]
    return [text] if isinstance(ty, types.Array) and is_float(ty) else []


def _tangent_arrays(push: Pushforward, tangents: str, call: list[tuple[str, types.Type]]) -> list[str]:
    """The arrays among the tangents."""
    texts = [tangents] if push.single else [f"{tangents}[{i}]" for i in range(len(push.wrt))]
    return [a for text, k in zip(texts, push.wrt, strict=True) for a in _float_arrays(call[k][1], text)]


def _check_tangents(writer: Writer, push: Pushforward, tangents: str, call: list[tuple[str, types.Type]]) -> None:
    """Compiled code reads tangents with the indices of their arguments: their shapes must be the same."""
    own = [a for k in push.wrt for a in _float_arrays(call[k][1], call[k][0])]
    for dot, array in zip(_tangent_arrays(push, tangents, call), own, strict=True):
        _same_shape(writer, dot, array)


def _same_shape(writer: Writer, one: str, two: str) -> None:
    with writer.indented(f"if {one}.shape != {two}.shape:"):
        writer.line("raise ValueError('a tangent must have the shape of what it belongs to')")


def _check_apart(writer: Writer, primal: Any, written: list[str], read_only: list[str]) -> None:
    """What is written must share memory with nothing else."""
    apart = writer.use(overlap, "overlap")
    for i, one in enumerate(written):
        for two in [*written[i + 1 :], *read_only]:
            with writer.indented(f"if {apart}({one}, {two}):"):
                writer.line(
                    f"raise ValueError('arrays given to the pushforward of {primal.__name__} overlap in memory')"
                )


def _is_gradient(primal: Any, argtypes: tuple[types.Type, ...]) -> bool:
    """Whether the function is what `grad` returns, for arguments whose gradient is collected in given arrays."""
    if not isinstance(primal, Derivative) or not isinstance(primal.transform, Reverse):
        return False
    request = primal.transform.request
    if request.seed != "one" or request.value or request.has_aux:
        return False
    return Into(primal.transform).collects(primal.primal, argtypes)


def _writes_only(program: ir.Program, push: Pushforward) -> bool:
    """Whether the program returns nothing and leaves the arguments to differentiate as they are."""
    if not isinstance(program.result.type, types.NoneType) or set(push.wrt) & set(push.outs or ()):
        return False
    owners = [argument.value for argument in arguments(program)]
    return not mutation.may_write(program, [owners[k] for k in push.wrt])
