"""Sums whose order does not matter.

Adjoints are sums of contributions in no particular order. Saying so to LLVM, for this one addition and
nothing else, lets loops that collect an adjoint vectorise; on whole functions the same permission would
break compensated sums and other arithmetic that means what it says.
"""

from __future__ import annotations

from numba.core import types
from numba.extending import intrinsic


@intrinsic
def accumulate(typingctx, total, term):
    """``total + term``, which LLVM may reorder with other such additions."""
    # relies on llvmlite's per-instruction fast-math flags
    signature = total(total, total)

    def codegen(context, builder, signature, args):
        return builder.fadd(args[0], args[1], flags=("reassoc",))

    return (signature, codegen) if isinstance(total, types.Float) else None
