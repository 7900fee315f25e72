"""Program -> Program: the same function with less to do, before it is differentiated.

What is not computed need not be differentiated, and what is computed once is taped once. All passes but `kernels`,
which runs on request, keep results bit for bit.

ufuncs      ufuncs with an output argument, vectorized functions with branches
aliases     other names of the same value
inplace     in-place operators that must go element by element
unroll      loops with a small constant trip count
hoist       arithmetic that does not change in a loop
common      values that were computed or loaded before
deadcode    what neither the result nor memory depends on
kernels     elementary functions that vectorise
"""

from jitgrad.optimize.aliases import resolve_aliases
from jitgrad.optimize.common import share_common_values
from jitgrad.optimize.deadcode import remove_dead_code
from jitgrad.optimize.hoist import hoist_invariants
from jitgrad.optimize.inplace import expand_inplace
from jitgrad.optimize.kernels import use_kernels
from jitgrad.optimize.ufuncs import expand_ufuncs
from jitgrad.optimize.unroll import unroll_small_loops
from jitgrad.program import ir


def optimize(program: ir.Program, *, kernels: bool = False) -> ir.Program:
    """Optimize `program` in place and return it; with `kernels`, its results may differ in the last digits."""
    expand_ufuncs(program)
    resolve_aliases(program)
    expand_inplace(program)
    remove_dead_code(program)
    unroll_small_loops(program)
    hoist_invariants(program)
    share_common_values(program)
    remove_dead_code(program)
    if kernels:
        use_kernels(program)
    return program


__all__ = ["optimize"]
