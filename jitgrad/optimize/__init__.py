"""Program -> Program: the same function with less to do, before it is differentiated.

What is not computed need not be differentiated, and what is computed once is taped once. All passes keep
results bit for bit.

ufuncs      ufuncs with an output argument, vectorized functions with branches
aliases     other names of the same value
inplace     in-place operators that must go element by element
unroll      loops with a small constant trip count
hoist       arithmetic that does not change in a loop
common      values that were computed or loaded before
deadcode    what neither the result nor memory depends on
"""

from jitgrad.optimize.aliases import resolve_aliases
from jitgrad.optimize.common import share_common_values
from jitgrad.optimize.deadcode import remove_dead_code
from jitgrad.optimize.hoist import hoist_invariants
from jitgrad.optimize.inplace import expand_inplace
from jitgrad.optimize.ufuncs import expand_ufuncs
from jitgrad.optimize.unroll import unroll_small_loops
from jitgrad.program import ir


def optimize(program: ir.Program) -> ir.Program:
    """Optimize `program` in place and return it."""
    expand_ufuncs(program)
    resolve_aliases(program)
    expand_inplace(program)
    remove_dead_code(program)
    unroll_small_loops(program)
    hoist_invariants(program)
    share_common_values(program)
    remove_dead_code(program)
    return program


__all__ = ["optimize"]
