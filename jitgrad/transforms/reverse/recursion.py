"""Pullbacks of calls that were not inlined: recursive functions.

The forward sweep calls the primal; the backward sweep calls the callee's own vjp, which runs the callee's
forward sweep again. For a recursion of depth d this costs O(d) times the primal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitgrad.program import ir
from jitgrad.transforms.request import VjpRequest
from jitgrad.transforms.reverse.leaves import is_array, leaves

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def pullback(sweep: Sweep, op: ir.Call) -> None:
    """Call the callee's vjp on the arguments it had and the cotangent of its result."""
    from jitgrad.backend.dispatcher import Derivative

    if op.kwargs or op.vararg is not None:
        raise sweep.fail(op, "a recursive call with keyword or star arguments", "pass the arguments by position")
    if any(is_array(leaf.type) and sweep.memory.written(a) for a in op.args for leaf in leaves(a)):
        raise sweep.fail(op, "a recursive function writes into an array that is differentiated",
                         "let it return a new array")  # fmt: skip
    from jitgrad.transforms.reverse.calls import cotangent

    active = tuple(k for k, a in enumerate(op.args) if sweep.is_active(a))
    request = VjpRequest(wrt=active, seed="argument")
    vjp = Derivative.of(op.fn, "vjp", request)
    texts = [sweep.saved.need_content(a, op) for a in op.args]
    name = sweep.writer.use(vjp, f"vjp_{op.fn.__name__}")
    parts = sweep.writer.fresh("parts")
    sweep.writer.line(f"_, {parts} = {name}({', '.join([cotangent(sweep, op.result), *texts])})", op.loc)
    for j, k in enumerate(active):
        for leaf in leaves(op.args[k]):
            if sweep.active(leaf):
                sweep.adjoints.add(op.args[k], sweep.path_text(parts, (j, *leaf.path)), leaf.path)
