"""Pullbacks of calls that were not inlined: recursive functions.

The forward sweep calls the primal; the backward sweep calls the callee's own vjp, which runs the callee's
forward sweep again. For a recursion of depth d this costs O(d) times the primal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba.core import types

from jitgrad.analysis.callees import written_positions
from jitgrad.program import ir
from jitgrad.transforms.request import VjpRequest
from jitgrad.transforms.reverse.leaves import leaves

if TYPE_CHECKING:
    from jitgrad.transforms.reverse.sweep import Sweep


def pullback(sweep: Sweep, op: ir.Call) -> None:
    """Call the callee's vjp on the arguments it had and the cotangent of its result."""
    from jitgrad.backend.dispatcher import Derivative

    if op.kwargs or op.vararg is not None:
        raise sweep.fail(op, "a recursive call with keyword or star arguments", "pass the arguments by position")
    written = written_positions(op.fn, tuple(types.unliteral(a.type) for a in op.args))
    if any(sweep.is_active(op.args[k]) for k in written):
        raise sweep.fail(
            op, "a recursive function writes into an array that is differentiated", "let it return a new array"
        )  # fmt: skip
    from jitgrad.transforms.reverse.calls import cotangent

    if sweep.changes_in_use(op):
        raise sweep.fail(
            op, "what a recursive function returns may be a part of its argument, and is written in place",
            "copy the result",
        )  # fmt: skip
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
