"""Elementwise calls as they mostly are, written out for speed.

A tape costs a few microseconds for each operation, and here is where they would go: the general way through
`Primitive.__call__` takes twice as long. A call that is not as expected goes that way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitgrad.tape.deferred import defer
from jitgrad.tape.elementwise import Elementwise, ufunc_primitive
from jitgrad.tape.functions.products import MATMUL
from jitgrad.tape.primitive import Primitive
from jitgrad.tape.recording import NO_KWARGS, Node, thread
from jitgrad.tape.tensor import Tensor, Variable


def quick(primitive: Any, otherwise: Callable | None = None) -> Callable:
    """A function that does what `primitive` does.

    Expected are variables, tensors that are the only results of their operations, and Python floats; at least one
    tensor is known to all that listen. The primitive must be a ufunc with a scalar rule or a product of matrices:
    where floats go in, these give floats.
    """
    otherwise = primitive if otherwise is None else otherwise
    function = getattr(primitive, "function", None)
    if not isinstance(function, np.ufunc) or (type(primitive) is not Elementwise and primitive is not MATMUL):
        return otherwise
    return (_unary if function.nin == 1 else _binary)(primitive, function, otherwise)


def _unary(primitive: Primitive, function: Callable, otherwise: Callable) -> Callable:
    def call(x):
        listening = thread.recordings
        if listening:
            if listening[0].state is not None and len(listening) == 1:
                found = defer(primitive, (x,), NO_KWARGS, listening)
                if found is not None:
                    return found
            a = x.node if type(x) is Tensor and not x.index else None
            if a is not None and a.recordings is listening and thread.overrides is None:
                out = function(x._array)
                node = Node(primitive, (x,), NO_KWARGS, out, listening, (primitive, a))
                for recording in listening:
                    recording.state = None
                    recording.nodes.append(node)
                    if len(recording.nodes) > recording.limit:
                        recording.prune()
                return Tensor(out, node)
        return otherwise(x)

    return call


def _binary(primitive: Primitive, function: Callable, otherwise: Callable) -> Callable:
    def call(x, y):
        listening = thread.recordings
        if listening:
            if listening[0].state is not None and len(listening) == 1:
                found = defer(primitive, (x, y), NO_KWARGS, listening)
                if found is not None:
                    return found
            if thread.overrides is not None:
                return otherwise(x, y)
            if type(x) is Variable:
                x = x.read_value()
            if type(y) is Variable:
                y = y.read_value()
            if type(x) is Tensor:
                a, first = x.node, x._array
                if x.index or a is None:
                    return otherwise(x, y)
                heard = a.recordings is listening
            elif type(x) is float:
                a, first, heard = float, x, False
            else:
                return otherwise(x, y)
            if type(y) is Tensor:
                b, second = y.node, y._array
                if y.index or b is None or not (heard or b.recordings is listening):
                    return otherwise(x, y)
            elif heard and type(y) is float:
                b, second = float, y
            else:
                return otherwise(x, y)
            out = function(first, second)
            node = Node(primitive, (x, y), NO_KWARGS, out, listening, (primitive, a, b))
            for recording in listening:
                recording.state = None
                recording.nodes.append(node)
                if len(recording.nodes) > recording.limit:
                    recording.prune()
            return Tensor(out, node)
        if type(x) is float and type(y) is Tensor:
            return Tensor(function(x, y._array))
        if type(x) is Tensor and (type(y) is float or type(y) is Tensor):
            return Tensor(function(x._array, y._array if type(y) is Tensor else y))
        return otherwise(x, y)

    return call


def _reflected(call: Callable, otherwise: Callable) -> Callable:
    def reflected(self, other):
        return call(other, self) if type(other) is float else otherwise(self, other)

    return reflected


def _enter_operators() -> None:
    for name, ufunc in (
        ("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("truediv", np.true_divide), ("pow", np.power),
        ("neg", np.negative), ("matmul", np.matmul),
    ):  # fmt: skip
        method = f"__{name}__"
        made = MATMUL if ufunc is np.matmul else ufunc_primitive(ufunc)
        call = quick(made, getattr(Tensor, method))
        setattr(Tensor, method, call)
        if ufunc.nin == 2:
            method = f"__r{name}__"
            setattr(Tensor, method, _reflected(call, getattr(Tensor, method)))


_enter_operators()
