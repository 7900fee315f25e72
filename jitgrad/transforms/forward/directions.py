"""Several directions one after the other: loops around the derivative in one direction.

For programs whose tangents cannot be vectors, and for the front end, which differentiates a derivative in several
directions by reading this form of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from jitgrad.analysis import structure
from jitgrad.analysis.activity import Activity, leaves
from jitgrad.backend.writer import Writer
from jitgrad.errors import UnsupportedError, where
from jitgrad.program import ir
from jitgrad.transforms.arguments import arguments, signature_text
from jitgrad.transforms.request import Generated, JvpRequest


def emit(program: ir.Program, request: JvpRequest, push: Any) -> Generated:
    """Generate ``jvp8_f(tangents, *args) -> (out, out_dot)`` out of calls of ``push``, the derivative of width 1.

    Raises
    ------
    UnsupportedError
        For arguments or results that hold floats in lists or records: their tangents have no axis of directions.
    """
    return _OneByOne(program, request, push).generated()


def direction(writer: Writer, text: str, k: str, ty: types.Type) -> str:
    """Direction `k` of the tangent `text` of a number or array of type `ty`."""
    if not isinstance(ty, types.Array):
        return f"{text}[{k}]"
    if ty.ndim == 0:  # which `...` would make a number
        np_ = writer.use(np, "np")
        return f"{np_}.full((), {text}[{k}], {np_}.{ty.dtype})"
    return f"{text}[..., {k}].copy()"


class _OneByOne:
    def __init__(self, program: ir.Program, request: JvpRequest, push: Any):
        self.program, self.request, self.push = program, request, push
        self.writer = Writer()
        for param in program.params:
            self.writer.alias(param, self.writer.fresh(param.name))
        self.activity = Activity(program, request.wrt, request.outs, request.inplace)
        given = arguments(program)
        self.inputs = [given[k] for k in request.wrt]
        result = program.result.type
        if request.outs:
            own = [] if isinstance(result, types.NoneType) else [result]
            result = types.Tuple([*own, *(given[k].type for k in request.outs)])
        self.result = result

    def generated(self) -> Generated:
        w, n = self.writer, self.request.width
        name = w.fresh(f"jvp{n}_{self.program.name}")
        tangents, out, dot, new, k = (w.fresh(x) for x in ("tangents", "out", "out_dot", "dot", "k"))
        push = w.use(self.push, "jvp")
        with w.indented(f"def {name}({signature_text(w, self.program, [tangents])}):"):
            w.line(f"{out}, {new} = {push}({self._direction(tangents, '0')}, {self._arguments(copied=n > 1)})")
            w.line(f"{dot} = {self._structure(self.result, new, self._allocated)}")
            self._store(dot, new, "0")
            with w.indented(f"for {k} in range(1, {n - 1}):"):
                w.line(f"{out}, {new} = {push}({self._direction(tangents, k)}, {self._arguments(copied=True)})")
                self._store(dot, new, k)
            if n > 1:  # the last one on the caller's own arguments, which the function may write into
                last = str(n - 1)
                w.line(f"{out}, {new} = {push}({self._direction(tangents, last)}, {self._arguments(copied=False)})")
                self._store(dot, new, last)
            w.line(f"return ({out}, {dot})")
        return Generated(w.source(), w.namespace, name)

    # ----- structures ----------------------------------------------------------------------------
    def _structure(self, ty: types.Type, text: str, leaf: Callable[[types.Type, str], str]) -> str:
        """An expression with the structure of `ty`, with ``leaf(type, text)`` at every number and array."""
        ty = structure.strip(ty)
        match structure.kind(ty):
            case structure.TUPLE:
                parts = [self._structure(item, f"{text}[{k}]", leaf) for k, item in enumerate(ty.types)]
                if isinstance(ty, types.BaseNamedTuple):
                    return f"{self.writer.use(ty.instance_class, ty.instance_class.__name__)}({', '.join(parts)})"
                return f"({''.join(part + ', ' for part in parts).rstrip()})"
            case structure.SCALAR | structure.ARRAY if not _has_records(ty):
                return leaf(ty, text)
            case None:
                return text
        raise UnsupportedError(
            f"{self.program.name} has an argument or a result of type {ty} {where(self.program.loc)}, whose tangents "
            "have no axis of directions; use one direction at a time"
        )

    def _direction(self, tangents: str, k: str) -> str:
        def leaf(ty: types.Type, text: str) -> str:
            return direction(self.writer, text, k, ty)

        parts = [self._structure(arg.type, f"{tangents}[{i}]", leaf) for i, arg in enumerate(self.inputs)]
        return f"({''.join(part + ', ' for part in parts).rstrip()})"

    def _allocated(self, ty: types.Type, text: str) -> str:
        np_, n = self.writer.use(np, "np"), self.request.width
        dtype = getattr(ty, "dtype", ty)
        shape = f"{text}.shape + ({n},)" if isinstance(ty, types.Array) else str(n)
        return f"{np_}.empty({shape}, {np_}.{dtype})"

    def _store(self, dot: str, new: str, k: str) -> None:
        def leaf(ty: types.Type, path: str) -> str:
            array = isinstance(ty, types.Array)
            index, at = (f"..., {k}", "") if array and ty.ndim else (k, "[()]" if array else "")
            self.writer.line(f"{dot}{path}[{index}] = {new}{path}{at}")
            return ""

        self._structure(self.result, "", leaf)

    def _arguments(self, copied: bool) -> str:
        parts = []
        for param, spec in zip(self.program.params, self.program.signature.parameters.values(), strict=True):
            name = self.writer.name(param)
            if copied and any(cell.written for cell in leaves(self.activity.tree(param))):
                name = self._copy(structure.strip(param.type), name)
            parts.append("*" * (spec.kind is spec.VAR_POSITIONAL) + name)
        return ", ".join(parts)

    def _copy(self, ty: types.Type, text: str) -> str:
        if isinstance(ty, types.BaseTuple):
            parts = [self._copy(structure.strip(item), f"{text}[{k}]") for k, item in enumerate(ty.types)]
            if isinstance(ty, types.BaseNamedTuple):
                return f"{self.writer.use(ty.instance_class, ty.instance_class.__name__)}({', '.join(parts)})"
            return f"({''.join(part + ', ' for part in parts).rstrip()})"
        return f"{text}.copy()" if isinstance(ty, (types.Array, types.List, types.ListType)) else text


def _has_records(ty: types.Type) -> bool:
    return isinstance(getattr(ty, "dtype", None), types.Record)
