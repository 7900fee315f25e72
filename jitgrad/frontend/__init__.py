"""Reading Numba functions into Programs, and printing Programs as Python source.

``read(fn, argtypes)`` gives the `Program` of a function; ``print_program(program)`` gives source that
computes the same. The modules, in the order a function passes through them:

typed        Numba's pipeline up to type inference
try_blocks   (inside it) dropping CPython's own exception handlers, reporting the user's
while_tests  (inside it) undoing CPython's duplication of loop tests
regions      control flow graph -> tree of branches and loops
variables    which versions are one variable; what branches and loops hand on
reader       statements -> operations; `iterators` for loops, `inline` for calls
ssa          the tree -> structured SSA
simplify     unused values, decided branches, branches that one arm does not leave
"""

from jitgrad.frontend.printer import print_program
from jitgrad.frontend.reading import read

__all__ = ["print_program", "read"]
